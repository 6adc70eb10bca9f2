"""Headers and partitioners of `output.kafka`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.secrets import Secret

# The headers of text records, by which the sink identifies lines (spark_sink/records/headers.py).
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
        yield "", f"{text} is a header that the shipper sets on records without JSON; choose another name"


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderConfig:
    key: str = field(metadata={"doc": "The header's key.", "check": header_key})
    value: Secret = field(metadata={"doc": "The header's value, the same for all records. The agent never shows it."})


_REACHABLE: dict[str, Any] = {"doc": "Sends only to partitions that had a leader within the last minute, if any."}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedPartition:
    reachable_only: bool = field(default=False, metadata=_REACHABLE)
    group_events: int = field(
        default=1, metadata={"doc": "Number of consecutive records for the same partition.", "min": 1}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HashPartition:
    reachable_only: bool = field(default=False, metadata=_REACHABLE)
    hash: tuple[str, ...] = field(default=(), metadata={"doc": "The fields to hash; the record key when empty."})
    random: bool = field(
        default=True,
        metadata={
            "doc": "Sends an event that lacks one of the fields to a random partition instead of the dead letter."
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionConfig:
    since: ClassVar = "0.3"
    random: GroupedPartition | None = field(default=None, metadata={"doc": "Random partitions."})
    round_robin: GroupedPartition | None = field(default=None, metadata={"doc": "Each partition in turn."})
    hash: HashPartition | None = field(default=None, metadata={"doc": "By a hash of fields, or of the record key."})

    def check(self) -> Iterator[Finding]:
        given = [name for name in ("random", "round_robin", "hash") if getattr(self, name) is not None]
        for name in given[1:]:
            yield name, f"conflicts with partition.{given[0]}; set only one of them"

    @property
    def reachable_only(self) -> bool:
        return any(chosen.reachable_only for chosen in (self.random, self.round_robin, self.hash) if chosen is not None)

    @property
    def is_explicit(self) -> bool:
        """Return True unless records are partitioned by key over all partitions."""
        return self.reachable_only or bool(self.random or self.round_robin or (self.hash and self.hash.hash))
