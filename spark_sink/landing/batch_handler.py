"""The callback for each micro-batch (`foreachBatch`). It decides how much of the batch lands, and reports the result.

A batch begins at the landed offsets in the marks, and ends at the offsets that Spark has written to its checkpoint.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from log_shipper.spark_sink.errors import SinkError, translate
from log_shipper.spark_sink.kafka.bounds import Bounds
from log_shipper.spark_sink.kafka.offset_ranges import ranges_between
from log_shipper.spark_sink.kafka.offsets import Offsets
from log_shipper.spark_sink.landing.batch_writer import BatchResult, BatchWriter
from log_shipper.spark_sink.storage.checkpoint import Checkpoint
from log_shipper.spark_sink.storage.tables import NO_BATCH, CommitName, TxnId, Unnamed


class Stopped(Exception):
    """Raised to end the query before a batch that must not land: if the callback returned, Spark would commit it."""


class BatchBroker(Protocol):
    """The part of `Admin` that a batch needs."""

    def ids(self, topics: set[str]) -> Mapping[str, str]:
        """Return Kafka's id of each topic, "" where it has none. May block, and raises SinkError."""
        ...


@dataclass
class BatchHandler:
    """Spark calls the handler on its own thread; the methods and events are for the job's thread."""

    checkpoint: Checkpoint
    writer: BatchWriter
    stopping: threading.Event
    on_landed: Callable[[BatchResult], None]  # called after each batch
    broker: BatchBroker
    bounds: Bounds | None = None
    idle: threading.Event = field(default_factory=threading.Event, init=False)
    ended: threading.Event = field(default_factory=threading.Event, init=False)  # the bounds are reached

    def __post_init__(self) -> None:
        self.idle.set()
        self._query_id = self.checkpoint.query_id()  # None until the first batch of a new query
        self._topics_without_id: set[str] = set()
        planned = self.checkpoint.last_planned()
        # Only this batch may have been started by an earlier run.
        self._resumed = planned if planned > self.checkpoint.last_committed() else NO_BATCH

    def __call__(self, nothing: object, batch: int) -> None:
        """Land a batch. Only its number matters: the query's source yields no rows."""
        self.idle.clear()
        try:
            if self.closing:
                raise Stopped
            self._land_batch(batch)
        finally:
            self.idle.set()

    @property
    def closing(self) -> bool:
        """True if no further batch is to land."""
        return self.stopping.is_set() or self.ended.is_set()

    def land_until(self, ends: Offsets) -> None:
        """Land records up to these ends, outside the query's batches."""
        self._land(NO_BATCH, ends, Unnamed.NOT_A_BATCH)

    def _land_batch(self, batch: int) -> None:
        txn = self._txn(batch)
        if self.writer.tables.config.fsync:
            self.checkpoint.sync(batch)  # else, after a power cut, a table could have a batch unknown to the checkpoint
        name: CommitName = txn
        if batch == self._resumed and self.writer.has_landed(txn):
            name = Unnamed.NAME_IS_USED  # the rest of the batch, if any, is committed without a transaction id
        self._land(batch, self.checkpoint.ends(batch), name)

    def _land(self, batch: int, ends: Offsets, name: CommitName) -> None:
        starts = dict(self.writer.marks.ends)
        self._note_new_topics({topic for topic, _ in ends})
        if self.bounds is not None:
            ends = self.bounds.cut(ends, starts)
        result = self.writer.land(ranges_between(starts, ends), ends, name)
        repeated = name is Unnamed.NAME_IS_USED and not result.rows + result.bad + result.tombstones
        self.on_landed(replace(result, batch=batch, repeated=repeated))
        if self.bounds is not None and self.bounds.reached(self.writer.marks.ends):
            self.ended.set()

    def _note_new_topics(self, topics: set[str]) -> None:
        """Note the ids of topics that appeared during the run, to recognise when one is re-created."""
        unknown = topics - self.writer.marks.topics.keys() - self._topics_without_id
        if not unknown:
            return
        try:
            self.writer.marks.note_topics(self.broker.ids(unknown))
        except SinkError:  # one of the topics is already deleted: retried with the next batch
            return
        self._topics_without_id |= unknown - self.writer.marks.topics.keys()

    def _txn(self, batch: int) -> TxnId:
        self._query_id = self._query_id or self.checkpoint.query_id()
        if self._query_id is None:
            raise translate("its file metadata is missing", f"cannot resume from the checkpoint {self.checkpoint.path}")
        return TxnId(self._query_id, batch)
