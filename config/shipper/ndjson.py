"""The parsers `ndjson` and `include_message`, and `json.*` of the older inputs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from config.shipper import filebeat
from config.text.checks import Finding, not_empty
from config.text.patterns import Pattern

_TAKEN = ("@timestamp", "@metadata", "message")


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonOptions:
    """What the two spellings have in common."""

    since: ClassVar = "0.2"
    overwrite_keys: bool = field(
        default=False,
        metadata={"doc": "Members of the JSON replace those of the same name that the event has already."},
    )
    expand_keys: bool = field(default=False, metadata={"doc": 'Makes objects of dotted names: `{"a.b": 1}`.'})
    add_error_key: bool = field(
        default=False, metadata={"doc": "Says in `error.message` what is wrong with a line; `error.type` is json."}
    )
    message_key: str = field(
        default="", metadata={"doc": "The member that is the message: for the parsers and filters that follow."}
    )
    document_id: str = field(
        default="", metadata={"doc": "The member that becomes `@metadata._id`, dotted; it must be a text."}
    )
    ignore_decoding_error: bool = field(
        default=False,
        metadata={"doc": "No log line about lines that are no JSON; there is one a file and minute otherwise."},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NdjsonConfig(JsonOptions):
    """Makes members of an event out of each line that is a JSON object; any other line stays the text that it is."""

    not_yet: ClassVar = filebeat.NDJSON_NOT_YET
    ignored: ClassVar = filebeat.NDJSON_IGNORED
    target: str = field(
        default="", metadata={"doc": "The field that takes the members, dotted; the event itself when empty."}
    )

    def check(self) -> Iterator[Finding]:
        parts = self.target.split(".")
        if parts[0] in _TAKEN:
            yield "target", f"'{parts[0]}' is no object that could take members; give another name"
        elif self.target and "" in parts:
            yield "target", f"{self.target!r} has an empty name between its dots"


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSection(JsonOptions):
    """`json.*`, which becomes the parser, also where it is `{}`."""

    keys_under_root: bool = field(
        default=False, metadata={"doc": "Puts the members at the top of the event; below `json` otherwise."}
    )

    def becomes(self) -> NdjsonConfig:
        return NdjsonConfig(
            target="" if self.keys_under_root else "json",
            overwrite_keys=self.overwrite_keys,
            expand_keys=self.expand_keys,
            add_error_key=self.add_error_key,
            message_key=self.message_key,
            document_id=self.document_id,
            ignore_decoding_error=self.ignore_decoding_error,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IncludeMessageConfig:
    """Lets only those messages through in which a pattern is found, at its place among the parsers."""

    since: ClassVar = "0.2"
    patterns: tuple[Pattern, ...] = field(
        metadata={"doc": "Only messages in which one of these is found go on.", "check": not_empty}
    )
