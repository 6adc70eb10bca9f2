"""The events of a batch during processing: fields are read and written by path, wherever they are stored.

Members of an event are stored in three places (event.py), searched in this order: columns of the batch, the event's own
document, and the constants of its file. Before a constant member is written, it is copied into the event's document, so
that other events do not change.

`@timestamp` cannot be removed, only changed; some members of `log` cannot be changed (log_member.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from log_shipper.shipper.event import DELETED, Batch, Constants, Doc, Messages, Source, add_flag
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.formats.record import timestamp
from log_shipper.shipper.formats.times import rfc3339
from log_shipper.shipper.processor.fields import MISSING, ROOTS_OF_EVENTS, FieldError, Path, find, remove, store
from log_shipper.shipper.processor.log_member import delete_log, get_log, is_kept, put_log

_SPECIAL = frozenset({"message", "@timestamp", "log"})
_NOTHING: Doc = {}


class Events:
    """`dropped`: indices of events that are not sent; their bytes still count in the batch."""

    __slots__ = ("batch", "constants", "dropped", "messages")

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.messages: Messages = batch.messages
        self.constants: Doc = batch.constants.members
        self.dropped: set[int] = set()

    @property
    def texts(self) -> list[str]:
        return self.messages.texts

    def get(self, index: int, path: Path) -> Any:
        """Return the value, not to be changed in place, or MISSING."""
        name, docs = path[0], self.messages.docs
        doc = _NOTHING if docs is None else docs[index]
        if name == "message" and (text := self.messages.texts[index]):
            return text if len(path) == 1 else MISSING
        if name == "log":
            value = get_log(self.messages, self.constants, index, path)
        elif name in doc:
            value = find(doc, path)
            return MISSING if value is DELETED else value
        elif name == "@timestamp":
            return timestamp(self.batch.time) if len(path) == 1 else MISSING
        else:
            value = find(self.constants, path)
        # A key of the event itself may contain dots.
        return doc.get(".".join(path), MISSING) if value is MISSING and len(path) > 1 else value

    def put(self, index: int, path: Path, value: Any) -> None:
        """Write a field, creating the objects above it. Raises FieldError if one of these is not an object, or the
        value is invalid for the field.

        The event owns a written container: one from the configuration must be `copied` first. An object written to
        `log` is merged with the existing one.
        """
        name, doc = path[0], self.messages.documents()[index]
        if len(path) > 1 and (key := ".".join(path)) in doc:
            doc[key] = value
        elif name in _SPECIAL:
            self._put_special(index, doc, path, value)
        elif len(path) == 1:
            doc[name] = value
        else:
            self._own(index, name)
            store(doc, path, value)

    def delete(self, index: int, path: Path) -> bool:
        """Remove the field; return True if it existed."""
        if path[0] == "@timestamp" or is_kept(path) or self.get(index, path) is MISSING:
            return False
        name, doc = path[0], self.messages.documents()[index]
        if len(path) > 1 and (key := ".".join(path)) in doc:
            del doc[key]
        elif name == "log":
            delete_log(self.messages, self.constants, index, path)
        elif len(path) > 1:
            remove(self._own(index, name), path[1:])
        elif name == "message":
            self.texts[index] = ""
            doc.pop(name, None)
        else:
            doc.pop(name, None)
            if name in self.constants:
                doc[name] = DELETED
        return True

    def names(self, index: int) -> list[str]:
        """Return the names of the event's top-level members."""
        own = self.own_names(index)
        doc = _NOTHING if self.messages.docs is None else self.messages.docs[index]
        return [*own, *(name for name in self.constants if name not in doc and name not in own)]

    def own_names(self, index: int) -> list[str]:
        """Return the names of members that are not, or not only, constants of the file."""
        docs = self.messages.docs
        doc = _NOTHING if docs is None else docs[index]
        own = [name for name, value in doc.items() if value is not DELETED]
        return list(dict.fromkeys(["@timestamp", *(["message"] if self.texts[index] else []), "log", *own]))

    def flag(self, index: int, name: str) -> None:
        """Add to `log.flags`."""
        self.messages.flags[index] = add_flag(self.messages.flags.get(index, ()), name)

    def fail(self, index: int, kind: str, message: str, **added: str) -> None:
        """Add the message, and the members `added`, to the event's `error`; `kind` is the processor."""
        error = self.get(index, ("error",))
        members = copied(error) if isinstance(error, dict) else {}
        before = members.get("message") if isinstance(error, dict) else error
        text = f"{before}; {message}" if isinstance(before, str) and before else message
        self.messages.documents()[index]["error"] = {**members, **added, "message": text, "type": kind}

    def shadows(self, roots: frozenset[str]) -> bool:
        """Return True if an event has its own member of one of these names."""
        docs = self.messages.docs
        if not roots.isdisjoint(ROOTS_OF_EVENTS):
            return True
        if not docs:
            return False
        names = roots | {"log"} if "log.file" in roots else roots
        if not names.isdisjoint(docs[0]):
            return True
        own = set().union(*docs)
        return not names.isdisjoint(own) or not names.isdisjoint([name.partition(".")[0] for name in own])

    def share(self, owner: object, change: Callable[[Events], None]) -> None:
        """Apply `change` to the constants of the batch, as if they were one event. The result is cached by `owner` and
        constants, so it is computed once per file."""
        before = self.batch.constants
        if owner not in before.derived:
            alone = Messages(0, 0, [""], [0], [0], docs=[copied(before.members)])
            event = Events(Batch(_without_constants(self.batch.source), alone, self.batch.time, _resolve))
            change(event)
            after = {name: value for name, value in alone.documents()[0].items() if value is not DELETED}
            before.derived[owner] = Constants(after)
            before.derived[owner].flags = alone.flags.get(0, ())
        self.batch.constants = before.derived[owner]
        self.constants = self.batch.constants.members
        for name in self.batch.constants.flags:
            for index in range(len(self.texts)):
                self.flag(index, name)
        # DELETED hides a constant; without the constant it would be written as a member.
        for name in before.members.keys() - self.constants.keys() if self.messages.docs else ():
            for doc in self.messages.docs or ():
                if doc.get(name) is DELETED:
                    del doc[name]

    def finish(self) -> None:
        """Remove the dropped events."""
        if self.dropped:
            self.messages.select([index for index in range(len(self.texts)) if index not in self.dropped])

    def _put_special(self, index: int, doc: Doc, path: Path, value: Any) -> None:
        """Write a member that is not, or not only, in the event's own document."""
        name = path[0]
        if name == "log":
            put_log(self.messages, self.constants, index, path, value)
        elif len(path) > 1 and (name == "@timestamp" or self.texts[index]):
            raise FieldError(f"{'.'.join(path)} cannot be written: {name} is not an object")
        elif len(path) > 1:
            store(doc, path, value)
        elif name == "@timestamp":
            time = rfc3339(value) if isinstance(value, str) else None
            if time is None:
                raise FieldError(f"@timestamp cannot be {value!r}: write it as 2026-11-21T09:30:00.123Z")
            doc[name] = time
        else:
            is_text = isinstance(value, str) and value != ""
            self.texts[index] = value if is_text else ""
            doc.pop(name, None)
            if not is_text:
                doc[name] = value

    def _own(self, index: int, name: str) -> Any:
        """Return the event's own copy of a member, or an empty object."""
        doc = self.messages.documents()[index]
        if name not in doc or doc[name] is DELETED:
            doc[name] = copied(self.constants[name]) if name in self.constants and name not in doc else {}
        return doc[name]


