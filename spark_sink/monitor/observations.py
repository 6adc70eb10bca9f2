"""What was seen of the running sink, for its page. Each change makes a new `Seen`, so that the threads that read it
share no lock with the thread that lands."""

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
    """How long a stage took: in the last batch, and in all batches together."""

    last: float
    total: float
    batches: int

    @property
    def mean(self) -> float:
        return self.total / self.batches


@dataclass(frozen=True, slots=True)
class Seen:
    """The counts since the start, and the newest state. Times are of the epoch, None before the first event."""

    started: float
    streaming: bool = False  # the query runs: the start is over
    missing: tuple[str, ...] = ()  # topics and partitions that the start waits for
    rows: int = 0
    bad: int = 0
    repeats: int = 0
    lost: int = 0
    batches: int = 0
    files: int = 0  # log files that are remembered
    batch_rows: int = 0  # of the last batch
    batch_seconds: float | None = None
    last_batch: float | None = None
    last_bad: float | None = None
    last_lost: float | None = None
    last_group_failure: float | None = None
    longest: float | None = None  # of the last batch: seconds from Kafka's time of its oldest record to its landing,
    shortest: float | None = None  # and of its newest one
    topics: Mapping[str, int] = field(default_factory=dict)  # records
    landed: Offsets = field(default_factory=dict)
    ends: Offsets = field(default_factory=dict)  # of the topics, when the last batch had landed
    behind_since: Mapping[Partition, float] = field(default_factory=dict)  # what has not landed came later
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
        """The offsets that have not landed; None before it is known."""
        return sum(self.lags.values()) if self.ends else None

    def lag_seconds(self, place: Partition, now: float) -> float | None:
        """Return for how long at most records of a partition have waited; None where it is unknown."""
        if not self.lags[place]:
            return 0.0
        since = self.behind_since.get(place)
        return None if since is None else max(0.0, now - since)

    def longest_lag_seconds(self, now: float) -> float | None:
        """Return the longest time of all partitions; None where none is known."""
        return max((lag for place in self.lags if (lag := self.lag_seconds(place, now)) is not None), default=None)


class Observations:
    """Collects what the job, its batches and its views report. Thread-safe. `clock`: seconds of the epoch."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self.seen = Seen(started=clock())

    def set_missing(self, missing: Sequence[str]) -> None:
        """Record what the start waits for; nothing when the wait is over."""
        self._change(missing=tuple(missing))

    def record_idle(self) -> None:
        """Record that the query runs, and Kafka has nothing new."""
        with self._lock:
            seen = self.seen
            self.seen = replace(seen, streaming=True, behind_since=dict.fromkeys(seen.ends, self._clock()))

    def lag_seconds(self) -> float:
        """Return the longest time that records have waited, NaN where it is unknown."""
        seconds = self.seen.longest_lag_seconds(self._clock())
        return math.nan if seconds is None else seconds

    def landed(self, batch: BatchResult, latest: Offsets) -> None:
        """Record a batch that has landed. `latest`: where the topics ended by then."""
        now = self._clock()
        with self._lock:
            seen = self.seen
            causes = merged((seen.causes, batch.causes))
            seen_now = {text if text in causes else OTHERS for text in batch.causes}
            self.seen = replace(
                seen,
                streaming=True,
                rows=seen.rows + batch.rows,
                bad=seen.bad + batch.bad,
                repeats=seen.repeats + batch.repeats,
                lost=seen.lost + batch.lost,
                batches=seen.batches + (not batch.repeated),
                files=batch.files,
                batch_rows=batch.rows,
                last_batch=now,
                last_bad=now if batch.bad else seen.last_bad,
                last_lost=now if batch.lost else seen.last_lost,
                landed={**{place: end for place, end in seen.landed.items() if place in latest}, **batch.ends},
                ends=dict(latest),
                longest=_delay(now, (records.oldest for records in batch.records.values()), min, seen.longest),
                shortest=_delay(now, (records.newest for records in batch.records.values()), max, seen.shortest),
                topics=_counted(seen.topics, batch),
                behind_since=_behind_since(seen.behind_since, batch, latest, now),
                causes=causes,
                cause_times={**seen.cause_times, **dict.fromkeys(seen_now, now)},
                stages=_with(seen.stages, batch.stages),
            )

    def reported(self, seconds: float, stages: Mapping[Stage, float]) -> None:
        """Record what Spark reports of a batch: how long it took, and the stages that only Spark knows."""
        with self._lock:
            self.seen = replace(self.seen, batch_seconds=seconds, stages=_with(self.seen.stages, stages))

    def group_commit_failed(self) -> None:
        """Record that offsets could not be committed to the monitoring group."""
        self._change(last_group_failure=self._clock())

    def tables(self, sizes: Mapping[str, TableSize]) -> None:
        self._change(tables=dict(sizes))

    def views(self, figures: Mapping[str, Figures]) -> None:
        if figures != self.seen.views:
            self._change(views=dict(figures))

    def _change(self, **changes: object) -> None:
        with self._lock:
            self.seen = replace(self.seen, **changes)  # type: ignore[arg-type]  # each caller names fields of Seen


def _delay(
    now: float, times: Iterable[float | None], pick: Callable[[Iterable[float]], float], before: float | None
) -> float | None:
    """Return how long ago a time of the batch is; what it was before where the batch has none."""
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
    """Return a time for each partition after which all came that has not landed: now if nothing is behind, else Kafka's
    time of the newest record that has landed, or the last time at which nothing was behind."""
    behind = lag({**dict.fromkeys(latest, 0), **batch.ends}, latest)
    since = {}
    for place, offsets in behind.items():
        newest = batch.records[place].newest if place in batch.records else None
        times = [now] if not offsets else [time for time in (known.get(place), newest) if time is not None]
        if times:
            since[place] = min(max(times), now)
    return since


def _with(known: Mapping[Stage, StageSeconds], batch: Mapping[Stage, float]) -> dict[Stage, StageSeconds]:
    """Return the stages with those of one more batch, in their order."""
    stages = dict(known)
    for stage, seconds in batch.items():
        before = stages.get(stage, StageSeconds(0.0, 0.0, 0))
        stages[stage] = StageSeconds(seconds, before.total + seconds, before.batches + 1)
    return {stage: stages[stage] for stage in STAGES if stage in stages}
