import logging

import pytest

from shipper.metrics import Metrics
from shipper.source.base import SourceStatus
from shipper.summary import INTERVAL, Summary
from tests.builders import source_status
from tests.fakes import ManualClock

STATUS = source_status(17)


class Reading:
    """What the summary asks the source."""

    def status(self) -> SourceStatus:
        return STATUS


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def summary(metrics: Metrics, clock: ManualClock, caplog: pytest.LogCaptureFixture) -> Summary:
    caplog.set_level(logging.INFO)
    return Summary(metrics, Reading(), clock)  # type: ignore[arg-type]  # it has what is asked


def test_it_is_logged_when_it_is_due_and_something_happened(
    summary: Summary, metrics: Metrics, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    metrics.events_acked = 5
    summary.step()
    assert not caplog.records
    clock.advance(INTERVAL)
    summary.step()
    summary.step()
    (record,) = caplog.records
    assert "events_acked=5" in record.getMessage()
    assert "files_open=2 bytes_behind=17" in record.getMessage()


def test_it_is_not_logged_if_nothing_happened(
    summary: Summary, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    clock.advance(INTERVAL)
    summary.step()
    assert not caplog.records


def test_at_the_end_it_is_always_logged(summary: Summary, caplog: pytest.LogCaptureFixture) -> None:
    summary.last(STATUS)
    assert caplog.records[0].getMessage().startswith("stopped: events_read=0")


def test_each_counter_is_in_the_line() -> None:
    assert Metrics(events_read=1, bytes_lost=2).summary().split()[:1] == ["events_read=1"]
    assert "bytes_lost=2" in Metrics(bytes_lost=2).summary()


def test_it_is_logged_at_the_configured_interval(
    metrics: Metrics, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    often = Summary(metrics, Reading(), clock, 1.0)  # type: ignore[arg-type]  # it has what is asked
    never = Summary(metrics, Reading(), clock, float("inf"))  # type: ignore[arg-type]  # it has what is asked
    for _ in range(3):
        metrics.events_acked += 1
        clock.advance(1.0)
        often.step()
        never.step()
    assert len(caplog.records) == 3