class Event:
    """One event of a batch, for processors of single events. The object is reused with another `index`."""

    __slots__ = ("events", "index")

    def __init__(self, events: Events, index: int = 0) -> None:
        self.events = events
        self.index = index

    def get(self, path: Path) -> Any:
        return self.events.get(self.index, path)

    def put(self, path: Path, value: Any) -> None:
        self.events.put(self.index, path, value)

    def delete(self, path: Path) -> bool:
        return self.events.delete(self.index, path)

    def names(self) -> list[str]:
        return self.events.names(self.index)

    def flag(self, name: str) -> None:
        self.events.flag(self.index, name)

    def fail(self, kind: str, message: str, **added: str) -> None:
        self.events.fail(self.index, kind, message, **added)


def _without_constants(source: Source) -> Source:
    """Return the source without constants: those are in the document of the pseudo event."""
    return Source(
        source.file_id,
        source.path,
        source.inode,
        source.device,
        source.input_id,
        source.input_type,
        Constants({"log": {"file": {"id": source.file_id}}}),
    )


def _resolve() -> None:
    """Do nothing: no one waits for the pseudo event."""


def all_of(events: Events, indices: Sequence[int]) -> bool:
    """Return True if the indices are all events that were not dropped."""
    return len(indices) == len(events.texts) - len(events.dropped)
