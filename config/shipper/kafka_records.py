"""What a record of `output.kafka` consists of beside its value, and which partition it goes to."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from config.text.checks import Finding, not_blank

_UNUSED: dict[str, Any] = {"doc": "Accepted and not used."}


# The headers of records whose payload is a text: what the sink lands them by (spark_sink/records/headers.py).
PLACE_HEADERS = (
    "log.file.id",
    "log.offset",
    "log.length",
    "@timestamp",
    "log.flags",
    "log.file.path",
    "host.name",
)


def header_key(text: str) -> Iterator[Finding]:
    yield from not_blank(text)
    if text in PLACE_HEADERS:
        yield "", f"the shipper itself sets the header {text} of records without JSON; give it another name"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderConfig:
    key: str = field(metadata={"doc": "The name of the header.", "check": header_key})
    value: str = field(metadata={"doc": "Its value, the same for all records."})


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedPartition:
    reachable_only: bool = field(default=False, metadata=_UNUSED)
    group_events: int = field(default=1, metadata={**_UNUSED, "min": 1})


@dataclass(frozen=True, slots=True, kw_only=True)
class HashPartition:
    reachable_only: bool = field(default=False, metadata=_UNUSED)
    hash: tuple[str, ...] = field(default=(), metadata=_UNUSED)
    random: bool = field(default=True, metadata=_UNUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionConfig:
    random: GroupedPartition | None = field(default=None, metadata=_UNUSED)
    round_robin: GroupedPartition | None = field(default=None, metadata=_UNUSED)
    hash: HashPartition | None = field(default=None, metadata=_UNUSED)

    def check(self) -> Iterator[Finding]:
        given = [name for name in ("random", "round_robin", "hash") if getattr(self, name) is not None]
        for name in given[1:]:
            yield name, f"partition.{given[0]} is given too; give exactly one"
