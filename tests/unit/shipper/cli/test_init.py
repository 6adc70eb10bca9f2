"""`shipper init`: the first configuration."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from log_shipper.config.yaml.load import load
from log_shipper.shipper.cli.commands import main
from log_shipper.shipper.cli.init import BROKER, FILES, OF_ROOT, configuration
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.outputs.kafka import kafka_of
from tests.full_disk import no_larger_files_than


@pytest.mark.parametrize("has_journal", [False, True])
@pytest.mark.parametrize("paths", [[FILES], ["/srv/*.log", "/a b"]])
def test_it_is_a_configuration_of_what_the_host_has(has_journal: bool, paths: list[str], tmp_path: Path) -> None:
    file = tmp_path / "shipper.yml"
    file.write_text(configuration(["a:1", "b:2"], "%{[x]}", paths, str(tmp_path), has_journal=has_journal))
    config = load(file, ShipperConfig, env={})
    assert [found.type for found in config.inputs] == [*(["journald"] if has_journal else []), "filestream"]
    assert list(config.file_inputs[0].paths) == paths
    output = kafka_of(config)
    assert output is not None
    assert (output.hosts, output.topic) == (("a:1", "b:2"), "%{[x]}")
    assert (config.warnings, config.notes) == ((), ())


def test_that_of_the_package_is_the_same() -> None:
    file = Path(__file__).parents[4] / "deploy" / "debian" / "shipper.yml"
    assert file.read_text() == configuration([BROKER], "logs", [FILES], OF_ROOT, has_journal=True)


def test_a_script_names_the_brokers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "new.yml"
    assert main(["init", str(file), "--kafka", "a:1, b:2", "--topic", "web", "--paths", "/srv/*.log"]) == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert f"shipper test output -c {file}\n" in capsys.readouterr().out
    assert main(["test", "config", "-c", str(file)]) == 0


def test_a_configuration_that_is_there_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "shipper.yml"
    file.write_text("mine")
    assert main(["init", str(file), "--kafka", "a"]) == 1
    assert "already exists; remove it, or choose another file. Nothing was written" in capsys.readouterr().err
    assert file.read_text() == "mine"


def test_on_a_full_disk_nothing_is_left_and_the_file_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "shipper.yml"
    command = ["init", str(file), "--kafka", "a"]
    with no_larger_files_than(0):
        assert main(command) == 1
    assert capsys.readouterr().err == f"{file}: File too large. Nothing was written\n"
    assert main(command) == 0


def asked(answer: bytes | None, file: Path) -> tuple[int, str]:
    """Run it at a terminal where a person types this, or without one."""
    master, slave = pty.openpty()
    if answer is not None:
        os.write(master, answer)
    command = [sys.executable, "-m", "log_shipper.shipper", "init", str(file)]
    stdin = slave if answer is not None else subprocess.DEVNULL
    done = subprocess.run(command, stdin=stdin, capture_output=True, text=True, check=False)
    os.close(master)
    os.close(slave)
    return done.returncode, done.stderr


@pytest.mark.parametrize(("answer", "host"), [(b"\n", BROKER), (b"kafka-1:9092\n", "kafka-1:9092")])
def test_a_person_is_asked_for_the_brokers(answer: bytes, host: str, tmp_path: Path) -> None:
    code, text = asked(answer, tmp_path / "shipper.yml")
    assert (code, text) == (0, f"Kafka brokers, separated by commas [{BROKER}]: ")
    assert f'hosts: ["{host}"]' in (tmp_path / "shipper.yml").read_text()


def test_where_no_person_is_nothing_is_asked(tmp_path: Path) -> None:
    code, text = asked(None, tmp_path / "shipper.yml")
    assert code == 1
    assert "add --kafka HOST" in text
    assert not (tmp_path / "shipper.yml").exists()
