"""Merges the members of a JSON object into an event that has its own members.

The event's own members come from an earlier parser or are shared by all records of the file. With `overwrite_keys` the
JSON's win, otherwise the event's; either way objects are merged, `tags` of both are kept, and fields of the
configuration win: they may choose the topic. `log.offset`, `log.length`, `log.flags` and `log.file.id` are never
replaced, because the sink recognises duplicates by them: such members of a JSON's `log` go to `json.log`, and so does a
member whose type differs from that in a record (`json.host`).
"""

from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_fields import (
    TYPED,
    ConflictError,
    add_error,
    copied,
    expand,
    merge,
    pop_text,
    set_aside,
    validate_root,
    without_null,
)
from log_shipper.shipper.formats.record import BUILT_IN
from log_shipper.shipper.metrics import Metrics

OURS_IN_LOG = ("offset", "length", "flags")


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonOptions:
    """The common options of `ndjson` and `json.*`."""

    since: ClassVar = "0.3"
    overwrite_keys: bool = field(
        default=False,
        metadata={"doc": "Whether members of the JSON object replace existing fields of the same name."},
    )
    expand_keys: bool = field(
        default=False, metadata={"doc": 'Whether dotted names such as `{"a.b": 1}` are expanded into objects.'}
    )
    add_error_key: bool = field(
        default=False,
        metadata={"doc": "Whether the reason of a failure is written to `error.message`; `error.type` is json."},
    )
    message_key: str = field(
        default="", metadata={"doc": "The member that becomes the message for the parsers and filters that follow."}
    )
    document_id: str = field(
        default="", metadata={"doc": "The member, dotted, that becomes `@metadata._id`; must be a string."}
    )
    ignore_decoding_error: bool = field(
        default=False,
        metadata={
            "doc": "Whether lines that are not JSON are not logged; otherwise one is logged per file and minute."
        },
    )


class JsonMembers:
    """`message`: the member that is the message, required if `strict`. `apart`: names of members that need special
    treatment. `easy`: an object without those may be the document unchanged. `metrics` counts faulty objects."""

    def __init__(self, config: JsonOptions, target: str, shared: Doc, metrics: Metrics, *, keep_null: bool) -> None:
        self._config = config
        self._shared = shared
        self._metrics = metrics
        self._keep_null = keep_null
        self._target = tuple(target.split(".")) if target else ()
        self._configured = frozenset(shared) - BUILT_IN
        # The message is checked in any case.
        self.apart = frozenset(("@timestamp", "@metadata", "type", *shared, *TYPED)) - {"message"}
        if not config.overwrite_keys:
            self.apart -= {"type"}
        self.message = config.message_key or "message"
        self.strict = config.message_key != ""
        self.easy = not (target or config.document_id or config.expand_keys)

    def merge(self, text: str, fields: Doc, doc: Doc) -> tuple[str, Doc]:
        """Return the message and the document of an event, from a JSON text, its members, and the previous document of
        the event."""
        config, problems = self._config, list[str]()
        if not self._keep_null and "null" in text:
            fields = without_null(fields)
        message = self._message(fields, problems)
        if config.message_key == "log" and isinstance(fields.get("log"), str):
            del fields["log"]  # it is the message
        name = pop_text(fields, config.document_id) if config.document_id else None
        if config.expand_keys:
            try:
                fields = expand(fields)
            except ConflictError as error:
                problems.append(str(error))
        if self._target:
            self._put_below(doc, fields)
        else:
            problems += validate_root(fields, overwrite=config.overwrite_keys)
            self._put(doc, fields, overwrite=config.overwrite_keys)
        if name is not None:
            self._put(doc, {"@metadata": {"_id": name}}, overwrite=True)
        if problems:
            self._metrics.processor_failures += 1
        if config.add_error_key:
            for problem in problems:
                add_error(doc, problem)
        return self._text(text, message, doc), doc

    def _message(self, fields: Doc, problems: list[str]) -> str:
        key = self._config.message_key
        if not key:
            return ""
        value = fields.get(key)
        if isinstance(value, str):
            return value
        problems.append(f"Value of key '{key}' is not a string" if key in fields else f"Key '{key}' not found")
        return ""

    def _text(self, text: str, message: str, doc: Doc) -> str:
        """Return the text of the event. If it is not empty, it is removed from the document."""
        if not message and isinstance(doc.get("message"), str):
            message = doc["message"]
        if message:
            doc.pop("message", None)
        return message if message or doc else text  # an empty object is all that the line has

    def _put_below(self, doc: Doc, fields: Doc) -> None:
        for name in reversed(self._target):
            fields = {name: fields}
        self._put(doc, fields, overwrite=True)

    def _put(self, doc: Doc, fields: Doc, *, overwrite: bool) -> None:
        if not doc and self.apart.isdisjoint(fields):
            doc.update(fields)
            return
        log = fields.pop("log", None)
        self._put_tags(doc, fields)
        borrowed = [name for name in fields if name in self._shared and name not in doc]
        for name in borrowed:
            doc[name] = copied(self._shared[name])
        for name, value in fields.items():
            merge(doc, {name: value}, overwrite=overwrite and name not in self._configured)
        for name in borrowed:
            if doc[name] == self._shared[name]:
                del doc[name]  # unchanged
        if log is not None:
            self._put_log(doc, log, overwrite=overwrite)

    def _put_tags(self, doc: Doc, fields: Doc) -> None:
        theirs, ours = fields.get("tags"), doc.get("tags", self._shared.get("tags"))
        if isinstance(theirs, list) and isinstance(ours, list):
            doc["tags"] = [*theirs, *(tag for tag in ours if tag not in theirs)]
            del fields["tags"]

    def _put_log(self, doc: Doc, log: Doc, *, overwrite: bool) -> None:
        aside = {name: log.pop(name) for name in OURS_IN_LOG if name in log}
        own = doc.get("log", {})
        if "file" in log:
            file = log.pop("file")
            if isinstance(file, dict):
                if "id" in file:
                    aside["file"] = {"id": file.pop("id")}
                shared = self._shared.get("log", {}).get("file", {})
                known = own.get("file") or copied(shared)
                merge(known, file, overwrite=overwrite)
                if known != shared:
                    own["file"] = known
            else:
                aside["file"] = file
        merge(own, log, overwrite=overwrite)
        if own:
            doc["log"] = own
        if aside:
            if "json" in self._shared and "json" not in doc:
                doc["json"] = copied(self._shared["json"])
            set_aside(doc, "log", aside)
