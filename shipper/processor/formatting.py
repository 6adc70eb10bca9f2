"""Format strings of the configuration, applied to the events of a batch."""

from datetime import UTC, datetime
from typing import Any

from log_shipper.config.text.format_strings import FieldPart, FormatPart, TimePart, parse_format
from log_shipper.shipper.event import Batch
from log_shipper.shipper.formats.text import dumps, without_surrogates
from log_shipper.shipper.processor.events import Events
from log_shipper.shipper.processor.fields import Path, path_of, roots

TIMESTAMP = ("@timestamp",)


class NoText(ValueError):
    """Raised when an event has no text for a format string; the message is the reason."""


class Formatter:
    """A format string. `fields`: the roots of the fields that it reads."""

    def __init__(self, text: str) -> None:
        """Parse the format string. Raises ValueError."""
        self._parts: tuple[FormatPart, ...] = parse_format(text)
        self._paths: dict[str, Path] = {
            part.name: path_of(part.name) for part in self._parts if isinstance(part, FieldPart)
        }
        self._is_message = self._parts == (FieldPart("message"),)
        self._has_time = any(isinstance(part, TimePart) for part in self._parts)
        self.fields = roots(*self._paths.values()) | ({"@timestamp"} if self._has_time else frozenset())

    @property
    def fixed(self) -> str | None:
        """Return the text of all events; None if it depends on the event."""
        is_fixed = all(isinstance(part, str) for part in self._parts)
        return "".join(str(part) for part in self._parts) if is_fixed else None

    def text(self, events: Events, index: int) -> str:
        """Return the text of an event. Raises NoText."""
        pieces = []
        for part in self._parts:
            match part:
                case str():
                    pieces.append(part)
                case FieldPart(name, default):
                    pieces.append(_text(name, default, events.get(index, self._paths[name])))
                case TimePart():
                    pieces.append(part.text(_moment(events, index)))
        return "".join(pieces)

    def texts(self, batch: Batch) -> tuple[list[str], dict[int, str]]:
        """Return the text of each event, valid in UTF-8, and the reasons of those without one, by index: their text is
        empty. What all events of the batch share is evaluated once."""
        events = Events(batch)
        reasons: dict[int, str] = {}
        if self._is_message:  # the usual format for unchanged lines
            texts = batch.messages.texts
            if all(texts):
                return _valid(list(texts)), reasons
        indices = range(min(batch.events, 1) if is_shared(events, self.fields) else batch.events)
        made = []
        for index in indices:
            try:
                made.append(self.text(events, index))
            except NoText as error:
                made.append("")
                reasons[index] = str(error)
        if len(made) < batch.events:
            made *= batch.events
            reasons = dict.fromkeys(range(batch.events), reasons[0]) if reasons else reasons
        return _valid(made), reasons


def _valid(texts: list[str]) -> list[str]:
    joined = "".join(texts)
    if joined.isascii() or without_surrogates(joined) == joined:
        return texts
    return [without_surrogates(text) for text in texts]


def is_shared(events: Events, fields: frozenset[str]) -> bool:
    """Return True if all events of the batch have the same values of these fields, given by root."""
    # An event without its own time has that of the batch.
    return not events.shadows(fields - {"@timestamp"}) and not ("@timestamp" in fields and _has_own_time(events))


def _has_own_time(events: Events) -> bool:
    docs = events.messages.docs
    return docs is not None and any("@timestamp" in doc for doc in docs)


def _text(name: str, default: str | None, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, dict | list):
        return dumps(value)
    if default is not None:
        return default
    raise NoText(f"the event has no field {name}")


def _moment(events: Events, index: int) -> datetime:
    text = events.get(index, TIMESTAMP)
    return datetime.fromisoformat(text).astimezone(UTC)
