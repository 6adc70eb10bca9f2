"""What a record of `output.kafka` consists of beside its value, and which partition it goes to."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.secrets import Secret

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
    value: Secret = field(metadata={"doc": "Its value, the same for all records; not shown by the agent."})


_REACHABLE: dict[str, Any] = {
    "doc": "Whether records go only to partitions that have a leader, as of the last minute, if any has one."
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupedPartition:
    reachable_only: bool = field(default=False, metadata=_REACHABLE)
    group_events: int = field(
        default=1, metadata={"doc": "How many records in a row go to the same partition.", "min": 1}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HashPartition:
    reachable_only: bool = field(default=False, metadata=_REACHABLE)
    hash: tuple[str, ...] = field(
        default=(), metadata={"doc": "The fields whose values choose the partition; the key when empty."}
    )
    random: bool = field(
        default=True,
        metadata={
            "doc": "Whether an event that lacks one of the fields goes to a random partition; else it is a dead letter."
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionConfig:
    since: ClassVar = "0.2"
    random: GroupedPartition | None = field(default=None, metadata={"doc": "A random partition."})
    round_robin: GroupedPartition | None = field(default=None, metadata={"doc": "The partitions in turn."})
    hash: HashPartition | None = field(default=None, metadata={"doc": "By the hash of fields, or of the key."})

    def check(self) -> Iterator[Finding]:
        given = [name for name in ("random", "round_robin", "hash") if getattr(self, name) is not None]
        for name in given[1:]:
            yield name, f"partition.{given[0]} is given too; give exactly one"

    @property
    def reachable_only(self) -> bool:
        return any(chosen.reachable_only for chosen in (self.random, self.round_robin, self.hash) if chosen is not None)

    @property
    def is_explicit(self) -> bool:
        """True if the partition is not that of the key, among all there are."""
        return self.reachable_only or bool(self.random or self.round_robin or (self.hash and self.hash.hash))
