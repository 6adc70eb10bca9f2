"""Positions in partitions, as the sink has them and as Spark writes them: {"logs": {"0": 123, "1": 45}}.

An end is exclusive everywhere: the first offset that is not meant.
"""

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType

Partition = tuple[str, int]  # topic, number
Offsets = Mapping[Partition, int]
NO_OFFSETS: Offsets = MappingProxyType({})

# Spark's word for "what the broker has first, when you look". One that we looked up could be deleted until then.
EARLIEST = -2
LATEST = -1  # its word for the end


def to_json(offsets: Offsets) -> str:
    topics: dict[str, dict[str, int]] = {}
    for (topic, number), offset in sorted(offsets.items()):
        topics.setdefault(topic, {})[str(number)] = offset
    return json.dumps(topics)


def from_json(text: str | None) -> dict[Partition, int]:
    """Empty for None and for `null`, which Spark reports before it knows; PySpark's listener makes "None" of it."""
    topics = {} if text in (None, "", "None") else json.loads(text or "") or {}
    return flat(
        {topic: {int(number): int(offset) for number, offset in numbers.items()} for topic, numbers in topics.items()}
    )


def flat(topics: Mapping[str, Mapping[int, int]]) -> dict[Partition, int]:
    """From the shape that a configuration has."""
    return {(topic, number): offset for topic, numbers in topics.items() for number, offset in numbers.items()}


def assigned(partitions: Collection[Partition]) -> str:
    """Return them as Spark's option `assign` has them: {"logs": [0, 1]}."""
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        topics.setdefault(topic, []).append(number)
    return json.dumps(topics)


def lag(landed: Offsets, latest: Offsets, earliest: Offsets | None = None) -> dict[Partition, int]:
    """Return what is not landed yet, by partition. One that was never landed from begins at its earliest record.

    Offsets, not records: the markers of transactions count too, as they do for Kafka's own tools.
    """
    begin = earliest or {}
    return {at: max(0, end - landed.get(at, begin.get(at, 0))) for at, end in latest.items()}


def describe_partitions(partitions: Collection[Partition], most: int = 5) -> str:
    """ "logs/0, logs/1 and 7 more": for a message."""
    shown = [f"{topic}/{number}" for topic, number in sorted(partitions)]
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")
