"""The callback that Spark calls for each batch. It decides how much of the batch is to land, and reports the result."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_sink.delta import NO_BATCH, TxnId
from spark_sink.errors import SinkError, translate
from spark_sink.kafka import lost
from spark_sink.kafka.bounds import Bounds
from spark_sink.kafka.lost import Lost
from spark_sink.kafka.offsets import Offsets, Partition
from spark_sink.landing.batch_writer import BatchResult, BatchWriter
from spark_sink.landing.staged import CommitName, Unnamed
from spark_sink.storage.checkpoint import Checkpoint


class Stopped(Exception):
    """Raised to end the query before a batch that is no longer wanted; one that returned undone would be committed."""


class BatchBroker(Protocol):
    """The questions of a batch to Kafka. `Admin` is the implementation. Each method may block, and raises SinkError."""

    def earliest(self, partitions: list[Partition]) -> Mapping[Partition, int]:
        """Return the first offset that Kafka has now of each partition."""
        ...

    def ids(self, topics: set[str]) -> Mapping[str, str]:
        """Return Kafka's id of each topic, "" where it has none."""
        ...


@dataclass(frozen=True, slots=True)
class BatchRange:
    """The offsets that are to land. `starts`: where a new checkpoint begins, as far as that is known;
    `bounds`: where the run is to end; `may_lose`: what Kafka deleted before it was read is recorded, and the query
    continues without it."""

    starts: Offsets = field(default_factory=dict)
    bounds: Bounds | None = None
    may_lose: bool = False


@dataclass
class BatchHandler:
    """Spark calls it on a thread of its own; the methods and events are for the job's thread."""

    checkpoint: Checkpoint
    writer: BatchWriter
    stopping: threading.Event
    on_landed: Callable[[BatchResult], None]  # called after each batch
    broker: BatchBroker
    range: BatchRange = BatchRange()
    idle: threading.Event = field(default_factory=threading.Event, init=False)
    ended: threading.Event = field(default_factory=threading.Event, init=False)  # the bounds are reached

    def __post_init__(self) -> None:
        self.idle.set()
        self._query_id = self.checkpoint.query_id()  # None until the first batch of a new query
        self._topics_without_id: set[str] = set()
        planned = self.checkpoint.last_planned()
        # The one batch that an earlier run may have begun.
        self._resumed = planned if planned > self.checkpoint.last_committed() else NO_BATCH

    def __call__(self, records: DataFrame, batch: int) -> None:
        self.idle.clear()
        try:
            if self.closing:
                raise Stopped
            self._land_batch(records, batch)
        finally:
            self.idle.set()

    @property
    def closing(self) -> bool:
        """True if no further batch is to land."""
        return self.stopping.is_set() or self.ended.is_set()

    def land_between(self, records: DataFrame, ends: Offsets) -> None:
        """Land records that are not a batch of the query, up to these ends."""
        self._land(NO_BATCH, records, ends, Unnamed.NOT_A_BATCH)

    def _land_batch(self, records: DataFrame, batch: int) -> None:
        ends = self.checkpoint.ends(batch)
        txn = self._txn(batch)
        name: CommitName = txn
        if batch == self._resumed and self.writer.has_landed(txn):
            # Only then the ends in the marks are those of this batch.
            records = records.where(f"NOT ({Bounds(self.writer.marks.ends).below()})")
            name = Unnamed.NAME_IS_USED  # the remainder of the batch is committed without a name
        self._land(batch, records, ends, name)

    def _land(self, batch: int, records: DataFrame, ends: Offsets, name: CommitName) -> None:
        starts, bounds = {**self.range.starts, **self.writer.marks.ends}, self.range.bounds
        self._note_new_topics({topic for topic, _ in ends})
        if bounds is not None and bounds.passed(ends):
            records, ends = records.where(bounds.below()), bounds.cut(ends, starts)
        result = self.writer.land(records, ends, name, lambda: self._lost(records, starts, ends))
        repeated = name is Unnamed.NAME_IS_USED and not result.rows + result.bad
        self.on_landed(replace(result, batch=batch, repeated=repeated))
        if bounds is not None and bounds.reached(self.writer.marks.ends):
            self.ended.set()

    def _note_new_topics(self, topics: set[str]) -> None:
        """Note the ids of topics that appeared while the query runs, so that one that is re-created is recognised."""
        unknown = topics - self.writer.marks.topics.keys() - self._topics_without_id
        if not unknown:
            return
        try:
            self.writer.marks.note_topics(self.broker.ids(unknown))
        except SinkError:  # one of them has been deleted already: retried with the next batch
            return
        self._topics_without_id |= unknown - self.writer.marks.topics.keys()

    def _txn(self, batch: int) -> TxnId:
        self._query_id = self._query_id or self.checkpoint.query_id()
        if self._query_id is None:
            raise translate("its file metadata is missing", f"cannot resume from the checkpoint {self.checkpoint.path}")
        return TxnId(self._query_id, batch)

    def _lost(self, records: DataFrame, starts: Offsets, ends: Offsets) -> list[Lost]:
        """Return what Kafka deleted before this batch could read it. To be called when the rows are written."""
        if not self.range.may_lose or not starts:
            return []
        # Nothing was read of the others; and one whose topic has been deleted since would make the call fail.
        read = [partition for partition, end in ends.items() if end != starts.get(partition, 0)]
        earliest = self.broker.earliest(read)
        if not lost.suspects(starts, ends, earliest):
            return []
        first = records.groupBy("topic", "partition").agg(F.min("offset").alias("first")).collect()
        return lost.ranges(starts, ends, {(row.topic, row.partition): row.first for row in first}, earliest)
