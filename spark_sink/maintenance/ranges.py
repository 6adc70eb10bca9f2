"""What Kafka still has of what has landed, and in which pieces it is read again."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F

from config.sink.model import SinkConfig
from spark_sink.kafka.offsets import LATEST, Offsets, Partition, describe_partitions, flat


class Broker(Protocol):
    """What Kafka has. `Admin` is one. Each method may block, and raises SinkError."""

    def earliest(self, partitions: Collection[Partition]) -> Mapping[Partition, int]: ...

    def latest(self, partitions: Collection[Partition]) -> Mapping[Partition, int]: ...

    def at(self, partitions: Collection[Partition], milliseconds: int) -> Mapping[Partition, int]: ...


@dataclass(frozen=True, slots=True)
class Range:
    """From `starts` up to `ends`, of the same partitions. `shorter`: where Kafka ends, of partitions of which more has
    landed: their topic was re-created. `notes` say what is left out, or comes unasked."""

    starts: dict[Partition, int]
    ends: dict[Partition, int]
    shorter: dict[Partition, int]
    notes: tuple[str, ...]

    @property
    def offsets(self) -> int:
        return sum(self.ends.values()) - sum(self.starts.values())


def readable(
    config: SinkConfig,
    broker: Broker,
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
    starts = {at: max(earliest[at], begun.get(at, 0)) for at in wanted}
    ends = {at: min(landed[at], latest[at]) for at in wanted}
    left = sorted(at for at in wanted if starts[at] < ends[at])
    notes = (*_not_read(set(landed) - wanted), *_deleted(earliest, begun, landed), *_skipped(config))
    shorter = {at: end for at, end in ends.items() if end < landed[at]}
    return Range({at: starts[at] for at in left}, {at: ends[at] for at in left}, shorter, notes)


def _begun(config: SinkConfig, broker: Broker, same: Collection[Partition]) -> Offsets:
    """Return where the sink was configured to begin: what lies before that is not missing."""
    if config.start == "timestamp" and config.start_timestamp is not None:
        latest = broker.latest(same)
        return {**latest, **broker.at(same, round(config.start_timestamp.timestamp() * 1000))}
    if config.start == "offsets":
        return {at: offset for at, offset in flat(config.start_offsets).items() if at in same}
    return {}


def _not_read(partitions: Collection[Partition]) -> list[str]:
    if not partitions:
        return []
    return [
        f"{describe_partitions(partitions)} is not read again: Kafka does not have it, or "
        "`kafka` in the configuration does not name it"
    ]


def _deleted(earliest: Offsets, begun: Offsets, landed: Offsets) -> list[str]:
    cut = [at for at, first in sorted(earliest.items()) if first > begun.get(at, 0)]
    shown = ", ".join(f"{describe_partitions([at])} before {min(earliest[at], landed[at]):,}" for at in cut[:5])
    more = f" and of {len(cut) - 5} more" if len(cut) > 5 else ""
    return [f"Kafka has deleted {shown}{more}: what the tables lack of that stays lost"] if cut else []


def _skipped(config: SinkConfig) -> list[str]:
    if config.start == "offsets" and LATEST in flat(config.start_offsets).values():
        where = f"start_offsets: {LATEST}"
    elif config.start in ("latest", "committed"):
        where = f"start: {config.start}"
    else:
        return []
    return [
        f"{where}: what lay there before the sink began counts as missing; to leave it out, set start: timestamp, or "
        "start: offsets with numbers, for this command"
    ]


def pieces(starts: Offsets, ends: Offsets, most: int) -> Iterator[tuple[Offsets, Offsets]]:
    """Yield consecutive ranges of all partitions, of at most so many offsets together; without partitions that are
    complete."""
    done = dict(starts)
    while left := {partition: end - done[partition] for partition, end in ends.items() if done[partition] < end}:
        share = max(1, most // len(left))
        piece_ends = {partition: done[partition] + min(share, count) for partition, count in left.items()}
        yield {partition: done[partition] for partition in left}, piece_ends
        done |= piece_ends


def within(starts: Offsets, ends: Offsets) -> Column:
    """Return a condition on topic, partition and kafka_offset, in a form that file statistics can answer."""
    condition = F.lit(False)
    for (topic, number), first in starts.items():
        offset = F.col("kafka_offset").between(first, ends[topic, number] - 1)
        condition |= (F.col("topic") == topic) & (F.col("partition") == number) & offset
    return condition
