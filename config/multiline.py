"""The parser `multiline`: which lines belong together."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from config import filebeat
from config.patterns import Pattern
from config.units import Duration


@dataclass(frozen=True, slots=True, kw_only=True)
class MultilineConfig:
    not_yet: ClassVar = filebeat.MULTILINE_NOT_YET
    type: Literal["pattern"] = field(default="pattern", metadata={"doc": "How lines are joined."})
    pattern: Pattern = field(metadata={"doc": "A regular expression, searched for in each line."})
    negate: bool = field(
        default=False, metadata={"doc": "Lines that do not match are those that belong to a neighbour."}
    )
    match: Literal["after", "before"] = field(
        default="after",
        metadata={"doc": "A line that belongs to a neighbour is added after the line before it, or before the next."},
    )
    max_lines: int = field(
        default=500, metadata={"doc": "Lines beyond this are dropped and flagged.", "unit": "lines", "min": 1}
    )
    timeout: Duration = field(
        default=5.0, metadata={"doc": "A message that gets no further line for so long is sent as it is."}
    )
