"""The smaller sections of `output.kafka`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from config.text.checks import Finding, not_blank
from config.text.units import Duration

_UNUSED: dict[str, Any] = {"doc": "Accepted and not used."}


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoffConfig:
    init: Duration = field(default=1.0, metadata={"doc": "The first wait after a failure.", "min": 0.001})
    max: Duration = field(default=60.0, metadata={"doc": "The longest wait after many.", "min": 0.001})

    def check(self) -> Iterator[Finding]:
        if self.max < self.init:
            yield "max", f"must be at least backoff.init ({self.init:g}s)"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryConfig:
    max: int = field(default=3, metadata={**_UNUSED, "min": 0})
    backoff: Duration = field(default=0.25, metadata=_UNUSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataConfig:
    retry: RetryConfig = field(default_factory=RetryConfig)
    refresh_frequency: Duration = field(default=600.0, metadata=_UNUSED)
    full: bool = field(default=False, metadata=_UNUSED)


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
            yield name, f"partition.{given[0]} is given too; exactly one must be"
