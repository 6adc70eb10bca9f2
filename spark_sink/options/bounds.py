"""Checks the options for start and stop offsets, as far as possible without Kafka."""

from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from log_shipper.config.text.checks import Finding
from log_shipper.spark_sink.options.kafka import KafkaSource

Start = Literal["earliest", "latest", "timestamp", "offsets", "committed", "table"]
Stop = Literal["never", "available-now", "offsets", "timestamp"]
Offsets = dict[str, dict[int, int]]  # by topic and partition
EARLIEST = -2  # as in Spark's offsets
TOO_HIGH = 2**63
_EXAMPLES = {"timestamp": "2026-11-21T09:30:00Z", "offsets": "{logs: {0: 17, 1: 23}}"}


def start_offsets(offsets: Offsets) -> Iterator[Finding]:
    yield from _at_least(offsets, EARLIEST, "must be an offset, -2 (earliest) or -1 (latest)")


def stop_offsets(offsets: Offsets) -> Iterator[Finding]:
    yield from _at_least(offsets, 0, "must be an offset, the first one not to land")


def _at_least(offsets: Offsets, minimum: int, message: str) -> Iterator[Finding]:
    for topic, by_partition in offsets.items():
        for number, offset in by_partition.items():
            if not minimum <= offset < TOO_HIGH:
                yield f"{topic}.{number}", message


def check_companions(option: str, value: str, timestamp: datetime | None, offsets: Offsets) -> Iterator[Finding]:
    """Check the companions of `option`, start or stop: the one that its value needs must be set, and no other."""
    given = {"timestamp": timestamp is not None, "offsets": bool(offsets)}
    for name, is_given in given.items():
        companion = f"{option}_{name}"
        if value == name and not is_given:
            yield option, f"{value!r} needs {companion}, as in '{companion}: {_EXAMPLES[name]}'"
        if value != name and is_given:
            yield companion, _only_with(option, name, value)


def group(start: str, start_group: str | None, group_id: str) -> Iterator[Finding]:
    if start != "committed" and start_group is not None:
        yield "start_group", _only_with("start", "committed", start)
    if start == "committed" and not (start_group or group_id):
        yield (
            "start",
            "'committed' needs start_group, the consumer group to resume from, because kafka.group_id is empty",
        )


def check_offsets_are_read(kafka: KafkaSource, option: str, offsets: Offsets) -> Iterator[Finding]:
    """Yield a finding for each offset of a topic or partition that is not read: probably a typing error."""
    for topic, by_partition in offsets.items():
        if kafka.topic_names and topic not in kafka.topic_names:
            yield f"{option}.{topic}", f"is not read; {kafka.described} {_is_or_are(kafka)}"
        elif kafka.partitions:
            others = sorted(set(by_partition) - set(kafka.partitions[topic]))
            yield from ((f"{option}.{topic}.{number}", "is not one of kafka.partitions") for number in others)


def in_order(start: Offsets, stop: Offsets) -> Iterator[Finding]:
    for topic, by_partition in stop.items():
        for partition, end in by_partition.items():
            if end < start.get(topic, {}).get(partition, EARLIEST):
                yield f"stop_offsets.{topic}.{partition}", "is before its start_offsets"


def _only_with(option: str, needed: str, value: str) -> str:
    return f"requires '{option}: {needed}', but '{option}: {value}' is set"


def _is_or_are(kafka: KafkaSource) -> str:
    return "are" if len(kafka.topic_names) > 1 else "is"
