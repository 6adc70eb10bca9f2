"""The ranges of offsets that have landed and that Kafka still has, and the pieces in which they are read again."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from log_shipper.spark_sink.kafka.offsets import LATEST, BrokerOffsets, Offsets, Partition, describe_partitions, flat
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.storage.tables import literal


@dataclass(frozen=True, slots=True)
class Range:
    """From `starts` up to `ends`, of the same partitions. `shorter`: Kafka's ends of partitions of which more has
    landed: their topic was re-created. `notes`: what is left out, and what is read although it may not be wanted."""

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
    """Return the range that is to be read again.

    `partitions`: those that are read (`topics.present`); `landed`: the next offset to land of each; `recreated`: topics
    that were re-created since, to which the configured start of the sink does not apply.
    """
    wanted = set(landed) & set(partitions)
    same = {(topic, number) for topic, number in wanted if topic not in recreated}
    earliest, latest, begun = broker.earliest(wanted), broker.latest(wanted), _begun(config, broker, same)
    starts = {partition: max(earliest[partition], begun.get(partition, 0)) for partition in wanted}
    ends = {partition: min(landed[partition], latest[partition]) for partition in wanted}
    left = sorted(partition for partition in wanted if starts[partition] < ends[partition])
    notes = (*_not_read(set(landed) - wanted), *_deleted(earliest, begun, landed), *_skipped(config))
    shorter = {partition: end for partition, end in ends.items() if end < landed[partition]}
    return Range(
        {partition: starts[partition] for partition in left},
        {partition: ends[partition] for partition in left},
        shorter,
        notes,
    )


def _begun(config: SinkConfig, broker: BrokerOffsets, same: Collection[Partition]) -> Offsets:
    """Return where the sink was configured to begin: records before that are not missing."""
    if config.start == "timestamp" and config.start_timestamp is not None:
        latest = broker.latest(same)
        return {**latest, **broker.at_timestamp(same, round(config.start_timestamp.timestamp() * 1000))}
    if config.start == "offsets":
        return {partition: offset for partition, offset in flat(config.start_offsets).items() if partition in same}
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


def pieces(starts: Offsets, ends: Offsets, most: int) -> Iterator[tuple[Offsets, Offsets]]:
    """Yield starts and ends of consecutive ranges, each of `most` offsets at most over all partitions. A partition that
    is complete is left out."""
    done = dict(starts)
    while left := {partition: end - done[partition] for partition, end in ends.items() if done[partition] < end}:
        share = max(1, most // len(left))
        piece_ends = {partition: done[partition] + min(share, count) for partition, count in left.items()}
        yield {partition: done[partition] for partition in left}, piece_ends
        done |= piece_ends


def within(starts: Offsets, ends: Offsets) -> str:
    """Return a condition of SQL that holds for all rows of these ranges, and for others of their topics, in a form that
    file statistics can answer: it does not grow with the partitions."""
    names = ", ".join(literal(topic) for topic in sorted({topic for topic, _ in starts}))
    return f"topic IN ({names}) AND kafka_offset BETWEEN {min(starts.values())} AND {max(ends.values()) - 1}"
