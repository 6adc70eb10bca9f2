"""The versions of Python and of the libraries that pyproject.toml promises: the oldest and the newest."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from log_shipper.spark_sink.platform.cache import cache_directory
from tests.e2e.debian import System, require
from tests.e2e.running import REPOSITORY

REQUIREMENTS = REPOSITORY / "requirements"
INCLUDED = "python3,python3-venv,ca-certificates,procps"
# How this machine reaches the package registries.
NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
# One in forty of the seeded programs, as script/check has it.
UNIT_TESTS = ("-m", "pytest", "-q", "-n", "2", "-m", "not kafka and not spark", "tests/unit", "tests/contract")
SEEDS = {"SEEDS": "/40"}
# Where one Spark differs from another, the tests of the gate, each within a minute and a half: what the sink asks of a
# session; its process, which starts, lands batches, is killed in one and stopped; views that are killed. Bootstrap's
# archive of classes is that of another Spark.
OPTIONS = ("-m", "pytest", "-q", "-m", "spark or kafka")
SPARK_TESTS = {
    "session": ("tests/unit/spark_sink/platform", "-k", "not class_archive"),
    "process": ("tests/e2e/test_sink_story.py",),
    "views": ("tests/unit/spark_sink/views/test_views.py", "-k", "killed"),
}
PIN = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)


@pytest.fixture
def checkout(tmp_path: Path) -> System:
    """A Debian 13 with the project's files in /project."""
    require("debootstrap", "unshare")
    system = System(tmp_path / "debian", "trixie", INCLUDED)
    for name in NETWORK:
        if os.path.exists(name):
            shutil.copy(name, system.path(name))
    files = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True).stdout
    system.path("/project").mkdir()
    packed = subprocess.run(
        ["tar", "--null", "--files-from=-", "-cf", "-"], cwd=REPOSITORY, input=files, capture_output=True, check=True
    )
    subprocess.run(["tar", "-xf", "-", "-C", system.path("/project")], input=packed.stdout, check=True)
    return system


def run(system: System, script: str) -> str:
    """Return what a shell in /project printed; it must succeed."""
    settings = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith("_proxy")}
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", **SEEDS, **settings}
    # With this machine's /dev: a terminal needs more of it than debootstrap makes.
    inside = 'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && exec chroot "$0" sh -c "$1"'
    command = ["unshare", "--mount", "sh", "-c", inside, str(system.root), f"cd /project && {script}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
    return done.stdout + done.stderr


@pytest.mark.slow("makes a Debian, and installs all that the project needs in it")
def test_the_demo_and_the_unit_tests_pass(checkout: System) -> None:
    run(checkout, "script/bootstrap")
    assert "Python 3.13" in run(checkout, ".venv/bin/python --version")
    assert "equal" in run(checkout, "script/demo")
    run(checkout, shlex.join([".venv/bin/python", *UNIT_TESTS]))


def clean() -> dict[str, str]:
    """Return the environment without what a Spark in the tests' process has left in it."""
    left = ("SPARK_", "PYSPARK_", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if not name.startswith(left)}


def oldest() -> list[str]:
    """Return all packages of the development environment, each that has a lowest version in that one."""
    lowest, newest = (dict(PIN.findall((REQUIREMENTS / name).read_text())) for name in ("lowest.txt", "dev.lock"))
    lowest = {name.lower(): version for name, version in lowest.items()}
    return [f"{name}=={lowest.get(name, version)}" for name, version in newest.items()]


@pytest.mark.slow("installs all that the project needs")
def test_the_unit_tests_pass_with_the_lowest_versions(tmp_path: Path) -> None:
    venv.create(tmp_path / "environment", with_pip=True)
    python = str(tmp_path / "environment" / "bin" / "python")
    for packages in (oldest(), ["--no-build-isolation", "--editable", "."]):
        command = [python, "-m", "pip", "install", "-q", "--no-deps", *packages]
        subprocess.run(command, cwd=REPOSITORY, check=True)
    done = subprocess.run(
        [python, *UNIT_TESTS], cwd=REPOSITORY, env=clean() | SEEDS, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:]


@pytest.mark.slow("minutes for each version")
@pytest.mark.parametrize("tests", SPARK_TESTS.values(), ids=SPARK_TESTS)
@pytest.mark.parametrize("version", (REQUIREMENTS / "spark.txt").read_text().split())
def test_the_sink_keeps_its_promises_with_the_lowest_and_the_newest_spark(version: str, tests: tuple[str, ...]) -> None:
    directory = cache_directory() / "tools" / "spark" / version
    if not directory.is_dir():
        pytest.skip(f"PySpark {version} is not there: run script/tools --all")
    environment = clean() | {"PYTHONPATH": str(directory)}

    def output(*arguments: str) -> str:
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
        return done.stdout

    assert output("-c", "import pyspark; print(pyspark.__version__)") == f"{version}\n"
    output(*OPTIONS, *tests)
