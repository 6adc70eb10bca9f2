"""Others are measured where the machine has them, each with a configuration of its own."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from bench.contenders import RIVALS, Rival, ShippingJob

(FILEBEAT,) = (rival for rival in RIVALS if rival.name == "Filebeat")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A directory for programs that show their version."""
    directory = tmp_path / "bin"
    directory.mkdir()
    return directory


@pytest.fixture
def job(tmp_path: Path) -> ShippingJob:
    directory = tmp_path / "run"
    directory.mkdir()
    return ShippingJob("localhost:9092", "lines", tmp_path / "*.log", directory, 1)


def install(programs: Path, name: str, version: str) -> Path:
    program = programs / name
    program.write_text(f"#!/bin/sh\necho '{version}'\n")
    program.chmod(0o700)
    return program


def test_another_shipper_is_measured_where_it_is_on_the_path(programs: Path, job: ShippingJob) -> None:
    assert FILEBEAT.program(str(programs)) is None
    installed = install(programs, "filebeat", "filebeat version 9.2.1 (amd64), libbeat 9.2.1")
    program = FILEBEAT.program(str(programs))
    assert program == str(installed)
    contender = FILEBEAT.contender(program)
    assert (contender.name, contender.follows, contender.exits) == ("Filebeat 9.2", True, False)
    assert contender.command(job) == [program, "run", "-c", str(job.directory / "filebeat.yml")]


def test_a_shipper_without_its_module_for_kafka_is_not_measured(programs: Path) -> None:
    install(programs, "filebeat", "filebeat version 9.2.1")
    assert replace(FILEBEAT, module="*/no/such.so").program(str(programs)) is None


@pytest.mark.parametrize(
    "rival", [rival for rival in RIVALS if rival.file.endswith(("yml", "yaml"))], ids=lambda rival: rival.name
)
def test_a_configuration_has_the_log_the_broker_and_the_topic(rival: Rival, programs: Path, job: ShippingJob) -> None:
    contender = rival.contender(str(install(programs, rival.programs[0], "version 1.2.3")))
    config = yaml.safe_load(Path(contender.command(job)[-1]).read_text())
    assert {str(job.log), job.bootstrap, job.topic, "lz4"} <= set(leaves(config))


def leaves(node: object) -> list[object]:
    if isinstance(node, dict):
        return [leaf for value in node.values() for leaf in leaves(value)]
    if isinstance(node, list):
        return [leaf for value in node for leaf in leaves(value)]
    return [node]
