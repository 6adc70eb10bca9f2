"""The log line and the metrics of a batch. Events have what BatchProgress reads; Spark's have no public constructor."""

import io
import json
import math
import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from log_shipper.spark_sink import logs
from log_shipper.spark_sink.landing.batch_writer import BatchResult
from log_shipper.spark_sink.landing.stages import STAGES
from log_shipper.spark_sink.monitor.progress import QUERY, BatchProgress
from log_shipper.spark_sink.rows.batches import PartitionRecords
from log_shipper.spark_sink.views.progress import Figures

ROOT = Path(__file__).parents[4]
LINES, VIEW = UUID(int=1), UUID(int=2)


ENDS, LATEST = {("logs", 0): 10, ("logs", 1): 5}, {("logs", 0): 12, ("logs", 1): 5, ("logs", 2): 7}


@dataclass
class SparkProgress:
    batchId: int
    id: UUID = LINES
    durationMs: dict[str, int] = field(default_factory=lambda: {"triggerExecution": 500})


@dataclass
class Event:
    """Of any kind: only a progress event has a progress, only that of a start has a name."""

    progress: SparkProgress | None = None
    id: UUID = LINES
    name: str | None = None


class ProgressLab:
    def __init__(self, text: bool = False) -> None:
        self.out = io.StringIO()
        logs.set_up(text, out=self.out)
        self.progress: Any = BatchProgress()
        self.progress.onQueryStarted(Event(id=LINES, name=QUERY))  # type: ignore[arg-type]  # it has what is asked
        self.progress.onQueryStarted(Event(id=VIEW, name="errors"))  # type: ignore[arg-type]  # it has what is asked

    def metric(self, name: str) -> float | None:
        return self.progress.metrics.registry.get_sample_value(f"spark_sink_{name}")  # type: ignore[no-any-return]

    def batch(self, landed: BatchResult) -> str:
        self.progress.landed(landed, LATEST)
        self.progress.onQueryProgress(Event(SparkProgress(landed.batch)))
        return self.out.getvalue()


@pytest.fixture
def lab() -> ProgressLab:
    return ProgressLab()


def test_the_lag_in_time_is_of_the_moment_at_which_it_is_asked_for(lab: ProgressLab) -> None:
    assert math.isnan(lab.metric("lag_seconds") or 0)
    records = {("logs", 0): PartitionRecords(1, time.time() - 100, time.time() - 60)}
    lab.progress.landed(BatchResult(7, ends=ENDS, records=records), LATEST)
    first, second = lab.metric("lag_seconds"), lab.metric("lag_seconds")
    assert first is not None
    assert second is not None
    assert 60 <= first < second < 120


FIELDS = {
    "ecs.version": "1.6.0",
    "log.level": "info",
    "log.logger": "log_shipper.spark_sink.monitor.progress",
    "message": "batch",
    "batch": 7,
    "rows_in": 15,
    "landed": 10,
    "repeats": 3,
    "bad": 2,
    "tombstones": 0,
    "suspects": 4,
    "lost": 1,
    "seconds": 0.5,
    "rows_per_second": 20.0,
    "lag": 9,
    "landed_total": 110,
    "repeats_total": 3,
    "bad_total": 2,
}


OF_EVERY_LINE = {"ecs.version", "log.level", "log.logger", "message"}


def test_a_batch_is_one_json_line_with_sparks_times_and_the_sinks_counts(lab: ProgressLab) -> None:
    lab.progress.landed(BatchResult(6, rows=100, bad=0), LATEST)
    line = json.loads(lab.batch(BatchResult(7, rows=10, bad=2, repeats=3, suspects=4, lost=1, ends=ENDS)))
    assert line.pop("@timestamp").endswith("Z")
    assert line == FIELDS


def test_a_batch_is_one_line_of_text() -> None:
    assert ProgressLab(text=True).batch(BatchResult(7, rows=1000, bad=2, repeats=3, ends=ENDS)) == (
        "batch 7: 1,005 rows in, 1,000 landed, 3 repeats, 2 bad, 0.5 s, 2,000 rows/s, lag 9"
        " | 1,000 rows landed, 3 repeats dropped, 2 bad records\n"
    )


def test_what_has_not_landed_is_lag(lab: ProgressLab) -> None:
    line = json.loads(lab.batch(BatchResult(7, rows=4, ends={("logs", 0): 4, ("logs", 1): 5})))
    assert line["lag"] == 12 - 4 + 7


def test_the_fields_of_a_line_are_documented() -> None:
    page = (ROOT / "docs" / "reference" / "sink-metrics.md").read_text()
    assert set(re.findall(r"^\| `([a-z_]+)` \|", page, re.MULTILINE)) >= FIELDS.keys() - OF_EVERY_LINE


def test_a_batch_is_counted_and_timed_for_prometheus(lab: ProgressLab) -> None:
    lab.batch(BatchResult(7, rows=10, bad=2))
    assert (lab.metric("rows_landed_total"), lab.metric("batch_seconds_sum")) == (10, 0.5)


def test_a_batch_has_the_stages_that_were_measured_and_those_that_only_spark_knows(lab: ProgressLab) -> None:
    lab.progress.landed(BatchResult(7, rows=10, stages={"tasks": 0.25, "marks": 0.125}), LATEST)
    spark = {"triggerExecution": 1000, "addBatch": 500}
    lab.progress.onQueryProgress(Event(SparkProgress(7, durationMs=spark)))
    registry = lab.progress.metrics.registry
    assert {
        stage: registry.get_sample_value("spark_sink_batch_stage_seconds_sum", {"stage": stage}) for stage in STAGES
    } == {"planning": 0.5, "tasks": 0.25, "repeats": 0.0, "commit": 0.0, "marks": 0.125, "other": 0.125}
    seen = lab.progress.observations.state
    assert {stage: seconds.last for stage, seconds in seen.stages.items()} == {
        "planning": 0.5,
        "tasks": 0.25,
        "marks": 0.125,
        "other": 0.125,
    }
    assert seen.batch_seconds == 1.0


def test_failed_commits_of_the_group_and_views_are_counted_and_seen(lab: ProgressLab) -> None:
    lab.progress.group_commit_failed()
    lab.progress.views({"errors": Figures(failed=True, failures=2)})
    assert lab.metric("group_commit_failures_total") == 1
    seen = lab.progress.observations.state
    assert seen.last_group_failure is not None
    assert seen.views["errors"].failed


def test_an_event_without_a_batch_of_its_own_is_not_logged(lab: ProgressLab) -> None:
    lab.progress.onQueryProgress(Event(SparkProgress(3)))
    assert lab.out.getvalue() == ""


def test_events_of_a_views_query_are_not_taken_for_those_of_the_lines(lab: ProgressLab) -> None:
    lab.progress.landed(BatchResult(7, rows=10, bad=2), LATEST)
    lab.progress.onQueryProgress(Event(SparkProgress(7, id=VIEW)))
    lab.progress.onQueryTerminated(Event(id=VIEW))
    assert (lab.out.getvalue(), lab.progress.ended.is_set()) == ("", False)
    lab.progress.onQueryTerminated(Event(id=LINES))
    assert lab.progress.ended.is_set()


@pytest.mark.parametrize(("query", "alive"), [(LINES, True), (VIEW, False)])
def test_an_idle_query_is_alive(lab: ProgressLab, query: UUID, alive: bool) -> None:
    lab.progress.metrics.seen_alive = 0.0
    lab.progress.onQueryIdle(Event(id=query))
    assert (lab.progress.metrics.seen_alive > 0) is alive
