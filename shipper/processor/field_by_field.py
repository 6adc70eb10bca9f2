"""Processors that process several fields the same way: all or none (`fail_on_error`), or as many as possible."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.fields import MISSING, Path, ProcessorError, dotted, roots

Step = Callable[[Event], None]


class FieldByField:
    """`steps` touch only these `paths`; None if unknown in advance. A step that raises ProcessorError, or
    RecursionError for a deeply nested value, has changed nothing."""

    def __init__(self, steps: Sequence[Step], paths: Sequence[Path] | None, *, fail_on_error: bool) -> None:
        self._steps = steps
        self._members = None if paths is None else frozenset(path[0] for path in paths)
        self._fail_on_error = fail_on_error
        self.touches = None if paths is None else roots(*paths)

    def apply(self, event: Event) -> None:
        if not self._fail_on_error:
            for step in self._steps:
                with suppress(ProcessorError, RecursionError):
                    step(event)
            return
        if len(self._steps) == 1:
            self._steps[0](event)
            return
        before = Saved.from_event(event, self._members)
        try:
            for step in self._steps:
                step(event)
        except (ProcessorError, RecursionError):
            before.restore(event)
            raise


def value_of(event: Event, path: Path, *, ignore_missing: bool) -> Any:
    """Return the value of a field; MISSING only with `ignore_missing`. Raises ProcessorError."""
    value = event.get(path)
    if value is MISSING and not ignore_missing:
        raise ProcessorError(f"field {dotted(path)} is missing")
    return value


def text_in(event: Event, path: Path, *, ignore_missing: bool) -> str | None:
    """Return the text in a field; None only with `ignore_missing`. Raises ProcessorError."""
    value = value_of(event, path, ignore_missing=ignore_missing)
    if value is MISSING:
        return None
    if not isinstance(value, str):
        raise ProcessorError(f"field {dotted(path)} is not a string")
    return value


def on_text(source: Path, change: Callable[[str], str], ignore_missing: bool, to: Path | None = None) -> Step:
    """Return a step that writes the result of `change` to `to`, or to the same field."""

    def step(event: Event) -> None:
        value = text_in(event, source, ignore_missing=ignore_missing)
        if value is None:
            return
        result = change(value)
        if to is not None or result != value:
            event.put(to or source, result)

    return step


@dataclass(slots=True)  # not frozen: one is created per event, which would take three times as long
class Saved:
    """Saved members of an event, by top-level name: `names`, or all for None. Message and flags are always saved."""

    names: frozenset[str] | None
    text: str
    flags: tuple[str, ...] | None
    members: Doc

    @classmethod
    def from_event(cls, event: Event, names: frozenset[str] | None) -> "Saved":
        messages, index = event.events.messages, event.index
        doc = messages.docs[index] if messages.docs else {}
        members = {name: copied(doc[name]) for name in _among(doc, names)}
        return cls(names, messages.texts[index], messages.flags.get(index), members)

    def restore(self, event: Event) -> None:
        messages, index = event.events.messages, event.index
        doc = messages.documents()[index]
        for name in _among(doc, self.names):
            del doc[name]
        doc.update(self.members)
        messages.texts[index] = self.text
        messages.flags.pop(index, None)
        if self.flags is not None:
            messages.flags[index] = self.flags


def _among(doc: Doc, names: frozenset[str] | None) -> list[str]:
    if names is None:
        return list(doc)
    own = list(names.intersection(doc))
    if "." in "".join(doc):
        own += [name for name in doc if "." in name and name.partition(".")[0] in names]
    return own
