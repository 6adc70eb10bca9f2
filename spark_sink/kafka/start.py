"""The start of a new checkpoint, by the option `start`. An existing checkpoint resumes without this module.

Given offsets (`offsets`, a group's, a table's) are compared with the broker's. If one is below the first offset,
records have been deleted: Refused, except with `lost_offsets: continue`, which skips the missing records and records
their offsets (`lost`). If one is above the end, it comes from another topic, or the topic was re-created: Refused.
"""

from collections.abc import Collection
from dataclasses import dataclass

from log_shipper.spark_sink.errors import Refused
from log_shipper.spark_sink.kafka.offsets import (
    EARLIEST,
    LATEST,
    NO_OFFSETS,
    BrokerOffsets,
    Offsets,
    Partition,
    describe_partitions,
    flat,
)
from log_shipper.spark_sink.options.model import SinkConfig


@dataclass(frozen=True, slots=True)
class Start:
    """The start offsets of all existing partitions. `notes`: for the log."""

    offsets: Offsets
    notes: tuple[str, ...] = ()


def resolve(
    config: SinkConfig, broker: BrokerOffsets, partitions: Collection[Partition], ends: Offsets = NO_OFFSETS
) -> Start:
    """Return where a new checkpoint begins, by the option `start`. Raises Refused.

    `partitions`: to read (`topics.present`). `ends`: the next offset to land of each, for `start: table`.
    """
    match config.start:
        case "timestamp":
            return _from_timestamp(config, broker, partitions)
        case "offsets":
            given = flat(config.start_offsets)
            return _from_offsets(config, broker, partitions, given, "start_offsets")
        case "committed":
            return _from_group(config, broker, partitions)
        case "table":
            return _from_offsets(config, broker, partitions, ends, "the table")
        case "latest":
            return Start(broker.latest(partitions))
        case _:
            return Start(broker.earliest(partitions))


def _from_timestamp(config: SinkConfig, broker: BrokerOffsets, partitions: Collection[Partition]) -> Start:
    assert config.start_timestamp is not None  # the configuration's own check
    # The ends first: then the second request finds a record that arrives in between.
    latest = broker.latest(partitions)
    by_time = broker.at_timestamp(partitions, round(config.start_timestamp.timestamp() * 1000))
    later = set(partitions) - set(by_time)
    note = (
        f"{describe_partitions(later)} has no record at or after start_timestamp; reading from its end" if later else ""
    )
    return Start({**latest, **by_time}, (note,) if note else ())


def _from_group(config: SinkConfig, broker: BrokerOffsets, partitions: Collection[Partition]) -> Start:
    group = config.start_group or config.kafka.group_id
    offsets = broker.committed(group)
    if not set(offsets) & set(partitions):
        raise Refused(
            f"the group {group} has no committed offsets for these topics: check its name (kafka-consumer-groups "
            "--describe), or set start: earliest"
        )
    return _from_offsets(config, broker, partitions, offsets, f"the group {group}")


def _from_offsets(
    config: SinkConfig, broker: BrokerOffsets, partitions: Collection[Partition], given: Offsets, by: str
) -> Start:
    starts = {partition: offset for partition, offset in given.items() if partition in partitions}
    _check_unknown(config, partitions, given, by)
    _check_range(config, broker, starts, by)
    unnamed = set(partitions) - set(starts)
    note = f"{by} has no offset for {describe_partitions(unnamed)}; reading from its first record" if unnamed else ""
    latest = broker.latest([partition for partition, offset in starts.items() if offset == LATEST])
    first = broker.earliest([partition for partition in partitions if starts.get(partition, EARLIEST) == EARLIEST])
    return Start({**_known(starts), **latest, **first}, (note,) if note else ())


def _check_unknown(config: SinkConfig, partitions: Collection[Partition], given: Offsets, by: str) -> None:
    """Raise Refused if the configuration lists a partition that is not read; a group or a table may do so."""
    if config.start == "offsets" and (unknown := set(given) - set(partitions)):
        raise Refused(
            f"{by} has offsets for {describe_partitions(unknown)}: not found in Kafka, or not selected under "
            f"kafka. Correct {by}"
        )


def _check_range(config: SinkConfig, broker: BrokerOffsets, starts: Offsets, by: str) -> None:
    starts = _known(starts)
    earliest, latest = broker.earliest(starts), broker.latest(starts)
    deleted = [partition for partition, offset in starts.items() if offset < earliest[partition]]
    if deleted and config.lost_offsets == "fail":
        raise Refused(
            f"{by} starts at records that Kafka has deleted: {_described(deleted, starts, earliest, latest)}. To "
            "start at the first available records, set lost_offsets: continue, which records the missing offsets in "
            "the dead-letter table"
        )
    if ahead := [partition for partition, offset in starts.items() if offset > latest[partition]]:
        raise Refused(
            f"{by} starts beyond the end: {_described(ahead, starts, earliest, latest)}. The topic was re-created, or "
            "these offsets belong to another topic; "
            + (
                "spark-sink repair --from-kafka lands the missing records"
                if config.start == "table"
                else "to land all available records, set start: earliest"
            )
        )


def _known(offsets: Offsets) -> Offsets:
    """Return the offsets without the special ones (EARLIEST, LATEST)."""
    return {partition: offset for partition, offset in offsets.items() if offset >= 0}


def _described(which: list[Partition], starts: Offsets, earliest: Offsets, latest: Offsets) -> str:
    return "; ".join(
        f"topic {topic}, partition {number}: wanted {starts[topic, number]}, "
        f"available {earliest[topic, number]} to {latest[topic, number]}"
        for topic, number in sorted(which)[:5]
    ) + (f" and {len(which) - 5} more" if len(which) > 5 else "")
