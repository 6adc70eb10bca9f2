"""The parser `multiline`: which lines are joined into one message."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from log_shipper.config.text.checks import Finding
from log_shipper.config.text.patterns import Pattern
from log_shipper.config.text.units import Duration

MultilineType = Literal["pattern", "count", "while_pattern"]

# The types that use an option; in other types only its default is accepted.
_BELONGS: dict[str, tuple[MultilineType, ...]] = {
    "pattern": ("pattern", "while_pattern"),
    "negate": ("pattern", "while_pattern"),
    "match": ("pattern",),
    "flush_pattern": ("pattern",),
    "count_lines": ("count",),
}
_DEFAULTS = {"negate": False, "match": "after"}


# Seconds. In Filebeat a count never ends by time (all messages after such a one would begin at a wrong line), nor does
# any type with timeout 0. But there the message ends with its file, when that is closed as inactive, after as long.
LONG_TIMEOUT = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MultilineConfig:
    type: MultilineType = field(
        default="pattern",
        metadata={
            "doc": "How lines are joined: by a pattern, a fixed number of lines, or consecutive lines that match."
        },
    )
    pattern: Pattern | None = field(
        default=None,
        metadata={"doc": "A regular expression that is searched for in each line; not with `type: count`."},
    )
    negate: bool = field(
        default=False,
        metadata={"doc": "Whether the lines that do not match are joined to others, rather than those that do."},
    )
    match: Literal["after", "before"] = field(
        default="after",
        metadata={
            "doc": "Whether such a line is appended to the line before it (after), or put before the next one "
            "(before); with `type: pattern`."
        },
    )
    flush_pattern: Pattern | None = field(
        default=None,
        metadata={"since": "0.2", "doc": "A line that matches this ends the message; with `type: pattern`."},
    )
    count_lines: int | None = field(
        default=None,
        metadata={
            "since": "0.2",
            "doc": "The number of lines in a message; with `type: count`.",
            "unit": "lines",
            "min": 1,
        },
    )
    max_lines: int | None = field(
        default=None,
        metadata={
            "doc": "The most lines of a message: further lines are dropped and the message is flagged; 500 when "
            "absent, `count_lines` with `type: count`; 0 means no limit except the message's bytes.",
            "unit": "lines",
            "min": 0,
        },
    )
    timeout: Duration | None = field(
        default=None,
        metadata={
            "doc": "A message without a further line for this long is sent as it is; 5s when absent, 5m with `type: "
            "count`; 0 means 5m too.",
        },
    )
    skip_newline: bool = field(
        default=False, metadata={"since": "0.2", "doc": "Joins lines without a newline between them."}
    )

    @property
    def most_lines(self) -> int | None:
        """Return how many lines of a message are kept; None means all."""
        if self.max_lines is not None:
            return self.max_lines or None
        return 500 if self.count_lines is None else self.count_lines

    @property
    def ends_after(self) -> float:
        """Return the seconds without a further line after which a message ends."""
        return self.timeout or (5.0 if self.timeout is None and self.type != "count" else LONG_TIMEOUT)

    def check(self) -> Iterator[Finding]:
        needed = "count_lines" if self.type == "count" else "pattern"
        if getattr(self, needed) is None:
            yield needed, f"missing; type: {self.type} needs it"
        for name, types in _BELONGS.items():
            if self.type not in types and getattr(self, name) != _DEFAULTS.get(name):
                yield name, f"belongs to type: {' or '.join(types)}; this is type: {self.type}"
