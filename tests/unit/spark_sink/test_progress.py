import io
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from spark_sink.progress import Progress, Report, lag
from spark_sink.sink import Landed


@dataclass
class Source:
    endOffset: str | None
    latestOffset: str | None


@dataclass
class BatchProgress:
    batchId: int
    sources: list[Source]
    durationMs: dict[str, int] = field(default_factory=lambda: {"triggerExecution": 500})


@dataclass
class Event:
    progress: Any


END, LATEST = '{"logs":{"0":10,"1":5}}', '{"logs":{"0":12,"1":5,"2":7}}'


def test_lag_is_summed_over_partitions_also_those_not_read_yet() -> None:
    assert lag(BatchProgress(0, [Source(END, LATEST)])) == 9  # type: ignore[arg-type]  # what lag() looks at


@pytest.mark.parametrize("latest", [None, "null"])
def test_a_source_that_does_not_know_its_end_has_no_lag(latest: str | None) -> None:
    assert lag(BatchProgress(0, [Source(END, latest)])) == 0  # type: ignore[arg-type]  # what lag() looks at


def test_a_batch_is_one_json_line_with_sparks_times_and_the_sinks_counts() -> None:
    out = io.StringIO()
    progress = Progress(Report(text=False, out=out))
    progress.landed(Landed(6, rows=100, bad=0))
    progress.landed(Landed(7, rows=10, bad=2))
    progress.onQueryProgress(Event(BatchProgress(7, [Source(END, LATEST)])))  # type: ignore[arg-type]  # as above
    line = json.loads(out.getvalue())
    assert line.pop("@timestamp").endswith("Z")
    assert line == {
        "log.level": "info",
        "message": "batch",
        "batch": 7,
        "rows_in": 12,
        "landed": 10,
        "bad": 2,
        "seconds": 0.5,
        "lag": 9,
        "landed_total": 110,
        "bad_total": 2,
    }


def test_an_event_without_a_batch_of_its_own_says_nothing() -> None:
    out = io.StringIO()
    Progress(Report(text=False, out=out)).onQueryProgress(Event(BatchProgress(3, [])))  # type: ignore[arg-type]  # as above
    assert out.getvalue() == ""


def test_at_a_terminal_the_next_line_is_written_over_a_status() -> None:
    out = io.StringIO()
    report = Report(text=True, out=out)
    report.status("long status")
    report.status("short")
    report.say("done")
    assert out.getvalue() == "long status\rshort      \rspark-sink: done\n"


def test_what_is_below_the_level_is_not_said() -> None:
    out = io.StringIO()
    report = Report(text=False, level="error", out=out)
    report.say("hello")
    report.status("batch")
    report.failure("it ended", "a long trace")
    line = json.loads(out.getvalue())
    assert (line["message"], line["error.stack_trace"]) == ("it ended", "a long trace")


def test_at_a_terminal_the_trace_is_shown_on_demand() -> None:
    quiet, loud = io.StringIO(), io.StringIO()
    Report(text=True, out=quiet).failure("it ended", "a long trace")
    Report(text=True, level="debug", out=loud).failure("it ended", "a long trace")
    assert "a long trace" not in quiet.getvalue()
    assert "a long trace" in loud.getvalue()
