"""The parsers `ndjson` and `include_message`, and `json.*` of the older inputs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import Finding, not_empty
from log_shipper.config.text.patterns import Pattern
from log_shipper.shipper.options import filebeat

_TAKEN = ("@timestamp", "@metadata", "message")


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonOptions:
    """The options that `ndjson` and `json.*` share."""

    since: ClassVar = "0.2"
    overwrite_keys: bool = field(
        default=False,
        metadata={"doc": "Members of the JSON object replace existing fields of the same name."},
    )
    expand_keys: bool = field(
        default=False, metadata={"doc": 'Expands dotted names such as `{"a.b": 1}` into objects.'}
    )
    add_error_key: bool = field(
        default=False, metadata={"doc": "Writes what is wrong with a line to `error.message`; `error.type` is json."}
    )
    message_key: str = field(
        default="", metadata={"doc": "The member that is the message for the parsers and filters that follow."}
    )
    document_id: str = field(
        default="", metadata={"doc": "The member, dotted, that becomes `@metadata._id`; it must be a text."}
    )
    ignore_decoding_error: bool = field(
        default=False,
        metadata={"doc": "Does not log lines that are not JSON; otherwise one is logged per file and minute."},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NdjsonConfig(JsonOptions):
    """Parses each line that is a JSON object into fields of the event; any other line stays as it is."""

    not_yet: ClassVar = filebeat.NDJSON_NOT_YET
    ignored: ClassVar = filebeat.NDJSON_IGNORED
    target: str = field(
        default="", metadata={"doc": "The field, dotted, that the members are written to; the event itself when empty."}
    )

    def check(self) -> Iterator[Finding]:
        parts = self.target.split(".")
        if parts[0] in _TAKEN:
            yield "target", f"'{parts[0]}' is not an object that could take members; choose another field"
        elif self.target and "" in parts:
            yield "target", f"{self.target!r} has an empty name between its dots"


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonSection(JsonOptions):
    """`json.*`, which becomes the parser, even if it is `{}`."""

    keys_under_root: bool = field(
        default=False, metadata={"doc": "Puts the members at the top level of the event; otherwise below `json`."}
    )

    def converted(self) -> NdjsonConfig:
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
    """Passes on only messages that match a pattern, at its place among the parsers."""

    since: ClassVar = "0.2"
    patterns: tuple[Pattern, ...] = field(
        metadata={"doc": "Only messages that match one of these are passed on.", "check": not_empty}
    )
