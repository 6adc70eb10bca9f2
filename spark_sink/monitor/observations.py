"""The state of the running sink, for its page. Each change makes a new `SinkState`, so that reading threads share no
lock with the landing thread."""

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from log_shipper.spark_sink.kafka.offsets import Offsets, Partition, lag
from log_shipper.spark_sink.landing.bad_records import OTHERS, BadRecords, merged
from log_shipper.spark_sink.landing.batch_writer import BatchResult
from log_shipper.spark_sink.landing.stages import STAGES, Stage
from log_shipper.spark_sink.storage.table_size import TableSize
from log_shipper.spark_sink.views.progress import Figures


@dataclass(frozen=True, slots=True)
class StageSeconds:
    """The duration of a stage: in the last batch, and in all batches."""

    last: float
    total: float
    batches: int

    @property
    def mean(self) -> float:
        return self.total / self.batches


@dataclass(frozen=True, slots=True)
class SinkState:
    """The counts since the start, and the newest state. Times are of the epoch, None before the first event."""

    started: float
    streaming: bool = False  # the query runs: the start is complete
    missing: tuple[str, ...] = ()  # topics and partitions that the start waits for
    rows: int = 0
    bad: int = 0
    repeats: int = 0
    lost: int = 0
    batches: int = 0
    files: int = 0  # log files with marks
    batch_rows: int = 0  # of the last batch
    batch_seconds: float | None = None
    last_batch: float | None = None
    last_bad: float | None = None
    last_lost: float | None = None
    last_group_failure: float | None = None
    longest: float | None = None  # seconds from Kafka's time of the last batch's oldest record to its landing
    shortest: float | None = None  # the same of its newest record
    topics: Mapping[str, int] = field(default_factory=dict)  # records
    landed: Offsets = field(default_factory=dict)
    ends: Offsets = field(default_factory=dict)  # Kafka's, when the last batch had landed
    behind_since: Mapping[Partition, float] = field(default_factory=dict)  # records that have not landed are newer
    stages: Mapping[Stage, StageSeconds] = field(default_factory=dict)
    causes: Mapping[str, BadRecords] = field(default_factory=dict)
    cause_times: Mapping[str, float] = field(default_factory=dict)
    tables: Mapping[str, TableSize] = field(default_factory=dict)
    views: Mapping[str, Figures] = field(default_factory=dict)

    @property
    def lags(self) -> dict[Partition, int]:
        return lag(self.landed, self.ends)

    @property
    def lag(self) -> int | None:
        """The number of offsets that have not landed; None while unknown."""
        return sum(self.lags.values()) if self.ends else None

    def lag_seconds(self, place: Partition, now: float) -> float | None:
        """Return the maximum wait of a partition's records in seconds; None while unknown."""
        if not self.lags[place]:
            return 0.0
        since = self.behind_since.get(place)
        return None if since is None else max(0.0, now - since)

    def longest_lag_seconds(self, now: float) -> float | None:
        """Return the maximum wait over all partitions; None while unknown."""
        return max((lag for place in self.lags if (lag := self.lag_seconds(place, now)) is not None), default=None)


class Observations:
    """Collects what the job, its batches and its views report. Thread-safe. `clock`: seconds of the epoch."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self.state = SinkState(started=clock())

    def set_missing(self, missing: Sequence[str]) -> None:
        """Record the missing topics that the start waits for, empty when it continues."""
        self._change(missing=tuple(missing))

    def record_idle(self) -> None:
        """Record that the query runs, and Kafka has no new records."""
        with self._lock:
            state = self.state
            self.state = replace(state, streaming=True, behind_since=dict.fromkeys(state.ends, self._clock()))

    def lag_seconds(self) -> float:
        """Return the maximum wait of records, NaN while unknown."""
        seconds = self.state.longest_lag_seconds(self._clock())
        return math.nan if seconds is None else seconds

    def landed(self, batch: BatchResult, latest: Offsets) -> None:
        """Record a landed batch. `latest`: Kafka's ends at that time."""
        now = self._clock()
        with self._lock:
            state = self.state
            causes = merged((state.causes, batch.causes))
            batch_causes = {text if text in causes else OTHERS for text in batch.causes}
            self.state = replace(
                state,
                streaming=True,
                rows=state.rows + batch.rows,
                bad=state.bad + batch.bad,
                repeats=state.repeats + batch.repeats,
                lost=state.lost + batch.lost,
                batches=state.batches + (not batch.repeated),
                files=batch.files,
                batch_rows=batch.rows,
                last_batch=now,
                last_bad=now if batch.bad else state.last_bad,
                last_lost=now if batch.lost else state.last_lost,
                landed={**{place: end for place, end in state.landed.items() if place in latest}, **batch.ends},
                ends=dict(latest),
                longest=_delay(now, (records.oldest for records in batch.records.values()), min, state.longest),
                shortest=_delay(now, (records.newest for records in batch.records.values()), max, state.shortest),
                topics=_counted(state.topics, batch),
                behind_since=_behind_since(state.behind_since, batch, latest, now),
                causes=causes,
                cause_times={**state.cause_times, **dict.fromkeys(batch_causes, now)},
                stages=_with(state.stages, batch.stages),
            )

    def reported(self, seconds: float, stages: Mapping[Stage, float]) -> None:
        """Record Spark's report of a batch: its duration, and the stages that only Spark knows."""
        with self._lock:
            self.state = replace(self.state, batch_seconds=seconds, stages=_with(self.state.stages, stages))

    def group_commit_failed(self) -> None:
        """Record that offsets could not be committed to the monitoring group."""
        self._change(last_group_failure=self._clock())

    def tables(self, sizes: Mapping[str, TableSize]) -> None:
        self._change(tables=dict(sizes))

    def views(self, figures: Mapping[str, Figures]) -> None:
        if figures != self.state.views:
            self._change(views=dict(figures))

    def _change(self, **changes: object) -> None:
        with self._lock:
            self.state = replace(self.state, **changes)  # type: ignore[arg-type]  # each caller names fields of SinkState


def _delay(
    now: float, times: Iterable[float | None], pick: Callable[[Iterable[float]], float], before: float | None
) -> float | None:
    """Return the age of a time of the batch; `before` if the batch has none."""
    known = [time for time in times if time is not None]
    return max(0.0, now - pick(known)) if known else before


def _counted(topics: Mapping[str, int], batch: BatchResult) -> dict[str, int]:
    counts = dict(topics)
    for (topic, _), read in batch.records.items():
        counts[topic] = counts.get(topic, 0) + read.count
    return counts


def _behind_since(
    known: Mapping[Partition, float], batch: BatchResult, latest: Offsets, now: float
) -> dict[Partition, float]:
    """Return a time for each partition before all records that have not landed: now if there are none, else Kafka's
    time of the newest landed record, or the last time without lag."""
    behind = lag({**dict.fromkeys(latest, 0), **batch.ends}, latest)
    since = {}
    for place, offsets in behind.items():
        newest = batch.records[place].newest if place in batch.records else None
        times = [now] if not offsets else [time for time in (known.get(place), newest) if time is not None]
        if times:
            since[place] = min(max(times), now)
    return since


def _with(known: Mapping[Stage, StageSeconds], batch: Mapping[Stage, float]) -> dict[Stage, StageSeconds]:
    """Return the stages including another batch, in their order."""
    stages = dict(known)
    for stage, seconds in batch.items():
        before = stages.get(stage, StageSeconds(0.0, 0.0, 0))
        stages[stage] = StageSeconds(seconds, before.total + seconds, before.batches + 1)
    return {stage: stages[stage] for stage in STAGES if stage in stages}
