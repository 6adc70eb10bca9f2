"""The two tiers of the tests, and how long the first may take. Hooks of pytest, which conftest.py imports.

The gate is every test that is not marked `slow("reason")`: what CI runs, and a developer before a commit. The second
tier, `--all`, adds the other tests: those that are long or random. In the gate nothing is random from run to run.

With `--time-limits` a test of more than TEST_SECONDS, or a run of more than GATE_SECONDS, fails by name. The start of
what they share (the broker, Spark) counts for none. The limits are for the machine that the figures in the docs are
of, and grow with the processor time of a fixed program: rented machines differ by a factor of three from day to day.
CI's machine is shared with others, and may stand still for some seconds: there a run may take half as much again, and a
single test, which that can hit as a whole, three times as much.
"""

import os
import random
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from typing import Any

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

GATE_SECONDS = 12 * 60
TEST_SECONDS = 20.0
FIXED_PROGRAM = "import asyncio, email.message, json"
FIXED_SECONDS = 0.075  # of processor time that it takes on that machine
SLOWEST = 10  # that are shown at the end
SHARED = "seconds of shared fixtures"
GATE_SEED = 20261121

# Each of three workers takes the next file. Long ones first, or one worker would wait for another at the end. Whatever
# uses Spark is one file to them: it starts once, and Java compiles its code once. The views are another one. These two
# compute; the third worker begins with processes, which wait for each other most of the time.
SPARK = ("tests/unit/spark_sink/", "tests/e2e/test_sink_kafka.py", "tests/e2e/test_sink_views.py")
VIEWS = "tests/unit/spark_sink/views/"
ORDER = (
    "spark",
    "views",
    "tests/e2e/test_versions",  # the longest of the second tier
    "tests/e2e/test_sink",
    "tests/e2e/test_",
    "tests/e2e",
    "tests/contract",
    "tests/model",
    "tests/fault",
    "",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers")
    group.addoption("--all", action="store_true", help="the second tier, too: what is marked slow")
    group.addoption(
        "--time-limits",
        action="store_true",
        help=f"fail when a test takes more than {TEST_SECONDS:.0f} s, or the run more than {GATE_SECONDS // 60} min",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Times(config))


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of what a test does at random; in the second tier another one in each run, shown when the test fails."""
    chosen = random.SystemRandom().randrange(1_000_000) if request.config.getoption("--all") else GATE_SEED
    print("seed", chosen)  # noqa: T201 - pytest shows it
    return chosen


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    slow = {item for item in items if _is_slow(item)}
    if slow and not config.getoption("--all"):
        config.hook.pytest_deselected(items=list(slow))
        items[:] = [item for item in items if item not in slow]
    items.sort(key=_place)


class Workers(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """The tests of a group are run by one worker, one after the other."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Workers:
    return Workers(config, log)


def group_of(nodeid: str) -> str:
    """Return the test's file, or "spark" or "views" for tests that use Spark."""
    file = nodeid.partition("::")[0]
    if file.startswith(VIEWS):
        return "views"
    return "spark" if file.startswith(SPARK) else file


def _is_slow(item: pytest.Item) -> bool:
    marks = list(item.iter_markers("slow"))
    for mark in marks:
        if len(mark.args) != 1 or not isinstance(mark.args[0], str) or mark.kwargs:
            raise pytest.UsageError(f'{item.nodeid}: the marker slow takes its reason: @pytest.mark.slow("random")')
    return bool(marks)


def _place(item: pytest.Item) -> int:
    group = group_of(item.nodeid)
    return next(place for place, start in enumerate(ORDER) if group.startswith(start))


def slowness(fixed_seconds: float = FIXED_SECONDS) -> float:
    """Return how many times as long the fixed program takes here; at least 1."""
    seconds = []
    for _ in range(5):
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-I", "-c", FIXED_PROGRAM], check=True)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime)
    return max(sorted(seconds)[2] / fixed_seconds, 1.0)


class Times:
    """Measures how long each test took, and reports it at the end of the run.

    Workers report how much of it was the set-up of shared fixtures, and their controller sums up.
    """

    def __init__(self, config: pytest.Config) -> None:
        # Only the controller sums up, so its workers need not measure the machine as well.
        self._limited = bool(config.getoption("--time-limits")) and not hasattr(config, "workerinput")
        in_ci = "CI" in os.environ
        self._slowness = slowness() if self._limited else 1.0
        self._test_seconds = TEST_SECONDS * self._slowness * (3.0 if in_ci else 1.0)
        self._gate_seconds = GATE_SECONDS * self._slowness * (1.5 if in_ci else 1.0)
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._shared = 0.0  # of the test that is being set up
        self._began = time.monotonic()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        began = time.monotonic()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self._shared += time.monotonic() - began

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self._shared = 0.0
        try:
            return (yield)
        finally:
            item.user_properties.append((SHARED, self._shared))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "setup":
            self._seconds[report.nodeid] += report.duration - dict[str, Any](report.user_properties).get(SHARED, 0.0)
        elif report.when == "call" and not isinstance(report, pytest.SubtestReport):  # the test's own has all of it
            self._seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus == pytest.ExitCode.OK and self._too_slow():
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section(f"slowest {SLOWEST}, without what they share")
        if self._limited:
            terminalreporter.write_line(f"this machine takes {self._slowness:.1f} times as long as that of the limits")
        for name, seconds in self._slowest()[:SLOWEST]:
            terminalreporter.write_line(f"{seconds:6.1f} s  {name}")
        for text in self._too_slow():
            terminalreporter.write_line(f"FAILED {text}", red=True)

    def _slowest(self) -> list[tuple[str, float]]:
        return sorted(self._seconds.items(), key=lambda one: -one[1])

    def _too_slow(self) -> list[str]:
        if not self._limited:
            return []
        slow = [
            f"{name}: took {seconds:.0f} s, and a test of the gate may take {self._test_seconds:.0f} here: make it "
            "shorter, or mark it slow"
            for name, seconds in self._slowest()
            if seconds > self._test_seconds
        ]
        took = time.monotonic() - self._began
        if took > self._gate_seconds:
            slow.append(f"the gate: took {took / 60:.1f} min, and may take {self._gate_seconds / 60:.1f} here")
        return slow
