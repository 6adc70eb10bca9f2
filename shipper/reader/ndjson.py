"""Decodes messages that are JSON objects into members of their events.

A column of texts goes through one loop. A plain object becomes the event's document as it is; an object that needs more
(for an option, a null, a name that the event has already) is merged by `JsonMembers`, one message at a time. A message
that is not a JSON object stays as it is: no event is lost for its form.
"""

import logging

import orjson

from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Doc, Messages
from log_shipper.shipper.formats.json_fields import SURELY_FLAT, NotJsonError, add_error, is_deep, parse
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.ndjson import NdjsonConfig
from log_shipper.shipper.reader.base import Reader
from log_shipper.shipper.reader.json_members import JsonMembers

logger = logging.getLogger(__name__)


class NdjsonReader:
    """`shared`: the members that all records of the file have. With `keep_null` members that are null stay."""

    def __init__(
        self, reader: Reader, config: NdjsonConfig, shared: Doc, clock: Clock, metrics: Metrics, *, keep_null: bool
    ) -> None:
        self._reader = reader
        self._config = config
        self._members = JsonMembers(config, shared, metrics, keep_null=keep_null)
        self._metrics = metrics
        self._keep_null = keep_null
        self._path = shared.get("log", {}).get("file", {}).get("path", "")
        # A file of another format has as many errors as lines.
        self._throttle = Throttle(clock.monotonic)

    @property
    def pending_since(self) -> float | None:
        return self._reader.pending_since

    def next(self) -> Messages | None:
        return self._decode(self._reader.next())

    def finish(self) -> Messages | None:
        return self._decode(self._reader.finish())

    def _decode(self, messages: Messages | None) -> Messages | None:
        if messages is None or not messages.texts:
            return messages
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
                texts[index], doc = members.of(text, doc, before[index] if before else {})
            elif type(message := doc.get(key)) is str and message:
                texts[index] = message
                if takes:
                    del doc[key]
                else:
                    doc.pop("message", None)
            elif members.strict or "message" in doc:
                texts[index], doc = members.of(text, doc, {})
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
                return self._members.of(text, value, doc)
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
        others = f", and so were {count} others since the last report" if count else ""
        logger.warning(
            "%s: the line at offset %d is not a JSON object (%s); it is sent as plain text%s. Leave the file out "
            "of inputs that decode JSON, or silence this by ignore_decoding_error: true (at most one a minute)",
            self._path,
            offset,
            why,
            others,
        )
