import json
import logging
from dataclasses import fields, replace

import pytest

from log_shipper.runtime.logs.formatters import JsonFormatter
from log_shipper.shipper.agent.summary import INTERVAL, Summary
from log_shipper.shipper.inputs.base import SourceStatus
from log_shipper.shipper.metrics import Metrics
from tests.builders import source_status
from tests.fakes import ManualClock


class Reading:
    """What the summary asks the source."""

    def __init__(self) -> None:
        self.behind = 1500

    def status(self) -> SourceStatus:
        return source_status(self.behind)


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def source() -> Reading:
    return Reading()


@pytest.fixture
def summary(metrics: Metrics, source: Reading, clock: ManualClock, caplog: pytest.LogCaptureFixture) -> Summary:
    caplog.set_level(logging.INFO)
    summary = Summary(metrics, source, clock)  # type: ignore[arg-type]  # it has what is asked
    clock.advance(INTERVAL)
    summary.step()  # what is behind at the start is known from now on
    caplog.clear()
    return summary


def test_a_person_reads_rates_lag_and_counters(
    summary: Summary, metrics: Metrics, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    metrics.events_read, metrics.events_acked, metrics.bytes_read = 6150, 6000, 90_000_000
    clock.advance(INTERVAL)
    summary.step()
    summary.step()
    metrics.events_read, metrics.batches_retried, metrics.topics_waiting = 6159, 2, 1
    clock.advance(INTERVAL)
    summary.step()
    assert caplog.messages == [
        "running: read 205 events/s (2.9 MiB/s), acknowledged 200/s, 1.5 KiB behind in 2 open files"
        " | 30 s: events_read=6150 events_acked=6000 bytes_read=90000000"
        " | total: events_read=6150 events_acked=6000 bytes_read=90000000",
        "running: read 0.3 events/s (0 B/s), acknowledged 0/s, 1.5 KiB behind in 2 open files"
        " | 30 s: events_read=9 events_acked=0 batches_retried=2"
        " | total: events_read=6159 events_acked=6000 bytes_read=90000000 batches_retried=2 topics_waiting=1",
    ]


def test_a_program_reads_the_fields_of_the_json_line(
    summary: Summary, metrics: Metrics, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    metrics.events_read, metrics.topics_waiting = 300, 1
    clock.advance(INTERVAL)
    summary.step()
    line = json.loads(JsonFormatter().format(caplog.records[0]))
    written = {name.removeprefix("summary."): value for name, value in line.items() if name.startswith("summary.")}
    expected = {
        "state": "running",
        "seconds": 30.0,
        "rate.events_read": 10.0,
        "rate.events_acked": 0.0,
        "rate.bytes_read": 0.0,
        "delta.events_read": 300,
        "total.events_read": 300,
        "total.events_acked": 0,
        "topics_waiting": 1,
        "files_open": 2,
        "bytes_behind": 1500,
    }
    assert list(written.items()) == list(expected.items()), "in this order, and without counters that are 0"


def test_it_is_not_logged_if_nothing_happened(
    summary: Summary, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    clock.advance(INTERVAL)
    summary.step()
    assert not caplog.records


def test_a_lag_that_grows_is_something_that_happens(
    summary: Summary, source: Reading, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    source.behind = 3000
    clock.advance(INTERVAL)
    summary.step()
    assert "2.9 KiB behind" in caplog.messages[0]


def test_files_that_wait_to_be_opened_are_behind(summary: Summary, caplog: pytest.LogCaptureFixture) -> None:
    summary.last(replace(source_status(1024), waiting=3, bytes_waiting=1024))
    assert "2.0 KiB behind in 2 open files and 3 waiting" in caplog.messages[0]


def test_the_last_line_is_about_the_whole_run_and_always_logged(
    summary: Summary, metrics: Metrics, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    summary.last(source_status(0))
    metrics.events_read = 600
    clock.advance(INTERVAL)
    summary.last(source_status(0))
    assert caplog.messages == [
        "stopped: read 0 events/s (0 B/s), acknowledged 0/s, 0 B behind in 2 open files"
        " | 30 s | total: events_read=0 events_acked=0",
        "stopped: read 10 events/s (0 B/s), acknowledged 0/s, 0 B behind in 2 open files"
        " | 60 s | total: events_read=600 events_acked=0",
    ]


def test_each_counter_is_in_the_line(summary: Summary, metrics: Metrics, caplog: pytest.LogCaptureFixture) -> None:
    values = {field.name: 7 + number for number, field in enumerate(fields(Metrics))}
    for name, value in values.items():
        setattr(metrics, name, value)
    summary.last(source_status(0))
    assert [name for name, value in values.items() if f" {name}={value}" not in caplog.messages[0]] == []


def test_it_is_logged_at_the_configured_interval(
    metrics: Metrics, source: Reading, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    often = Summary(metrics, source, clock, 1.0)  # type: ignore[arg-type]  # it has what is asked
    never = Summary(metrics, source, clock, float("inf"))  # type: ignore[arg-type]  # it has what is asked
    for _ in range(3):
        metrics.events_acked += 1
        clock.advance(1.0)
        often.step()
        never.step()
    assert len(caplog.records) == 3
