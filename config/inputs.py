"""What the shipper reads: `shipper.inputs` or `filebeat.inputs`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from config import filebeat
from config.patterns import Pattern
from config.units import Duration, Size

Finding = tuple[str, str]


def not_empty(items: tuple[Any, ...]) -> Iterator[Finding]:
    if not items:
        yield "", "must not be empty"


def without_blanks(items: tuple[str, ...]) -> Iterator[Finding]:
    yield from not_empty(items)
    yield from ((f"[{index}]", "is empty") for index, item in enumerate(items) if not item.strip())


def not_blank(text: str) -> Iterator[Finding]:
    if not text.strip():
        yield "", "is empty"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserConfig:
    """One step of the chain."""

    not_yet: ClassVar = filebeat.PARSER_NOT_YET
    multiline: MultilineConfig = field(
        metadata={"doc": "Joins lines to one message.", "missing": "it is the only parser (yet)"}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannerConfig:
    not_yet: ClassVar = filebeat.SCANNER_NOT_YET
    ignored: ClassVar = filebeat.SCANNER_IGNORED
    check_interval: Duration = field(
        default=10.0,
        metadata={"doc": "How often the paths are looked through; file events only make it sooner.", "min": 0.001},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProspectorConfig:
    scanner: ScannerConfig = field(default_factory=ScannerConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChangeConfig:
    not_yet: ClassVar = filebeat.STATE_CHANGE_NOT_YET
    inactive: Duration = field(
        default=300.0, metadata={"doc": "A file without news for so long is closed until it has some."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseConfig:
    not_yet: ClassVar = filebeat.CLOSE_NOT_YET
    on_state_change: StateChangeConfig = field(default_factory=StateChangeConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class InputConfig:
    not_yet: ClassVar = filebeat.INPUT_NOT_YET
    ignored: ClassVar = filebeat.INPUT_IGNORED
    type: Literal["filestream"] = field(default="filestream", metadata={"doc": "The kind of input."})
    id: str = field(
        metadata={
            "doc": "The input's own name; positions are kept under it.",
            "check": not_blank,
            "missing": "every filestream input needs an id of its own, as in 'id: nginx'",
        }
    )
    paths: tuple[str, ...] = field(metadata={"doc": "Files to read; globs, `**` included.", "check": without_blanks})
    enabled: bool = field(default=True, metadata={"doc": "Whether the input runs."})
    encoding: Literal["utf-8"] = field(
        default="utf-8", metadata={"doc": "The files' encoding; invalid bytes become U+FFFD."}
    )
    message_max_bytes: Size = field(
        default=10 * 1024**2, metadata={"doc": "A longer message is cut and flagged.", "min": 1}
    )
    parsers: tuple[ParserConfig, ...] = field(
        default=(), metadata={"doc": "Steps that make messages of lines, in order."}
    )
    prospector: ProspectorConfig = field(default_factory=ProspectorConfig)
    close: CloseConfig = field(default_factory=CloseConfig)
    tags: tuple[str, ...] = field(default=(), metadata={"doc": "Added to each event's `tags`."})
    fields: dict[str, Any] = field(default_factory=dict, metadata={"doc": "Added to each event below `fields`."})
    fields_under_root: bool = field(default=False, metadata={"doc": "Puts `fields` at the top of the event instead."})
