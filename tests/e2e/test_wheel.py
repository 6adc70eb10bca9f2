"""What a user gets who installs the wheel into a Python of their own, beside packages and files with common names."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from demo.broker import Broker
from log_shipper.spark_sink.platform.delta_jar import BEHIND_SPARK
from tests.e2e.sinking import PATIENCE, send
from tests.java import QUICK

ROOT = Path(__file__).parents[2]
PACKAGES = ("config", "registry", "runtime", "shipper", "spark_sink")
NAMESAKES = ("config==0.5.1", "registry==0.4.2")  # other people's distributions


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The sdist, and the wheel that is made of it."""
    directory = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--outdir", str(directory), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(directory.iterdir())


@pytest.fixture(scope="module")
def python(built: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of a fresh environment with the wheel and its namesakes; the libraries are those of the tests."""
    directory = tmp_path_factory.mktemp("environment")
    venv.create(directory)
    (wheel,) = [path for path in built if path.suffix == ".whl"]
    command = [sys.executable, "-m", "pip", "--python", str(directory), "install", "-q", "--no-deps"]
    # A Spark in the tests' process adds this checkout to PYTHONPATH: pip would take the wheel for installed there.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command += [str(wheel), *NAMESAKES]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (site,) = directory.glob("lib/python*/site-packages")
    # The libraries alone: an editable installation is found by .pth files, and those of this directory are not read.
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    return directory / "bin" / "python"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory with modules whose names were once those of ours."""
    for name in ("config", "registry"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')\n")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "app.log").write_text("one\ntwo\n")
    return tmp_path


def run(python: Path, place: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the environment in this directory, which is on Python's path."""
    environment = os.environ | QUICK | {"PYTHONPATH": ".", "SHIPPER_CACHE": str(place / "cache"), BEHIND_SPARK: ""}
    command = [str(python.with_name(program)), *arguments]
    return subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def test_the_wheel_has_all_of_the_product_under_one_name_and_nothing_else(built: list[Path]) -> None:
    (wheel,) = [path for path in built if path.suffix == ".whl"]
    names = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = subprocess.run(
        ["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert names == {"log_shipper/__init__.py", *(f"log_shipper/{name}" for name in files)}


def test_an_index_takes_sdist_and_wheel(built: list[Path]) -> None:
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, built)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("PASSED")) == (0, 2), done.stdout + done.stderr


def test_the_shipper_runs_beside_modules_of_any_name(python: Path, place: Path) -> None:
    (place / "shipper.yml").write_text(
        "shipper.inputs: [{type: filestream, id: app, paths: [logs/*.log]}]\n"
        f"output.file: {{path: {place}, filename: sent}}\npath.data: data\n"
    )
    (place / "shipper.yml").chmod(0o600)
    done = run(python, place, "shipper", "run", "--once", "-c", "shipper.yml")
    assert done.returncode == 0, done.stderr
    (sent,) = place.glob("sent*")
    assert [json.loads(line)["message"] for line in sent.read_text().splitlines()] == ["one", "two"]


@pytest.mark.kafka
@pytest.mark.spark
def test_the_sink_runs_beside_modules_of_any_name_and_without_any_jar(
    python: Path, place: Path, kafka_broker: Broker, topic_name: str
) -> None:
    kafka_broker.create_topic(topic_name, 1)
    send(kafka_broker.bootstrap, topic_name, 0, 10)
    (place / "sink.yml").write_text(
        f"kafka: {{hosts: ['{kafka_broker.bootstrap}'], topics: [{topic_name}]}}\n"
        f"table.path: {place}/lines\ncheckpoint.path: {place}/checkpoint\n"
    )
    done = run(python, place, "spark-sink", "run", "--available-now", "-c", "sink.yml")
    assert done.returncode == 0, done.stderr
    assert list(place.rglob("*.jar")) == []
    search = run(python, place, "spark-sink", "search", "--table", "lines", "--limit", "20")
    assert len(search.stdout.splitlines()) == 10, search.stdout + search.stderr


def test_a_checkout_on_the_path_is_enough_where_nothing_is_installed(tmp_path: Path) -> None:
    statement = "from log_shipper.spark_sink.platform import cache; print(cache.__file__)"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", statement],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(loaded.stdout.strip()) == ROOT / "spark_sink" / "platform" / "cache.py"
