"""The end of a run: `stop: available-now`, `offsets` and `timestamp`.

No batch is planned beyond the bounds, and the query ends once a batch has reached all of them (`reached`). A batch that
an earlier run planned without these bounds lands only up to them (`cut`), although the checkpoint records all of it as
read. The next run without these bounds finds the remaining records (`not_landed`), and lands them before its stream.

The bounds are resolved once, at the start. A partition that appears later has no bound, and none of its records land.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from log_shipper.spark_sink.errors import Refused
from log_shipper.spark_sink.kafka.offsets import (
    NO_OFFSETS,
    BrokerOffsets,
    Offsets,
    Partition,
    describe_partitions,
    flat,
)
from log_shipper.spark_sink.options.model import SinkConfig


@dataclass(frozen=True, slots=True)
class Bounds:
    """The first offset of each partition that must not land."""

    ends: Offsets
    notes: tuple[str, ...] = ()

    def reached(self, *read: Offsets) -> bool:
        """Return True if no records are left below the bounds. `read`: read offsets, start offsets or Kafka's first
        offsets; the highest counts. Call it before the first batch, too: without records there is no batch."""
        return all(
            max((offsets.get(partition, 0) for offsets in read), default=0) >= end
            for partition, end in self.ends.items()
        )

    def cut(self, read: Offsets, landed: Offsets = NO_OFFSETS) -> dict[Partition, int]:
        """Return the ends of a batch within the bounds. `read`: its planned ends; `landed`: the ends before it, or the
        start of the first batch: records before that count as landed even beyond the bound."""
        return {
            partition: min(end, max(self.ends.get(partition, 0), landed.get(partition, 0)))
            for partition, end in read.items()
        }


def not_landed(landed: Offsets, read: Offsets) -> dict[Partition, int]:
    """Return the ends of read offsets that have not landed: empty except after a run with bounds."""
    return {partition: end for partition, end in read.items() if landed.get(partition, end) < end}


def resolve(config: SinkConfig, broker: BrokerOffsets, partitions: Collection[Partition]) -> Bounds | None:
    """Return None without bounds. Raises Refused."""
    match config.stop:
        case "available-now":
            return Bounds(broker.latest(partitions))
        case "offsets":
            return _from_offsets(config, partitions)
        case "timestamp":
            return _from_timestamp(config, broker, partitions)
        case _:
            return None


def _from_offsets(config: SinkConfig, partitions: Collection[Partition]) -> Bounds:
    ends: Mapping[Partition, int] = flat(config.stop_offsets)
    if unknown := set(ends) - set(partitions):
        raise Refused(
            f"stop_offsets has offsets for {describe_partitions(unknown)}: not found in Kafka, or not selected under "
            "kafka. Correct stop_offsets"
        )
    if without := set(partitions) - set(ends):
        raise Refused(
            f"stop_offsets has no end for {describe_partitions(without)}: set one; 0 lands nothing of a partition"
        )
    return Bounds(ends)


def _from_timestamp(config: SinkConfig, broker: BrokerOffsets, partitions: Collection[Partition]) -> Bounds:
    """Return bounds at the first record of that time or later, even if older ones follow: the end must be the same in
    every batch."""
    assert config.stop_timestamp is not None  # the configuration's own check
    latest = broker.latest(partitions)
    by_time = broker.at_timestamp(partitions, round(config.stop_timestamp.timestamp() * 1000))
    open_ended = set(partitions) - set(by_time)
    note = f"{describe_partitions(open_ended)} has no record at or after stop_timestamp; stopping at its current end"
    return Bounds({**latest, **by_time}, (note,) if open_ended else ())
