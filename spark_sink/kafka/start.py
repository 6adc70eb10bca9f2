"""Where a new checkpoint begins. One that is not new goes on where it stands, and nothing here is asked.

Offsets that somebody names (`offsets`, a group's, a table's) are held against what the broker has. Below that, records
are gone that were wanted; above it, the topic is not the one that they were taken from. Neither may pass in silence.
With `lost_offsets: continue` the first may: Spark's source skips what is gone, and the landing records it (`lost`).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from config.sink.model import SinkConfig
from spark_sink.errors import Refused
from spark_sink.kafka.offsets import EARLIEST, LATEST, NO_OFFSETS, Offsets, Partition, flat, to_json, words


class Broker(Protocol):
    """What Kafka holds. `Admin` is one. Each may block, and raises SinkError."""

    def earliest(self, partitions: Collection[Partition]) -> Mapping[Partition, int]: ...

    def latest(self, partitions: Collection[Partition]) -> Mapping[Partition, int]: ...

    def at(self, partitions: Collection[Partition], milliseconds: int) -> Mapping[Partition, int]: ...

    def committed(self, group: str) -> Mapping[Partition, int]: ...


@dataclass(frozen=True, slots=True)
class Start:
    """`text` is Spark's `startingOffsets`; `notes` are for the person who started it.

    `offsets`: where partitions begin for sure, and the first batch is short of records where it begins later (`lost`).
    """

    text: str
    notes: tuple[str, ...] = ()
    offsets: Offsets = field(default_factory=dict)


def resolve(config: SinkConfig, broker: Broker, there: Collection[Partition], ends: Offsets = NO_OFFSETS) -> Start:
    """`there`: the partitions that will be read (`topics.present`). `ends`: what the table holds, for `start: table`.

    Raises Refused.
    """
    match config.start:
        case "timestamp":
            return _at(config, broker, there)
        case "offsets":
            given = flat(config.start_offsets)
            return _named(config, broker, there, given, "start_offsets")
        case "committed":
            return _committed(config, broker, there)
        case "table":
            return _named(config, broker, there, ends, "the table")
        case "latest":
            latest = broker.latest(there)
            return Start(to_json(latest), offsets=latest)
        case _:
            return Start(config.start)


def _at(config: SinkConfig, broker: Broker, there: Collection[Partition]) -> Start:
    assert config.start_timestamp is not None  # the configuration's own check
    # First: a record that comes between the two questions is then found by the second.
    latest = broker.latest(there)
    found = broker.at(there, round(config.start_timestamp.timestamp() * 1000))
    later = set(there) - set(found)
    note = f"{words(later)} has no record of start_timestamp or later: begins at its end" if later else ""
    starts = {**latest, **found}
    return Start(to_json(starts), (note,) if note else (), starts)


def _committed(config: SinkConfig, broker: Broker, there: Collection[Partition]) -> Start:
    group = config.start_group or config.kafka.group_id
    offsets = broker.committed(group)
    if not set(offsets) & set(there):
        raise Refused(
            f"the group {group} has committed no offset of these topics, so there is nowhere to begin: "
            "look at its name (kafka-consumer-groups --describe), or say start: earliest"
        )
    return _named(config, broker, there, offsets, f"the group {group}")


def _named(config: SinkConfig, broker: Broker, there: Collection[Partition], given: Offsets, by: str) -> Start:
    wanted = {at: offset for at, offset in given.items() if at in there}
    _check_unknown(config, there, given, by)
    _check_range(config, broker, wanted, by)
    fresh = set(there) - set(wanted)
    note = f"{by} names no offset of {words(fresh)}: begins at its first record" if fresh else ""
    latest = broker.latest([at for at, offset in wanted.items() if offset == LATEST])
    text = to_json({**dict.fromkeys(fresh, EARLIEST), **wanted, **latest})
    starts = {**_known(wanted), **latest}
    if config.start != "table":  # what a table does not name it should have from 0 on
        starts = {**broker.earliest([at for at in there if at not in starts]), **starts}
    return Start(text, (note,) if note else (), starts)


def _check_unknown(config: SinkConfig, there: Collection[Partition], given: Offsets, by: str) -> None:
    """Somebody's own list has to fit. A group or a table may know topics that are not read here."""
    if config.start == "offsets" and (unknown := set(given) - set(there)):
        raise Refused(f"{by} names {words(unknown)}, which is not among what is read, or which Kafka does not have")


def _check_range(config: SinkConfig, broker: Broker, wanted: Offsets, by: str) -> None:
    wanted = _known(wanted)
    earliest, latest = broker.earliest(wanted), broker.latest(wanted)
    gone = [at for at, offset in wanted.items() if offset < earliest[at]]
    if gone and config.lost_offsets == "fail":
        raise Refused(
            f"{by} wants records that Kafka has deleted: {_told(gone, wanted, earliest, latest)}. "
            "To begin at the first ones there are, say lost_offsets: continue (what is missing is then recorded in the "
            "dead-letter table)"
        )
    if ahead := [at for at, offset in wanted.items() if offset > latest[at]]:
        raise Refused(
            f"{by} wants to begin behind the end: {_told(ahead, wanted, earliest, latest)}. The topic was made anew, "
            "or these are the offsets of another one; "
            + (
                "spark-sink repair --from-kafka lands what no table has of it"
                if config.start == "table"
                else "to land all that is there, say start: earliest"
            )
        )


def _known(offsets: Offsets) -> Offsets:
    """Without Spark's words for earliest (-2) and latest (-1)."""
    return {at: offset for at, offset in offsets.items() if offset >= 0}


def _told(which: list[Partition], wanted: Offsets, earliest: Offsets, latest: Offsets) -> str:
    return "; ".join(
        f"topic {topic}, partition {number}: wanted {wanted[topic, number]}, "
        f"available {earliest[topic, number]} to {latest[topic, number]}"
        for topic, number in sorted(which)[:5]
    ) + (f" and {len(which) - 5} more" if len(which) > 5 else "")
