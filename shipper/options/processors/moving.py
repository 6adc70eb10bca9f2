"""Processors that move and drop fields and events: options of copy_fields, rename, move_fields, drop_event,
drop_fields, include_fields, rate_limit."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import Finding, not_blank, not_empty, without_blanks
from log_shipper.config.text.patterns import parse_pattern
from log_shipper.shipper.options.processors.base import (
    FAIL_ON_ERROR,
    IGNORE_MISSING,
    PROTECTED_FIELDS,
    ProcessorConfig,
    protected,
)

_SECONDS = {"s": 1, "m": 60, "h": 3600}


@dataclass(frozen=True, slots=True, kw_only=True)
class FromToConfig:
    source: str = field(metadata={"key": "from", "check": not_blank, "doc": "The existing field."})
    to: str = field(metadata={"check": not_blank, "doc": "The new field."})


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyFieldsConfig(ProcessorConfig):
    """Copies fields to new fields, which must not exist yet."""

    name: ClassVar = "copy_fields"
    fields: tuple[FromToConfig, ...] = field(metadata={"check": not_empty, "doc": "The fields to copy."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameConfig(ProcessorConfig):
    """Renames fields; the new names must not exist yet."""

    name: ClassVar = "rename"
    fields: tuple[FromToConfig, ...] = field(metadata={"check": not_empty, "doc": "The fields to rename."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def remarks(self) -> Iterator[Finding]:
        yield from protected("fields", [pair.source for pair in self.fields])
        for index, pair in enumerate(self.fields):
            if any(f"{name}.".startswith(f"{pair.to}.") for name in PROTECTED_FIELDS):
                yield (
                    f"fields[{index}].to",
                    f"every event has {pair.to}, so that this fails for each; choose another name",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveFieldsConfig(ProcessorConfig):
    """Moves the members of an object, each to its name with the prefix `to`."""

    name: ClassVar = "move_fields"
    strict: ClassVar = True
    source: str = field(default="", metadata={"key": "from", "doc": "The object; the event itself when absent."})
    fields: tuple[str, ...] = field(default=(), metadata={"doc": "The members to move; all when absent."})
    exclude: tuple[str, ...] = field(default=(), metadata={"doc": "Members that are not moved."})
    to: str = field(metadata={"check": not_blank, "doc": "The prefix of the new names, such as `rpc.` or `app_`."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropEventConfig(ProcessorConfig):
    """Drops events; `when` selects them."""

    name: ClassVar = "drop_event"
    strict: ClassVar = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DropFieldsConfig(ProcessorConfig):
    """Drops fields, except @timestamp, type and the fields by which duplicates are recognised."""

    name: ClassVar = "drop_fields"
    strict: ClassVar = True
    fields: tuple[str, ...] = field(metadata={"doc": "The names of the fields; /…/ is a regular expression for names."})
    ignore_missing: bool = field(
        default=False, metadata={"doc": "Accepted and not used: a missing field is never an error."}
    )

    def check(self) -> Iterator[Finding]:
        yield from ((f"fields{where}", fault) for where, fault in without_blanks(self.fields) if where)
        for index, name in enumerate(self.fields):
            if pattern := pattern_of(name):
                try:
                    parse_pattern(pattern)
                except ValueError as error:
                    yield f"fields[{index}]", str(error)

    def remarks(self) -> Iterator[Finding]:
        yield from protected("fields", self.fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class IncludeFieldsConfig(ProcessorConfig):
    """Drops all other fields, except @timestamp, @metadata, type and the fields by which duplicates are recognised."""

    name: ClassVar = "include_fields"
    strict: ClassVar = True
    fields: tuple[str, ...] = field(metadata={"doc": "The fields to keep."})


def parse_rate(text: str) -> tuple[float, float]:
    """Return (events, seconds) of "10/s", "600/m" or "5000/h". Raises ValueError."""
    number, slash, unit = (part.strip() for part in text.partition("/"))
    try:
        events = float(number)
    except ValueError:
        events = -1.0
    if not slash or unit not in _SECONDS or not 0 <= events < float("inf"):
        raise ValueError(f"{text!r} is not a rate; write 10/s, 600/m or 5000/h")
    return events, float(_SECONDS[unit])


def _is_rate(text: str) -> Iterator[Finding]:
    try:
        parse_rate(text)
    except ValueError as error:
        yield "", str(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageConfig:
    num_calls: int = field(
        default=10_000, metadata={"min": 1, "doc": "After this many events, full buckets are freed."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBucketConfig:
    burst_multiplier: float = field(
        default=1.0, metadata={"min": 0.0, "doc": "The largest burst after a quiet period, as a multiple of the limit."}
    )
    gc: GarbageConfig = field(default_factory=GarbageConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmConfig:
    token_bucket: TokenBucketConfig = field(default_factory=TokenBucketConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimitConfig(ProcessorConfig):
    """Drops events above a rate."""

    name: ClassVar = "rate_limit"
    limit: str = field(metadata={"check": _is_rate, "doc": "The highest rate: 10/s, 600/m or 5000/h."})
    fields: tuple[str, ...] = field(
        default=(), metadata={"doc": "Events with the same values of these fields share a limit; all when absent."}
    )
    algorithm: AlgorithmConfig = field(default_factory=AlgorithmConfig)


def pattern_of(name: str) -> str:
    """Return the regular expression for the names of fields; "" if it is a plain name."""
    return name[1:-1] if len(name) > 2 and name.startswith("/") and name.endswith("/") else ""
