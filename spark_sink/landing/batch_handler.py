"""The callback that Spark calls for each batch. It decides how much of the batch is to land, and reports the result.

A batch is what lies between the offsets that have landed, which the marks say, and its ends, which Spark has written to
its checkpoint.
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
    """Raised to end the query before a batch that is no longer wanted; one that returned undone would be committed."""


class BatchBroker(Protocol):
    """The question of a batch to Kafka. `Admin` is the implementation."""

    def ids(self, topics: set[str]) -> Mapping[str, str]:
        """Return Kafka's id of each topic, "" where it has none. May block, and raises SinkError."""
        ...


@dataclass
class BatchHandler:
    """Spark calls it on a thread of its own; the methods and events are for the job's thread."""

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
        # The one batch that an earlier run may have begun.
        self._resumed = planned if planned > self.checkpoint.last_committed() else NO_BATCH

    def __call__(self, nothing: object, batch: int) -> None:
        """Land a batch. The source of the query has no rows: only the number counts."""
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
        """Land records that are not a batch of the query, up to these ends."""
        self._land(NO_BATCH, ends, Unnamed.NOT_A_BATCH)

    def _land_batch(self, batch: int) -> None:
        txn = self._txn(batch)
        if self.writer.tables.config.fsync:
            self.checkpoint.sync(batch)  # else a table could name a batch that the checkpoint does not know
        name: CommitName = txn
        if batch == self._resumed and self.writer.has_landed(txn):
            name = Unnamed.NAME_IS_USED  # the remainder of the batch, if there is one, is committed without a name
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
