"""The gate leaves out what is slow, and names what takes too long. Pytest runs a few tests of its own for this."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import tiers

ROOT = Path(__file__).parents[2]

# Time passes where a test lets it, and not while the machine does something else.
CONFTEST = """
from types import SimpleNamespace
import pytest
from _pytest import subtests, timing
from tests import tiers
clock = timing.MockTiming()
timing.time = timing.perf_counter = clock.time
tiers.time = subtests.time = SimpleNamespace(monotonic=clock.time, time=clock.time, perf_counter=clock.time)
tiers.TEST_SECONDS, tiers.GATE_SECONDS, tiers.slowness = 20, {gate}, lambda: {slowness}
from tests.tiers import pytest_addoption, pytest_collection_modifyitems, pytest_configure, seed

@pytest.fixture(scope="session")
def sleep(): return clock.sleep

@pytest.fixture(scope="session")
def broker(sleep): sleep(33)
"""
TESTS = """
import pytest

@pytest.mark.slow("waits for long")
def test_slow(): pass

def test_long(sleep, subtests):
    with subtests.test(): sleep(21)

def test_that_starts_what_all_share(broker): pass

def test_seed(seed): print("the seed is", seed)
"""


def conftest(gate: int = 60, slowness: float = 1.0) -> str:
    return CONFTEST.format(gate=gate, slowness=slowness)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow(reason): x\n    xdist_group(name): x\n")
    (tmp_path / "conftest.py").write_text(conftest())
    (tmp_path / "test_it.py").write_text(TESTS)
    return tmp_path


def run(project: Path, *options: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-s", *options, str(project)]
    done = subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_the_gate_leaves_out_what_is_slow_and_does_the_same_every_time(project: Path) -> None:
    code, output = run(project)
    assert code == 0, output
    assert "3 passed, 1 deselected" in output
    assert "the seed is 20261121" in output


def test_all_runs_what_is_slow_too_with_other_seeds(project: Path) -> None:
    code, output = run(project, "--all")
    assert code == 0, output
    assert "4 passed" in output
    assert "the seed is" in output
    assert "the seed is 20261121" not in output


def test_a_test_that_takes_too_long_fails_by_name_and_what_it_shares_does_not_count(project: Path) -> None:
    code, output = run(project, "--time-limits")
    assert code == 1, output
    failed = [line for line in output.splitlines() if line.startswith("FAILED")]
    assert len(failed) == 1
    assert "test_it.py::test_long: took 21 s" in failed[0]


def test_a_gate_that_takes_too_long_fails(project: Path) -> None:
    (project / "conftest.py").write_text(conftest(gate=50).replace(" = 20,", " = 22,"))
    code, output = run(project, "--time-limits")
    assert code == 1, output
    assert "FAILED the gate: took 0.9 min, and may take 0.8 here" in output


def test_a_slow_machine_may_take_longer(project: Path) -> None:
    (project / "conftest.py").write_text(conftest(gate=50, slowness=1.1))
    code, output = run(project, "--time-limits")
    assert code == 0, output
    assert "1.1 times as long" in output


def test_how_slow_a_machine_is_follows_from_the_time_of_a_fixed_program() -> None:
    assert tiers.slowness(fixed_seconds=1e-4) > 10
    assert tiers.slowness(fixed_seconds=1e4) == 1


def test_a_slow_test_gives_its_reason(project: Path) -> None:
    (project / "test_it.py").write_text(TESTS.replace('("waits for long")', ""))
    code, output = run(project)
    assert code == pytest.ExitCode.USAGE_ERROR, output
    assert "test_slow: the marker slow takes its reason" in output
