"""What Kafka can give again of what has landed, and in which pieces it is read."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F

from config.sink.model import SinkConfig
from spark_sink.kafka.offsets import LATEST, Offsets, Partition, describe_partitions, flat


class Broker(Protocol):
    """What Kafka holds. `Admin` is one. Each may block, and raises SinkError."""

    def earliest(self, partitions: Collection[Partition]) -> Mapping[Partition, int]: ...

    def latest(self, partitions: Collection[Partition]) -> Mapping[Partition, int]: ...

    def at(self, partitions: Collection[Partition], milliseconds: int) -> Mapping[Partition, int]: ...


@dataclass(frozen=True, slots=True)
class Range:
    """From `starts` up to `ends`, of the same partitions. `shorter`: where Kafka ends, of partitions of which more has
    landed: their topic was made anew. `notes` say what is left out, or comes unasked."""

    starts: dict[Partition, int]
    ends: dict[Partition, int]
    shorter: dict[Partition, int]
    notes: tuple[str, ...]

    @property
    def offsets(self) -> int:
        return sum(self.ends.values()) - sum(self.starts.values())


def readable(
    config: SinkConfig, broker: Broker, there: Collection[Partition], landed: Offsets, anew: Collection[str] = ()
) -> Range:
    """`there`: the partitions that are read (`topics.present`); `landed`: the next offset to land of each. `anew`: the
    topics that were made anew since; where the sink was told to begin says nothing of those."""
    wanted = set(landed) & set(there)
    same = {at for at in wanted if at[0] not in anew}
    earliest, latest, begun = broker.earliest(wanted), broker.latest(wanted), _begun(config, broker, same)
    starts = {at: max(earliest[at], begun.get(at, 0)) for at in wanted}
    ends = {at: min(landed[at], latest[at]) for at in wanted}
    left = sorted(at for at in wanted if starts[at] < ends[at])
    notes = (*_gone(set(landed) - wanted), *_deleted(earliest, begun, landed), *_skipped(config))
    shorter = {at: end for at, end in ends.items() if end < landed[at]}
    return Range({at: starts[at] for at in left}, {at: ends[at] for at in left}, shorter, notes)


def _begun(config: SinkConfig, broker: Broker, same: Collection[Partition]) -> Offsets:
    """What lies before where the sink was told to begin is not missing."""
    if config.start == "timestamp" and config.start_timestamp is not None:
        latest = broker.latest(same)
        return {**latest, **broker.at(same, round(config.start_timestamp.timestamp() * 1000))}
    if config.start == "offsets":
        return {at: offset for at, offset in flat(config.start_offsets).items() if at in same}
    return {}


def _gone(partitions: Collection[Partition]) -> list[str]:
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
        f"{where}: what lay there before the sink began counts as missing; to leave it out, say start: timestamp, or "
        "start: offsets with numbers, for this command"
    ]


def pieces(starts: Offsets, ends: Offsets, most: int) -> Iterator[tuple[Offsets, Offsets]]:
    """Consecutive ranges of all partitions, of at most so many offsets together. One that is done is not named."""
    at = dict(starts)
    while left := {each: ends[each] - at[each] for each in ends if at[each] < ends[each]}:
        share = max(1, most // len(left))
        until = {each: at[each] + min(share, count) for each, count in left.items()}
        yield {each: at[each] for each in left}, until
        at |= until


def within(starts: Offsets, ends: Offsets) -> Column:
    """A condition on topic, partition and kafka_offset, in a form that file statistics can answer."""
    found = F.lit(False)
    for (topic, number), first in starts.items():
        offset = F.col("kafka_offset").between(first, ends[topic, number] - 1)
        found |= (F.col("topic") == topic) & (F.col("partition") == number) & offset
    return found
