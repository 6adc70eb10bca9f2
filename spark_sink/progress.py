"""What the job says on stderr: one line that is written over at a terminal, one JSON object a line otherwise.

The counts come from the sink, batch by batch; times and lag from Spark's progress events, which come later, on a thread
of their own, and perhaps not at all for the last batch before a stop. So a batch is reported when its event comes, and
the totals are kept apart from it. A JSON line of a batch:

    {"@timestamp":"…","log.level":"info","message":"batch","batch":7,"rows_in":1200,"landed":1199,"bad":1,
     "seconds":0.8,"lag":0,"landed_total":90210,"bad_total":3}

`lag` is the number of offsets between the batch's end and the topics' end as it was then.
"""

import json
import sys
import threading
from datetime import UTC, datetime
from typing import Literal, TextIO

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

from spark_sink.sink import Landed

Level = Literal["debug", "info", "warning", "error"]
LEVELS: tuple[Level, ...] = ("debug", "info", "warning", "error")


class Report:
    """Writes to stderr. Any thread may call it."""

    def __init__(self, text: bool, level: Level = "info", out: TextIO = sys.stderr) -> None:
        self._text = text
        self._least = LEVELS.index(level)
        self._out = out
        self._lock = threading.Lock()
        self._unfinished = 0  # length of a line that the next one is written over

    def say(self, message: str, level: Level = "info", **fields: object) -> None:
        """A line that stays."""
        if LEVELS.index(level) >= self._least:
            self._write(f"spark-sink: {message}" if self._text else _encoded(message, level, fields))

    def status(self, text: str, **fields: object) -> None:
        """A line that the next one replaces, where there is a terminal."""
        if LEVELS.index("info") >= self._least:
            if self._text:
                self._write(text, over=True)
            else:
                self._write(_encoded("batch", "info", fields))

    def failure(self, message: str, details: str) -> None:
        """What ended the job. Spark's own long text only where it disturbs nobody: in JSON, or when asked for."""
        self.say(message, "error", **{"error.stack_trace": details})
        if self._text and self._least == LEVELS.index("debug"):
            self._write(details)

    def _write(self, line: str, over: bool = False) -> None:
        with self._lock:
            start = "\r" if self._unfinished else ""
            self._out.write(start + line.ljust(self._unfinished) + ("" if over else "\n"))
            self._out.flush()
            self._unfinished = len(line) if over else 0


def _encoded(message: str, level: Level, fields: dict[str, object]) -> str:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"@timestamp": now, "log.level": level, "message": message, **fields}, ensure_ascii=False)


class Progress(StreamingQueryListener):
    """Puts together what the sink and Spark say of a batch."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self._report = report
        self._lock = threading.Lock()
        self._waiting: dict[int, Landed] = {}
        self.ended = threading.Event()  # the query's last event has come
        self.rows = 0
        self.bad = 0

    def landed(self, landed: Landed) -> None:
        """Called by the sink's thread, when a batch is in the tables."""
        with self._lock:
            self.rows += landed.rows
            self.bad += landed.bad
            self._waiting[landed.batch] = landed

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        progress = event.progress
        with self._lock:
            landed = self._waiting.pop(progress.batchId, None)
        if landed is not None:  # an idle trigger reports the last batch again
            self._tell(landed, progress.durationMs.get("triggerExecution", 0) / 1000, lag(progress))

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        pass

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        self.ended.set()

    def summary(self) -> str:
        return f"{self.rows:,} rows landed, {self.bad:,} bad records"

    def _tell(self, landed: Landed, seconds: float, behind: int) -> None:
        rate = landed.rows / seconds if seconds else 0.0
        self._report.status(
            f"batch {landed.batch}: {landed.rows + landed.bad:,} rows in, {landed.rows:,} landed, {landed.bad:,} bad, "
            f"{seconds:.1f} s, {rate:,.0f} rows/s, lag {behind:,} | {self.summary()}",
            batch=landed.batch,
            rows_in=landed.rows + landed.bad,
            landed=landed.rows,
            bad=landed.bad,
            seconds=round(seconds, 3),
            lag=behind,
            landed_total=self.rows,
            bad_total=self.bad,
        )


def lag(progress: StreamingQueryProgress) -> int:
    """Offsets between where the batch ended and where the topics ended, over all partitions."""
    return sum(_behind(source.endOffset, source.latestOffset) for source in progress.sources)


def _behind(end: str | None, latest: str | None) -> int:
    """Both as Spark writes offsets: {"topic": {"0": 123}}."""
    done, there = json.loads(end or "null") or {}, json.loads(latest or "null") or {}
    return sum(
        max(0, int(offset) - int(done.get(topic, {}).get(partition, 0)))
        for topic, partitions in there.items()
        for partition, offset in partitions.items()
    )
