"""What every type of input can be told."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from config.shipper.processors import PROCESSORS, AnyProcessor
from config.text.encodings import Encoding, LineTerminator
from config.text.patterns import Pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherPipelineConfig:
    disable_host: bool = field(default=False, metadata={"since": "0.2", "doc": "Leaves `host.name` out of events."})


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryInput:
    enabled: bool = field(default=True, metadata={"doc": "Whether the input runs."})
    encoding: Encoding = field(default="utf-8", metadata={"doc": "The lines' encoding; invalid bytes become U+FFFD."})
    line_terminator: LineTerminator = field(
        default="auto",
        metadata={"since": "0.2", "doc": "What ends a line; auto is line_feed, with or without a carriage return."},
    )
    include_lines: tuple[Pattern, ...] = field(
        default=(),
        metadata={"since": "0.2", "doc": "Only messages in which one of these is found are shipped; all when empty."},
    )
    exclude_lines: tuple[Pattern, ...] = field(
        default=(),
        metadata={
            "since": "0.2",
            "doc": "Messages in which one of these is found are dropped; asked after include_lines.",
        },
    )
    processors: tuple[AnyProcessor, ...] = field(
        default=(),
        metadata={"since": "0.2", "doc": "What works on the input's events, in order.", "read_as": PROCESSORS},
    )
    tags: tuple[str, ...] = field(default=(), metadata={"doc": "Added to each event's `tags`."})
    fields: dict[str, Any] = field(default_factory=dict, metadata={"doc": "Added to each event below `fields`."})
    fields_under_root: bool = field(default=False, metadata={"doc": "Puts `fields` at the top of the event instead."})
    keep_null: bool = field(
        default=False, metadata={"since": "0.2", "doc": "Whether fields without a value (null) stay in events."}
    )
    publisher_pipeline: PublisherPipelineConfig = field(default_factory=PublisherPipelineConfig)

    def shared(self) -> dict[str, Any]:
        """These options by name: what one type has in common with the input that it becomes."""
        return {each.name: getattr(self, each.name) for each in dataclasses.fields(EveryInput)}
