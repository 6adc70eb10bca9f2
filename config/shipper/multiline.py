"""The parser `multiline`: which lines belong together."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from config.text.checks import Finding
from config.text.patterns import Pattern
from config.text.units import Duration

MultilineType = Literal["pattern", "count", "while_pattern"]

# Of options that say nothing in the other types; what is left at its default is not held against anyone.
_BELONGS: dict[str, tuple[MultilineType, ...]] = {
    "pattern": ("pattern", "while_pattern"),
    "negate": ("pattern", "while_pattern"),
    "match": ("pattern",),
    "flush_pattern": ("pattern",),
    "count_lines": ("count",),
}
_DEFAULTS = {"negate": False, "match": "after"}


# Seconds. In Filebeat a count never ends by time (all messages behind one that did would begin at a wrong line), and 0
# says so for any type. But the end of the file does it there, when it is closed for being inactive: after as long.
LATE = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MultilineConfig:
    type: MultilineType = field(
        default="pattern",
        metadata={"doc": "How lines are joined: by a pattern, so many each time, or those in a row that match."},
    )
    pattern: Pattern | None = field(
        default=None, metadata={"doc": "A regular expression, searched for in each line; not with `type: count`."}
    )
    negate: bool = field(
        default=False, metadata={"doc": "Lines that do not match are those that belong to a neighbour."}
    )
    match: Literal["after", "before"] = field(
        default="after",
        metadata={
            "doc": "A line that belongs to a neighbour is added after the line before it, or before the next; "
            "with `type: pattern`."
        },
    )
    flush_pattern: Pattern | None = field(
        default=None,
        metadata={"since": "0.2", "doc": "A line in which this is found ends the message; with `type: pattern`."},
    )
    count_lines: int | None = field(
        default=None,
        metadata={"since": "0.2", "doc": "The lines of a message; with `type: count`.", "unit": "lines", "min": 1},
    )
    max_lines: int | None = field(
        default=None,
        metadata={
            "doc": "Lines beyond this are dropped and flagged; 500 when absent, `count_lines` with `type: count`; "
            "0: no limit but that of the message's bytes.",
            "unit": "lines",
            "min": 0,
        },
    )
    timeout: Duration | None = field(
        default=None,
        metadata={
            "doc": "A message that gets no further line for so long is sent as it is; when absent 5s, 5m with "
            "`type: count`; 0 is 5m too.",
        },
    )
    skip_newline: bool = field(
        default=False, metadata={"since": "0.2", "doc": "Lines are joined without a newline between them."}
    )

    @property
    def most_lines(self) -> int | None:
        """The lines that are kept of a message; None: all."""
        if self.max_lines is not None:
            return self.max_lines or None
        return 500 if self.count_lines is None else self.count_lines

    @property
    def ends_after(self) -> float:
        """Seconds after its last line at which a message ends."""
        return self.timeout or (5.0 if self.timeout is None and self.type != "count" else LATE)

    def check(self) -> Iterator[Finding]:
        needed = "count_lines" if self.type == "count" else "pattern"
        if getattr(self, needed) is None:
            yield needed, f"missing; type: {self.type} needs it"
        for name, types in _BELONGS.items():
            if self.type not in types and getattr(self, name) != _DEFAULTS.get(name):
                yield name, f"belongs to type: {' or '.join(types)}; this is type: {self.type}"
