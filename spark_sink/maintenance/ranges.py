"""The landed offsets that Kafka still has, and the pieces in which a repair reads them again."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from log_shipper.spark_sink.kafka.offsets import LATEST, BrokerOffsets, Offsets, Partition, describe_partitions, flat
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.storage.tables import literal


@dataclass(frozen=True, slots=True)
class Range:
    """The offsets from `starts` up to `ends`, of the same partitions. `shorter`: Kafka's ends where they are before the
    landed ones: the topic was re-created. `notes`: warnings about records left out, or perhaps read unintentionally."""

    starts: dict[Partition, int]
    ends: dict[Partition, int]
    shorter: dict[Partition, int]
    notes: tuple[str, ...]

    @property
    def offsets(self) -> int:
        return sum(self.ends.values()) - sum(self.starts.values())


def range_to_read(
    config: SinkConfig,
    broker: BrokerOffsets,
    partitions: Collection[Partition],
    landed: Offsets,
    recreated: Collection[str] = (),
) -> Range:
    """Return the range to read again.

    `partitions`: the configured ones (`topics.present`); `landed`: the next offset to land of each; `recreated`: topics
    that were re-created since, to which the configured start of the sink does not apply.
    """
    known = set(landed) & set(partitions)
    same = {(topic, number) for topic, number in known if topic not in recreated}
    earliest, latest, begun = broker.earliest(known), broker.latest(known), _begun(config, broker, same)
    starts = {partition: max(earliest[partition], begun.get(partition, 0)) for partition in known}
    ends = {partition: min(landed[partition], latest[partition]) for partition in known}
    left = sorted(partition for partition in known if starts[partition] < ends[partition])
    notes = (*_not_read(set(landed) - known), *_deleted(earliest, begun, landed), *_skipped(config))
    shorter = {partition: end for partition, end in ends.items() if end < landed[partition]}
    return Range(
        {partition: starts[partition] for partition in left},
        {partition: ends[partition] for partition in left},
        shorter,
        notes,
    )


def _begun(config: SinkConfig, broker: BrokerOffsets, same: Collection[Partition]) -> Offsets:
    """Return the configured start of the sink: earlier records do not count as missing."""
    if config.start == "timestamp" and config.start_timestamp is not None:
        latest = broker.latest(same)
        return {**latest, **broker.at_timestamp(same, round(config.start_timestamp.timestamp() * 1000))}
    if config.start == "offsets":
        given = flat(config.start_offsets).items()
        return {partition: offset for partition, offset in given if partition in same and offset >= 0}
    return {}


def _not_read(partitions: Collection[Partition]) -> list[str]:
    if not partitions:
        return []
    return [
        f"{describe_partitions(partitions)} is not read again: it does not exist in Kafka, or is not configured under "
        "`kafka`"
    ]


def _deleted(earliest: Offsets, begun: Offsets, landed: Offsets) -> list[str]:
    cut = [partition for partition, first in sorted(earliest.items()) if first > begun.get(partition, 0)]
    shown = ", ".join(
        f"{describe_partitions([partition])} before {min(earliest[partition], landed[partition]):,}"
        for partition in cut[:5]
    )
    more = f" and of {len(cut) - 5} more" if len(cut) > 5 else ""
    return [f"Kafka has deleted {shown}{more}: rows missing from there are lost"] if cut else []


def _skipped(config: SinkConfig) -> list[str]:
    if config.start == "offsets" and LATEST in flat(config.start_offsets).values():
        where = f"start_offsets: {LATEST}"
    elif config.start in ("latest", "committed"):
        where = f"start: {config.start}"
    else:
        return []
    return [
        f"{where}: records from before the sink's first start count as missing; to exclude them, set start: "
        "timestamp, or start: offsets with numbers, for this command"
    ]


def pieces(starts: Offsets, ends: Offsets, max_offsets: int) -> Iterator[tuple[Offsets, Offsets]]:
    """Yield starts and ends of consecutive ranges, each with at most `max_offsets` over all partitions. Completed
    partitions are left out."""
    done = dict(starts)
    while left := {partition: end - done[partition] for partition, end in ends.items() if done[partition] < end}:
        share = max(1, max_offsets // len(left))
        piece_ends = {partition: done[partition] + min(share, count) for partition, count in left.items()}
        yield {partition: done[partition] for partition in left}, piece_ends
        done |= piece_ends


def within(starts: Offsets, ends: Offsets) -> str:
    """Return a SQL condition that all rows of these ranges meet, and perhaps others of their topics, in a form that
    file statistics can answer. It does not grow with the partitions."""
    names = ", ".join(literal(topic) for topic in sorted({topic for topic, _ in starts}))
    return f"topic IN ({names}) AND kafka_offset BETWEEN {min(starts.values())} AND {max(ends.values()) - 1}"
