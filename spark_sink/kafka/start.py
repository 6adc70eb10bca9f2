"""Where a new checkpoint begins. One that is not new resumes where it is, and nothing here is used.

Given offsets (`offsets`, a group's, a table's) are compared with what the broker has. Below that, records that are
wanted have been deleted; above it, the topic is not the one that the offsets were taken from. Neither may pass in
silence. With `lost_offsets: continue` the first may: Spark's source skips the missing records, and the landing records
which offsets they had (`lost`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from config.sink.model import SinkConfig
from spark_sink.errors import Refused
from spark_sink.kafka.offsets import (
    EARLIEST,
    LATEST,
    NO_OFFSETS,
    Offsets,
    Partition,
    describe_partitions,
    flat,
    to_json,
)


class Broker(Protocol):
    """What Kafka has. `Admin` is one. Each method may block, and raises SinkError."""

    def earliest(self, partitions: Collection[Partition]) -> Mapping[Partition, int]: ...

    def latest(self, partitions: Collection[Partition]) -> Mapping[Partition, int]: ...

    def at(self, partitions: Collection[Partition], milliseconds: int) -> Mapping[Partition, int]: ...

    def committed(self, group: str) -> Mapping[Partition, int]: ...


@dataclass(frozen=True, slots=True)
class Start:
    """`text` is Spark's `startingOffsets`; `notes` are for the person who started it.

    `offsets`: where partitions certainly begin; a first batch that begins later lacks records (`lost`).
    """

    text: str
    notes: tuple[str, ...] = ()
    offsets: Offsets = field(default_factory=dict)


def resolve(config: SinkConfig, broker: Broker, partitions: Collection[Partition], ends: Offsets = NO_OFFSETS) -> Start:
    """`partitions`: those that will be read (`topics.present`). `ends`: how far the table has them, for `start: table`.

    Raises Refused.
    """
    match config.start:
        case "timestamp":
            return _at(config, broker, partitions)
        case "offsets":
            given = flat(config.start_offsets)
            return _named(config, broker, partitions, given, "start_offsets")
        case "committed":
            return _committed(config, broker, partitions)
        case "table":
            return _named(config, broker, partitions, ends, "the table")
        case "latest":
            latest = broker.latest(partitions)
            return Start(to_json(latest), offsets=latest)
        case _:
            return Start(config.start)


def _at(config: SinkConfig, broker: Broker, partitions: Collection[Partition]) -> Start:
    assert config.start_timestamp is not None  # the configuration's own check
    # The ends first: a record that arrives between the two questions is then found by the second.
    latest = broker.latest(partitions)
    by_time = broker.at(partitions, round(config.start_timestamp.timestamp() * 1000))
    later = set(partitions) - set(by_time)
    note = f"{describe_partitions(later)} has no record of start_timestamp or later: begins at its end" if later else ""
    starts = {**latest, **by_time}
    return Start(to_json(starts), (note,) if note else (), starts)


def _committed(config: SinkConfig, broker: Broker, partitions: Collection[Partition]) -> Start:
    group = config.start_group or config.kafka.group_id
    offsets = broker.committed(group)
    if not set(offsets) & set(partitions):
        raise Refused(
            f"the group {group} has committed no offset of these topics, so there is nowhere to begin: "
            "check its name (kafka-consumer-groups --describe), or set start: earliest"
        )
    return _named(config, broker, partitions, offsets, f"the group {group}")


def _named(config: SinkConfig, broker: Broker, partitions: Collection[Partition], given: Offsets, by: str) -> Start:
    wanted = {partition: offset for partition, offset in given.items() if partition in partitions}
    _check_unknown(config, partitions, given, by)
    _check_range(config, broker, wanted, by)
    unnamed = set(partitions) - set(wanted)
    note = f"{by} names no offset of {describe_partitions(unnamed)}: begins at its first record" if unnamed else ""
    latest = broker.latest([partition for partition, offset in wanted.items() if offset == LATEST])
    text = to_json({**dict.fromkeys(unnamed, EARLIEST), **wanted, **latest})
    starts = {**_known(wanted), **latest}
    if config.start != "table":  # what a table does not name it should have from 0 on
        starts = {**broker.earliest([partition for partition in partitions if partition not in starts]), **starts}
    return Start(text, (note,) if note else (), starts)


def _check_unknown(config: SinkConfig, partitions: Collection[Partition], given: Offsets, by: str) -> None:
    """Raises Refused where a list in the configuration does not fit. A group or a table may name topics that are not
    read here."""
    if config.start == "offsets" and (unknown := set(given) - set(partitions)):
        raise Refused(
            f"{by} names {describe_partitions(unknown)}, which is not among what is read, or which Kafka does not have"
        )


def _check_range(config: SinkConfig, broker: Broker, wanted: Offsets, by: str) -> None:
    wanted = _known(wanted)
    earliest, latest = broker.earliest(wanted), broker.latest(wanted)
    deleted = [partition for partition, offset in wanted.items() if offset < earliest[partition]]
    if deleted and config.lost_offsets == "fail":
        raise Refused(
            f"{by} wants records that Kafka has deleted: {_described(deleted, wanted, earliest, latest)}. "
            "To begin at the first ones that Kafka has, set lost_offsets: continue (the missing offsets are then "
            "recorded in the dead-letter table)"
        )
    if ahead := [partition for partition, offset in wanted.items() if offset > latest[partition]]:
        raise Refused(
            f"{by} wants to begin behind the end: {_described(ahead, wanted, earliest, latest)}. The topic was "
            "re-created, or these are the offsets of another one; "
            + (
                "spark-sink repair --from-kafka lands what no table has of it"
                if config.start == "table"
                else "to land all that Kafka has, set start: earliest"
            )
        )


def _known(offsets: Offsets) -> Offsets:
    """Without Spark's words for earliest (-2) and latest (-1)."""
    return {partition: offset for partition, offset in offsets.items() if offset >= 0}


def _described(which: list[Partition], wanted: Offsets, earliest: Offsets, latest: Offsets) -> str:
    return "; ".join(
        f"topic {topic}, partition {number}: wanted {wanted[topic, number]}, "
        f"available {earliest[topic, number]} to {latest[topic, number]}"
        for topic, number in sorted(which)[:5]
    ) + (f" and {len(which) - 5} more" if len(which) > 5 else "")
