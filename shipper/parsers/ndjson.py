"""The parser `ndjson`: decodes messages that are JSON objects into fields of their events.

A column of texts is decoded in one loop. A plain object becomes the event's document unchanged; an object that needs
more (an option, a null, a name that the event has already) is merged by `JsonMembers`. A message that is not a JSON
object stays unchanged: no event is lost for its form.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import orjson

from log_shipper.config.text.checks import Finding
from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.event import Doc, Messages
from log_shipper.shipper.formats.json_fields import SURELY_FLAT, NotJsonError, add_error, is_deep, parse
from log_shipper.shipper.reader.base import MappedReader, ParserConfig, ParserContext, Reader
from log_shipper.shipper.reader.json_members import JsonMembers, JsonOptions

logger = logging.getLogger(__name__)


_TAKEN = ("@timestamp", "@metadata", "message")


@dataclass(frozen=True, slots=True, kw_only=True)
class NdjsonConfig(JsonOptions, ParserConfig):
    """Decodes lines that are JSON objects into fields of the event; any other line stays unchanged."""

    name: ClassVar = "ndjson"
    example: ClassVar = """ndjson: {message_key: msg} -> ['{"msg": "up", "code": 7}', plain] -> [up, plain]"""
    not_yet: ClassVar = {"field": "the message is always the field that is decoded"}
    ignored: ClassVar = {
        "keys_under_root": "use target for the field that receives the members; empty means the event itself"
    }
    target: str = field(
        default="", metadata={"doc": "The field, dotted, that the members are written to; the event itself when empty."}
    )

    def check(self) -> Iterator[Finding]:
        parts = self.target.split(".")
        if parts[0] in _TAKEN:
            yield "target", f"'{parts[0]}' is not an object; choose another field"
        elif self.target and "" in parts:
            yield "target", f"{self.target!r} has an empty name between its dots"

    def may_set(self, root: str) -> bool:
        return self.target == "" or self.target.partition(".")[0] == root

    def build(self, reader: Reader, context: ParserContext) -> Reader:
        return MappedReader(reader, _Ndjson(self, context).decode)


class _Ndjson:
    def __init__(self, config: NdjsonConfig, context: ParserContext) -> None:
        self._config = config
        self._members = JsonMembers(config, config.target, context.shared, context.metrics, keep_null=context.keep_null)
        self._metrics = context.metrics
        self._keep_null = context.keep_null
        self._path = context.shared.get("log", {}).get("file", {}).get("path", "")
        # A file in another format has as many errors as lines.
        self._throttle = Throttle(context.clock.monotonic)

    def decode(self, messages: Messages) -> Messages:
        texts, before = messages.texts, messages.docs
        loads, members, null = orjson.loads, self._members, "" if self._keep_null else "null"
        meets_nothing, key, takes = members.apart.isdisjoint, members.message, members.message == "message"
        easy = members.easy and before is None
        docs: list[Doc] = []
        for index, text in enumerate(texts):
            try:
                doc = loads(text)
            except orjson.JSONDecodeError:
                doc = None
            if type(doc) is not dict or (len(text) > SURELY_FLAT and is_deep(text, doc)):
                texts[index], doc = self._look_again(messages, index)
            elif not (easy and doc and meets_nothing(doc)) or (null and null in text):
                texts[index], doc = members.merge(text, doc, before[index] if before else {})
            elif type(message := doc.get(key)) is str and message:
                texts[index] = message
                if takes:
                    del doc[key]
                else:
                    doc.pop("message", None)
            elif members.strict or "message" in doc:
                texts[index], doc = members.merge(text, doc, {})
            else:
                texts[index] = ""
            docs.append(doc)
        if before is not None or any(docs):
            messages.docs = docs
        return messages

    def _look_again(self, messages: Messages, index: int) -> tuple[str, Doc]:
        """Return text and document of a message that the fast parser did not take for a JSON object."""
        text = messages.texts[index]
        doc = messages.docs[index] if messages.docs else {}
        if not text:
            return text, doc
        try:
            value = parse(text)
        except NotJsonError as error:
            why = str(error)
        else:
            if isinstance(value, dict):
                return self._members.merge(text, value, doc)
            why = "it is not an object"
        if self._config.add_error_key:
            add_error(doc, f"Error decoding JSON: {why}")
        if not self._config.ignore_decoding_error:
            self._metrics.processor_failures += 1
            self._warn(messages.offsets[index], why)
        return text, doc

    def _warn(self, offset: int, why: str) -> None:
        if not self._throttle.is_due():
            return
        count = self._throttle.suppressed
        others = f", as were {count} others since the last warning" if count else ""
        logger.warning(
            "%s: the line at offset %d is not a JSON object (%s): it is sent as plain text%s. Exclude the "
            "file from inputs that decode JSON, or silence this with ignore_decoding_error: true (logged at "
            "most once a minute)",
            self._path,
            offset,
            why,
            others,
        )
