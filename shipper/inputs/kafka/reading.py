"""Make batches of a partition's blocks of records, through the parsers.

A message that parsers join may be pending. It ends by its content; else by time, once all existing records were read,
or if too much is pending. A second reading could end it elsewhere, so it is *parked* until the group has that cut (with
transactions it has it with the message). Pending and parked records are not tracked: the position stays before them,
and the next member of the partition reads them again.
"""

from collections.abc import Sequence
from functools import partial

from log_shipper.shipper.event import Batch, Messages
from log_shipper.shipper.inputs.base import SourceContext
from log_shipper.shipper.inputs.kafka.options import KafkaInputConfig
from log_shipper.shipper.inputs.kafka.partition import Block, Partition
from log_shipper.shipper.inputs.kafka.records import RecordReader
from log_shipper.shipper.reader import chain
from log_shipper.shipper.reader.base import MappedReader, Reader
from log_shipper.shipper.reader.chain import max_line_bytes, max_timeout
from log_shipper.shipper.reader.limit import cut_texts

NEVER = float("inf")
MEMBERS_OVERHEAD = 800  # bytes of memory of each event's own fields
LINE_OVERHEAD = 100  # bytes of memory of a pending line in addition to its content


class PartitionReading:
    """The reading of a partition. Used by the reading thread. `pending_bytes`: approximate memory of its pending
    message."""

    def __init__(self, partition: Partition, config: KafkaInputConfig, max_bytes: int, context: SourceContext) -> None:
        self.partition = partition
        self.pending_bytes = 0
        self._clock = context.clock
        self._timeout = None if context.once else max_timeout(config.parsers)
        self._records = RecordReader(partition.place, max_line_bytes(config.parsers, max_bytes))
        shared = partition.source.constants.members
        reader: Reader = chain.parse(self._records, config, max_bytes, context.clock, shared, context.metrics)
        if config.parsers:  # what parsers make longer: the chain counts records here
            reader = MappedReader(reader, partial(cut_texts, max_bytes=max_bytes))
        self._reader = reader
        self._read_to: int | None = None
        self._raw = 0  # bytes that were read, and belong to no batch yet
        self._parked: Messages | None = None

    @property
    def is_ready(self) -> bool:
        """Return True if `read` has something to do."""
        if self._parked is not None:
            return self.partition.cut(self._parked.end)
        return self.partition.has_blocks or self.due <= self._clock.monotonic()

    @property
    def due(self) -> float:
        """The monotonic time at which the pending message is ended, if nothing comes."""
        partition = self.partition
        if self._parked is not None or not partition.is_pending or not partition.is_read_up:
            return NEVER
        since = self._reader.pending_since
        if partition.stopped:
            return 0.0
        return NEVER if since is None or self._timeout is None else since + self._timeout

    def read(self) -> tuple[list[Batch], int]:
        """Return the next batches, all of which are tracked, and the bytes of memory that were taken."""
        if self._parked is not None:
            return self._release(), 0
        block = self.partition.next_block()  # the next record of a due message may have come by now
        if block is not None:
            return self._batches(block), block.bytes
        return self.end_message() if self.due <= self._clock.monotonic() else [], 0

    def end_message(self) -> list[Batch]:
        """End the pending message, and return its batches, unless it is parked."""
        messages = self._reader.finish() if self._parked is None else None
        if messages is None:
            return []
        self._parked, self.pending_bytes = messages, 0
        return self._release() if self.partition.cut(messages.end) else []

    def _release(self) -> list[Batch]:
        parked, self._parked = self._parked, None
        if parked is None or not self.partition.may_send_parked():
            return []
        try:
            return self._tracked([parked], 0)
        finally:
            self.partition.note_tracked()

    def _batches(self, block: Block) -> list[Batch]:
        partition, runs = self.partition, []
        try:
            start = self._read_to if self._read_to is not None else _start(partition, block)
            self._records.load(start, block, partition.cuts)
            while (messages := self._reader.next()) is not None:
                runs.append(messages)
            self._read_to = block.end
            self._raw += block.size
            return self._tracked(runs, block.size + LINE_OVERHEAD * len(block.records))
        finally:
            partition.note_tracked()

    def _tracked(self, runs: Sequence[Messages], read: int) -> list[Batch]:
        """Return the batches of these runs. `read`: the memory of their records in bytes."""
        partition, batches, before = self.partition, [], self.partition.next_to_give
        for messages in runs:
            resolve = partition.track(messages.start, messages.end, self._clock.monotonic())
            if messages.texts:
                batch = Batch(partition.source, messages, self._clock.time(), resolve)
                batch.raw, batch.grown, self._raw = self._raw, MEMBERS_OVERHEAD * batch.events, 0
                batches.append(batch)
            else:
                resolve()  # a gap, records that a parser dropped, or the beginning of a message
        end = partition.next_to_give
        partition.is_pending = self._read_to is not None and end < self._read_to
        if not partition.is_pending:
            self.pending_bytes = self._raw = 0
        else:
            self.pending_bytes = read if end > before else self.pending_bytes + read
        return batches


def _start(partition: Partition, block: Block) -> int:
    """Return the start of the first block of a partition."""
    if partition.ledger is not None:
        return partition.ledger.tracked
    if partition.position is not None:
        return partition.position
    return block.records[0].offset() if block.records else block.end  # type: ignore[return-value]  # a record has one
