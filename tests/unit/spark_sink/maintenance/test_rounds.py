"""Maintenance that `run` does by itself, in processes that end, fail, are killed, or do not end."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.spark_sink.maintenance.rounds import FIRST, Rounds
from log_shipper.spark_sink.options.maintenance import MaintenanceConfig, OptimizeConfig
from tests.fakes import ManualClock
from tests.full_disk import no_larger_files_than
from tests.unit.spark_sink.landing.landing_lab import LandingLab

READ = "import sys; sys.stdin.buffer.read(); "
UNKNOWN = ("/no/such/program",)  # its rounds end at once


@contextmanager
def rounds(lab: LandingLab, clock: ManualClock, *command: str) -> Iterator[tuple[Rounds, list[bool]]]:
    """Return rounds that run the command, if one is given, and the results of those that have ended."""
    results: list[bool] = []
    started = Rounds(lab.config, results.append, clock.monotonic)
    if command:
        started.command = command
    try:
        yield started, results
    finally:
        started.stop()


def wait_for(results: list[bool], started: Rounds, count: int) -> None:
    """Wait until so many rounds have ended; sleep until a child of this process has."""
    started.step()
    while len(results) < count:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        started.step()


@pytest.fixture
def lab(tmp_path: Path) -> LandingLab:
    """Three commits, of which each has made a file."""
    lab = LandingLab(tmp_path, maintenance=MaintenanceConfig(optimize=OptimizeConfig(open_min_files=2)))
    lab.start()
    for offset in (0, 10, 20):
        lab.send_lines(offset)
        lab.land()
    return lab


def test_a_round_is_what_maintain_does(lab: LandingLab, clock: ManualClock) -> None:
    with rounds(lab, clock) as (started, results):
        started.step()
        assert len(lab.delta().file_uris()) == 3
        clock.advance(FIRST)
        wait_for(results, started, 1)
    assert results == [True]
    assert len(lab.delta().file_uris()) == 1
    assert lab.lines() == [("f", 0), ("f", 10), ("f", 20)]
    lab.send_lines(30)
    assert lab.land().rows == 1


def test_a_round_that_the_disk_does_not_take_loses_nothing_and_the_next_one_does_its_work(
    lab: LandingLab, clock: ManualClock
) -> None:
    """Not its own log either, where that is a file on the same disk."""
    with rounds(lab, clock) as (started, results):
        clock.advance(FIRST)
        with no_larger_files_than(100):
            started.step()
        wait_for(results, started, 1)
        assert lab.lines() == [("f", 0), ("f", 10), ("f", 20)]
        clock.advance(lab.config.maintenance.interval)
        wait_for(results, started, 2)
    assert results == [False, True]
    assert len(lab.delta().file_uris()) == 1
    assert lab.lines() == [("f", 0), ("f", 10), ("f", 20)]


def test_one_round_follows_the_other_after_the_interval(lab: LandingLab, clock: ManualClock) -> None:
    with rounds(lab, clock, *UNKNOWN) as (started, results):
        clock.advance(FIRST)
        started.step()
        clock.advance(lab.config.maintenance.interval - 1)
        started.step()
        assert len(results) == 1
        clock.advance(1)
        started.step()
        assert len(results) == 2


def test_an_interval_of_0_leaves_it_to_the_command(lab: LandingLab, clock: ManualClock) -> None:
    lab.config = replace(lab.config, maintenance=MaintenanceConfig(interval=0.0))
    with rounds(lab, clock, *UNKNOWN) as (started, results):
        clock.advance(1e9)
        started.step()
    assert results == []


@pytest.mark.parametrize(
    ("code", "logged"),
    [(READ + "sys.exit(1)", ""), (READ + "import os; os.kill(os.getpid(), 9)", "was killed (SIGKILL; out of memory?)")],
)
def test_a_round_that_fails_is_counted_and_the_next_one_follows(
    lab: LandingLab, clock: ManualClock, caplog: pytest.LogCaptureFixture, code: str, logged: str
) -> None:
    with rounds(lab, clock, sys.executable, "-c", code) as (started, results):
        for count in (1, 2):
            clock.advance(lab.config.maintenance.interval)
            wait_for(results, started, count)
    assert results == [False, False]
    assert logged in caplog.text


@pytest.mark.parametrize("command", [UNKNOWN, (sys.executable, "-c", "")])
def test_a_round_that_cannot_start_ends_nothing(lab: LandingLab, clock: ManualClock, command: tuple[str, ...]) -> None:
    with rounds(lab, clock, *command) as (started, results):
        clock.advance(FIRST)
        wait_for(results, started, 1)


def test_a_round_ends_with_the_run(lab: LandingLab, clock: ManualClock, tmp_path: Path) -> None:
    pipe = tmp_path / "open while the round runs"
    os.mkfifo(pipe)
    code = READ + f"opened = open({str(pipe)!r}, 'w'); import time; time.sleep(1000)"
    with rounds(lab, clock, sys.executable, "-c", code) as (started, results):
        clock.advance(FIRST)
        started.step()
        with pipe.open() as running:  # waits for the round
            started.stop()
            assert running.read() == ""
    assert results == []
