"""What Spark calls for each batch: how much of it is to land, and what Kafka and the screen are told afterwards."""

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
    """Ends the query before a batch that is not wanted any more; one that returned undone would be committed."""


class Beginnings(Protocol):
    """What Kafka has first now. `kafka.admin.Admin` is one. May block, and raises SinkError."""

    def earliest(self, partitions: list[Partition]) -> Mapping[Partition, int]: ...


@dataclass
class BatchHandler:
    """Called on a thread of Spark's; the rest is for the job's. A new query has its id when its first batch comes."""

    checkpoint: Checkpoint
    writer: BatchWriter
    stopping: threading.Event
    landed: Callable[[BatchResult], None]  # called after each batch
    begin: Offsets = field(default_factory=dict)  # where a new checkpoint begins, as far as it is known
    bounds: Bounds | None = None
    kafka: Beginnings | None = None  # asked for what was lost; None: losing something ends the query
    ids: Callable[[set[str]], Mapping[str, str]] | None = None  # of topics; may block, and raises SinkError
    idle: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)  # the bounds are reached

    def __post_init__(self) -> None:
        self.idle.set()
        self._query_id = self.checkpoint.query_id()
        self._nameless: set[str] = set()  # topics of a broker that gives no ids
        planned = self.checkpoint.last_planned()
        # The one batch that an earlier run may have begun.
        self._resumed = planned if planned > self.checkpoint.last_committed() else NO_BATCH

    def __call__(self, records: DataFrame, batch: int) -> None:
        self.idle.clear()
        try:
            if self.closing:
                raise Stopped
            self._land(records, batch)
        finally:
            self.idle.set()

    @property
    def closing(self) -> bool:
        """Whether no further batch is to land."""
        return self.stopping.is_set() or self.ended.is_set()

    def between(self, records: DataFrame, ends: Offsets) -> None:
        """Records that are no batch of the query's, up to these ends."""
        self._landed(NO_BATCH, records, ends, Unnamed.NOT_A_BATCH)

    def _land(self, records: DataFrame, batch: int) -> None:
        ends = self.checkpoint.ends(batch)
        txn = self._txn(batch)
        name: CommitName = txn
        if batch == self._resumed and self.writer.has_landed(txn):
            # Only then the marks' ends are this batch's. Others may be ahead of it and say nothing of its rows.
            records = records.where(f"NOT ({Bounds(self.writer.marks.ends).below()})")
            name = Unnamed.NAME_IS_USED  # what the batch was cut short of may follow without one
        self._landed(batch, records, ends, name)

    def _landed(self, batch: int, records: DataFrame, ends: Offsets, name: CommitName) -> None:
        starts = {**self.begin, **self.writer.marks.ends}
        self._meet({topic for topic, _ in ends} - self.writer.marks.topics.keys() - self._nameless)
        if self.bounds is not None and self.bounds.passed(ends):
            records, ends = records.where(self.bounds.below()), self.bounds.cut(ends, starts)
        landed = self.writer.land(records, ends, name, lambda: self._lost(records, starts, ends))
        again = name is Unnamed.NAME_IS_USED and not landed.rows + landed.bad
        self.landed(replace(landed, batch=batch, repeated=again))
        if self.bounds is not None and self.bounds.reached(self.writer.marks.ends):
            self.ended.set()

    def _meet(self, topics: set[str]) -> None:
        """Note which topics these are that were found while the query runs, so that one that is made anew is known."""
        if not topics or self.ids is None:
            return
        try:
            self.writer.marks.note_topics(self.ids(topics))
        except SinkError:  # one of them is gone already: asked again with the next batch
            return
        self._nameless |= topics - self.writer.marks.topics.keys()

    def _txn(self, batch: int) -> TxnId:
        self._query_id = self._query_id or self.checkpoint.query_id()
        if self._query_id is None:
            raise translate("its file metadata is gone", f"cannot go on with the checkpoint {self.checkpoint.path}")
        return TxnId(self._query_id, batch)

    def _lost(self, records: DataFrame, starts: Offsets, ends: Offsets) -> list[Lost]:
        """What Kafka deleted before this batch could read it; asked when its rows are written."""
        if self.kafka is None or not starts:
            return []
        # Nothing was read of the others; and one whose topic is gone by now would make the question fail.
        earliest = self.kafka.earliest([at for at, end in ends.items() if end != starts.get(at, 0)])
        if not lost.suspects(starts, ends, earliest):
            return []
        first = records.groupBy("topic", "partition").agg(F.min("offset").alias("first")).collect()
        return lost.ranges(starts, ends, {(row.topic, row.partition): row.first for row in first}, earliest)
