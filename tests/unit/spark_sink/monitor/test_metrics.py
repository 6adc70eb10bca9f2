import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from log_shipper.spark_sink.landing.batch_writer import BatchResult
from log_shipper.spark_sink.monitor.metrics import SinkMetrics, documentation
from log_shipper.spark_sink.monitor.processes import Usage
from log_shipper.spark_sink.rows.batches import PartitionRecords
from log_shipper.spark_sink.views.progress import Figures
from tests.fakes import ManualClock

ROOT = Path(__file__).parents[4]
DONE = {("logs", 0): 10, ("logs", 1): 5}
THERE = {("logs", 0): 12, ("logs", 1): 5, ("logs", 2): 7}


def value(metrics: SinkMetrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"spark_sink_{name}", labels)


LANDED = BatchResult(
    7,
    rows=100,
    bad=2,
    tombstones=6,
    repeats=3,
    suspects=5,
    lost=11,
    files=13,
    tables=4,
    ends={("logs", 0): 10, ("logs", 1): 5},
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rows_landed_total", 200),
        ("rows_bad_total", 4),
        ("tombstones_total", 12),
        ("rows_repeated_total", 6),
        ("files_suspect_total", 10),
        ("offsets_lost_total", 22),
        ("batches_total", 2),
        ("batches_repeated_total", 0),
        ("batch_rows", 100),
        ("batch_tables", 4),
        ("files_remembered", 13),
    ],
)
def test_two_batches_are_counted(name: str, expected: float) -> None:
    metrics = SinkMetrics()
    metrics.landed(LANDED)
    metrics.landed(LANDED)
    assert value(metrics, name) == expected


def test_a_batch_that_had_landed_before_is_counted_apart() -> None:
    metrics = SinkMetrics()
    metrics.landed(BatchResult(7, rows=0, bad=0, repeated=True))
    assert [value(metrics, name) for name in ("batches_total", "batches_repeated_total")] == [0, 1]


def test_landed_offsets_are_known_before_spark_reports_the_batch() -> None:
    metrics = SinkMetrics()
    metrics.landed(LANDED)
    assert value(metrics, "landed_offset", topic="logs", partition="0") == 10
    assert value(metrics, "lag_offsets", topic="logs", partition="0") is None


def test_a_batch_has_the_delay_of_its_oldest_record() -> None:
    metrics = SinkMetrics()
    metrics.landed(replace(LANDED, records={("logs", 0): PartitionRecords(2, time.time() - 60, time.time())}))
    assert 60 <= (value(metrics, "landing_delay_seconds") or 0) < 120


def test_the_cpu_time_only_rises_and_memory_is_what_it_is() -> None:
    metrics = SinkMetrics()
    for usage in (Usage(5.0, 100), Usage(3.0, 90), Usage(6.0, 80)):
        metrics.set_usage(usage)
    assert (value(metrics, "cpu_seconds_total"), value(metrics, "memory_bytes")) == (6.0, 80)


def test_a_batch_has_its_duration_and_the_lag_of_each_partition() -> None:
    metrics = SinkMetrics()
    metrics.batch(1.5, DONE, THERE)
    assert value(metrics, "batch_seconds_sum") == 1.5
    assert value(metrics, "batch_seconds_bucket", le="1.0") == 0
    assert value(metrics, "batch_seconds_bucket", le="2.0") == 1
    assert [value(metrics, "lag_offsets", topic="logs", partition=str(number)) for number in range(3)] == [2, 0, 7]
    assert value(metrics, "end_offset", topic="logs", partition="2") == 7


def test_a_deleted_partition_has_no_lag() -> None:
    metrics = SinkMetrics()
    metrics.batch(1.0, DONE, THERE)
    metrics.batch(1.0, DONE, {("logs", 0): 10})
    assert value(metrics, "lag_offsets", topic="logs", partition="0") == 0
    assert value(metrics, "lag_offsets", topic="logs", partition="2") is None


def test_a_view_is_up_unless_it_has_failed_and_each_failure_is_counted_once() -> None:
    metrics = SinkMetrics()
    for failed, failures, expected in ((False, 0, [1, 0]), (True, 1, [0, 1]), (True, 1, [0, 1]), (False, 3, [1, 3])):
        metrics.views({"errors": Figures(failed=failed, failures=failures)})
        assert [value(metrics, name, view="errors") for name in ("view_up", "view_failures_total")] == expected


def test_a_view_has_figures_of_its_own() -> None:
    metrics = SinkMetrics()
    metrics.views({"errors": Figures(seconds=0.5, late=3, state_rows=40), "hosts": Figures(late=1)})
    names = ("view_batch_seconds", "view_late_rows", "view_state_rows")
    assert [value(metrics, name, view="errors") for name in names] == [0.5, 3, 40]
    assert value(metrics, "view_late_rows", view="hosts") == 1


def test_the_page_of_metrics_lists_what_there_is() -> None:
    page = (ROOT / "docs" / "reference" / "sink-metrics.md").read_text()
    assert documentation() in page, (
        "replace its table by what `python -m log_shipper.spark_sink.monitor.metrics` prints"
    )


def test_nothing_is_served_that_is_not_on_the_page() -> None:
    metrics = SinkMetrics()
    metrics.landed(LANDED)
    served = set(re.findall(r"^# TYPE (\w+)", generate_latest(metrics.registry).decode(), re.MULTILINE))
    assert served == set(re.findall(r"`(\w+)`", documentation()))


def test_an_idle_look_is_progress_and_a_part_of_a_batch_is_no_end_of_one() -> None:
    clock = ManualClock()
    metrics = SinkMetrics(clock.monotonic)
    clock.advance(10.0)
    assert (metrics.silent_for(), metrics.stalled_for()) == (10.0, 10.0)
    metrics.progressed()
    assert (value(metrics, "silent_seconds"), value(metrics, "stalled_seconds")) == (10.0, 0.0)
    clock.advance(1.0)
    metrics.alive()
    assert (value(metrics, "silent_seconds"), value(metrics, "stalled_seconds")) == (0.0, 0.0)
