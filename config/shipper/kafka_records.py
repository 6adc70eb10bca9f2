"""What a record of `output.kafka` consists of beside its value, and which partition it goes to."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from config.text.checks import Finding, not_blank
from config.text.format_strings import parse_format

_UNUSED: dict[str, Any] = {"doc": "Accepted and not used."}


def format_string(text: str) -> Iterator[Finding]:
    try:
        parse_format(text)
    except ValueError as error:
        yield "", str(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderConfig:
    key: str = field(metadata={**_UNUSED, "check": not_blank})
    value: str = field(metadata=_UNUSED)


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
