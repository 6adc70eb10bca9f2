"""What is logged of a run with --once that did not finish."""

import math

import pytest

from log_shipper.shipper.agent.running import TimedEnding, left
from log_shipper.shipper.inputs.base import SourceStatus
from tests.fakes import ManualClock


def test_a_run_ends_by_a_signal_or_when_its_time_is_over_and_knows_which(clock: ManualClock) -> None:
    signals: list[str] = []
    timed, endless = (TimedEnding(lambda: bool(signals), seconds, clock) for seconds in (90.0, math.inf))
    clock.advance(89.9)
    assert not timed.is_due
    clock.advance(0.1)
    assert (timed.is_due, timed.reason) == (True, "--once-timeout (90 s) expired")
    assert not endless.is_due
    signals.append("SIGTERM")
    assert (endless.is_due, endless.reason) == (True, "stopped by a signal")


def status(**changes: int | bool) -> SourceStatus:
    values = {"files_open": 0, "reading": 0, "unsettled": 0, "waiting": 0, "bytes_waiting": 0, "bytes_behind": 0}
    return SourceStatus(**{**values, "is_size_known": True, "problems": {}, **changes})  # type: ignore[arg-type]  # mixed


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (status(), "not all files were scanned"),
        (status(unsettled=1, bytes_behind=4), "4 bytes of 1 file are not delivered"),
        (
            status(reading=2, unsettled=1, waiting=1000, bytes_waiting=9000, bytes_behind=500),
            "9,500 bytes of 1,003 files are not delivered",
        ),
        (status(reading=1, bytes_behind=7, is_size_known=False), "at least 7 bytes of 1 file are not delivered"),
    ],
)
def test_what_is_left_is_counted_in_bytes_and_files(of: SourceStatus, words: str) -> None:
    assert left(of) == words
