"""Put the members of a JSON object into the document of an event: below a field, or into the event itself."""

from collections.abc import Sequence

import orjson

from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_fields import copied, without_null
from log_shipper.shipper.formats.text import dumps
from log_shipper.shipper.formats.times import rfc3339
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.reader.json_members import JsonMembers, JsonOptions


class Placing:
    """The placing of objects. `prefix`: the dotted field; `.` is the event itself, whose `@timestamp` and `message` the
    object may have. `shared`: the fields of all events of the input."""

    def __init__(self, prefix: str, shared: Doc, *, expand_keys: bool, keep_null: bool) -> None:
        target = "" if prefix == "." else prefix
        config = JsonOptions(overwrite_keys=True, add_error_key=True, expand_keys=expand_keys)
        # Not the agent's metrics, which the reading thread writes: each event has its error.
        self._members = JsonMembers(config, target, shared, Metrics(), keep_null=keep_null)
        self._apart = self._members.apart
        self._shared = shared
        self._keep_null = keep_null
        self._root = not target
        self._plain = not expand_keys and (self._root or ("." not in target and target not in shared))
        self._target = target

    def place(self, values: Sequence[Doc], *, has_null: bool) -> tuple[list[str], list[Doc]]:
        """Return the texts and the documents of events. `has_null`: some members may be null."""
        if has_null and not self._keep_null:
            values = [without_null(value) for value in values]
        if not self._plain:
            return self._place_each(values)
        if not self._root:
            target = self._target
            return [""] * len(values), [{target: value} for value in values]
        return self._place_at_root(values)

    def _place_at_root(self, values: Sequence[Doc]) -> tuple[list[str], list[Doc]]:
        meets_nothing, merge = self._apart.isdisjoint, self._members.merge
        texts, docs = list[str](), list[Doc]()
        for value in values:
            time = value.pop("@timestamp", None)  # nearly all have it, and few of the others
            valid = rfc3339(time) if type(time) is str else None
            message = value.get("message", "")
            if not (value and meets_nothing(value)) or (valid is None and time is not None) or type(message) is not str:
                if time is not None:
                    value["@timestamp"] = time
                text, value = merge(_text(value), value, {})
            else:
                text = message
                if text:
                    del value["message"]
                if valid is not None:
                    value["@timestamp"] = valid
            texts.append(text)
            docs.append(value)
        return texts, docs

    def _place_each(self, values: Sequence[Doc]) -> tuple[list[str], list[Doc]]:
        placed = [self._members.merge(_text(value), value, {}) for value in values]
        return [text for text, _ in placed], [doc for _, doc in placed]

    def add(self, docs: Sequence[Doc], headers: Doc) -> None:
        """Put the headers of the request into documents."""
        for doc in docs:
            doc["headers"] = copied(headers)

    def keep_originals(self, docs: Sequence[Doc], originals: Sequence[str]) -> None:
        """Put the original texts of the events into `event.original`."""
        shared = self._shared.get("event")
        for doc, original in zip(docs, originals, strict=True):
            event = doc.get("event", shared)
            doc["event"] = {**(copied(event) if isinstance(event, dict) else {}), "original": original}


def _text(value: Doc) -> str:
    """Return an object as text. Only an empty one needs it: it is all that the event has."""
    return "" if value else "{}"


def original(value: Doc) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a surrogate
        return dumps(value)
