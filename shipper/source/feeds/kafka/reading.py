"""How a partition is read: blocks of records become batches, by way of the parsers."""

from collections.abc import Iterator

from config.shipper.feeds.kafka import KafkaInputConfig
from shipper.event import Batch
from shipper.reader import chain
from shipper.reader.base import Reader
from shipper.source.base import SourceContext
from shipper.source.feeds.kafka.partition import Block, Partition
from shipper.source.feeds.kafka.records import CutReader, RecordReader

MEMBERS_OVERHEAD = 800  # bytes of memory of the members that each event has of its own


class PartitionReading:
    """Used by the reading thread."""

    def __init__(self, partition: Partition, config: KafkaInputConfig, max_bytes: int, context: SourceContext) -> None:
        self.partition = partition
        self._clock = context.clock
        self._records = RecordReader(partition.place, max_bytes)
        shared = partition.source.constants.members
        reader: Reader = chain.parse(self._records, config, max_bytes, context.clock, shared, context.metrics)
        self._reader = CutReader(reader, max_bytes) if config.parsers else reader

    def batches(self, block: Block) -> Iterator[Batch]:
        """Yield what a block becomes. All of it is tracked before the first is yielded."""
        partition, batches = self.partition, []
        try:
            self._records.give(_start(partition, block), block)
            while (messages := self._reader.next()) is not None:
                resolve = partition.track(messages.start, messages.end, self._clock.monotonic())
                if messages.texts:
                    batch = Batch(partition.source, messages, self._clock.time(), resolve)
                    batch.raw, batch.grown = block.size, MEMBERS_OVERHEAD * batch.events
                    batches.append(batch)
                else:
                    resolve()  # a gap, or records that a parser dropped
        finally:
            partition.taken()
        yield from batches


def _start(partition: Partition, block: Block) -> int:
    """Return where the block before ended; for the first one of a partition, where that begins."""
    if partition.ledger is not None:
        return partition.ledger.tracked
    if partition.position is not None:
        return partition.position
    return block.records[0].offset() if block.records else block.end  # type: ignore[return-value]  # a record has one
