"""The events of a batch while processors work on them: fields are read and written by path, wherever they are kept.

An event's members lie in three places (event.py): columns of the batch, the event's own document, and the constants
of its file. Reading looks through them in this order. Writing makes a copy of a constant member in the event's own
document first, so nothing is ever changed for the neighbours.

`log.offset`, `log.length` and `log.file.id` stay, whatever a processor says: the sink tells repeats by them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from shipper.event import GONE, Batch, Constants, Doc, Messages, Source, add_flag
from shipper.processor.fields import MISSING, ROOTS_OF_EVENTS, Path, copied, find, remove, store
from shipper.record import timestamp

KEPT: frozenset[Path] = frozenset({("log", "offset"), ("log", "length"), ("log", "file", "id")})
_NOTHING: Doc = {}


class Events:
    """`dropped` holds the indices of events that go no further; their bytes stay counted in the batch."""

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
        """The value, which must not be changed in place, or MISSING."""
        name, docs = path[0], self.messages.docs
        doc = _NOTHING if docs is None else docs[index]
        if name == "message" and (text := self.messages.texts[index]):
            return text if len(path) == 1 else MISSING
        if name in doc and name != "log":
            found = find(doc, path)
            return MISSING if found is GONE else found
        if name == "log":
            return self._log(index, doc, path)
        if name == "@timestamp":
            return timestamp(self.batch.time) if len(path) == 1 else MISSING
        found = find(self.constants, path)
        # A key of the event's own may hold the dots itself.
        return doc.get(".".join(path), MISSING) if found is MISSING else found

    def put(self, index: int, path: Path, value: Any) -> None:
        """Write a field and the objects above it. Raises FieldError where one of these is no object.

        A container becomes the event's own: what is part of the configuration must be `copied` first.
        """
        if path in KEPT:
            return
        name, doc = path[0], self.messages.documents()[index]
        if name == "message" and len(path) == 1:
            is_text = isinstance(value, str) and value != ""
            self.texts[index] = value if is_text else ""
            doc.pop("message", None)
            if not is_text:
                doc["message"] = value
        elif name == "log" and len(path) == 1:
            for key, each in (value if isinstance(value, dict) else {}).items():
                self.put(index, ("log", key), each)
        elif path == ("log", "file"):
            store(self._own(index, "log"), ("file",), {**(value if isinstance(value, dict) else {}), **self._id(index)})
        elif len(path) == 1:
            doc[name] = value
        else:
            store(self._own(index, name), path[1:], value)

    def delete(self, index: int, path: Path) -> bool:
        """Whether there was such a field, which is gone now."""
        if path in KEPT or path == ("@timestamp",) or self.get(index, path) is MISSING:
            return False
        name, doc = path[0], self.messages.documents()[index]
        if path in (("log",), ("log", "file")):
            own = {} if len(path) == 1 else self._own(index, "log")
            doc["log"] = {**own, "file": self._id(index)}
            if len(path) == 1:
                self.messages.flags.pop(index, None)
        elif path == ("log", "flags"):
            self.messages.flags.pop(index, None)
        elif len(path) == 1:
            if name == "message":
                self.texts[index] = ""
            doc.pop(name, None)
            if name in self.constants:
                doc[name] = GONE
        else:
            remove(self._own(index, name), path[1:]) or remove(doc, path)
        return True

    def names(self, index: int) -> list[str]:
        """The names of the event's top-level members."""
        docs = self.messages.docs
        doc = _NOTHING if docs is None else docs[index]
        own = [name for name, value in doc.items() if value is not GONE]
        shared = [name for name in self.constants if name not in doc]
        return list(dict.fromkeys(["@timestamp", *(["message"] if self.texts[index] else []), "log", *own, *shared]))

    def drop(self, index: int) -> None:
        self.dropped.add(index)

    def flag(self, index: int, name: str) -> None:
        """Add to `log.flags`."""
        self.messages.flags[index] = add_flag(self.messages.flags.get(index, ()), name)

    def fail(self, index: int, kind: str, message: str) -> None:
        """Note in the event what could not be done with it; `kind` is who says so."""
        doc = self.messages.documents()[index]
        before = self.get(index, ("error", "message"))
        doc["error"] = {"message": message if before is MISSING else f"{before}; {message}", "type": kind}

    def shadows(self, roots: frozenset[str]) -> bool:
        """Whether an event has a member of its own of one of these names."""
        docs = self.messages.docs
        if not roots.isdisjoint(ROOTS_OF_EVENTS):
            return True
        names = roots | {"log"} if "log.file" in roots else roots
        return docs is not None and any(not names.isdisjoint(doc) for doc in docs)

    def share(self, owner: object, change: Callable[[Events], None]) -> None:
        """Change what all events of the batch share, as if it were one event; `owner` has the same outcome for the
        same constants, so it is asked once for a file."""
        before = self.batch.constants
        if owner not in before.became:
            alone = Messages(0, 0, [""], [0], [0], docs=[copied(before.members)])
            event = Events(Batch(_nowhere(self.batch.source), alone, self.batch.time, _resolve))
            change(event)
            after = {name: value for name, value in alone.documents()[0].items() if value is not GONE}
            before.became[owner] = Constants(after)
        self.batch.constants = before.became[owner]
        self.constants = self.batch.constants.members

    def finish(self) -> None:
        """Take out what was dropped."""
        if self.dropped:
            self.messages.select([index for index in range(len(self.texts)) if index not in self.dropped])

    def _own(self, index: int, name: str) -> Any:
        """The event's own copy of a member, an empty object where there is none."""
        doc = self.messages.documents()[index]
        if name == "message" and self.texts[index]:
            return self.texts[index]
        if name == "log":
            own = doc.setdefault("log", {})
            if "file" not in own:
                own["file"] = copied(self.constants["log"]["file"])
            return own
        if name not in doc or doc[name] is GONE:
            doc[name] = copied(self.constants[name]) if name in self.constants and name not in doc else {}
        return doc[name]

    def _id(self, index: int) -> Doc:
        return {"id": self.get(index, ("log", "file", "id"))}

    def _log(self, index: int, doc: Doc, path: Path) -> Any:
        messages = self.messages
        columns: Doc = {"offset": messages.offsets[index], "length": messages.lengths[index]}
        if index in messages.flags:
            columns["flags"] = list(messages.flags[index])
        if len(path) > 1 and path[1] in columns:
            return columns[path[1]] if len(path) == 2 else MISSING
        own, shared = doc.get("log", _NOTHING), self.constants.get("log", _NOTHING)
        if len(path) == 1:
            return {**columns, **shared, **own}
        found = find(own, path[1:])
        return found if found is not MISSING or path[1] in own else find(shared, path[1:])


class Event:
    """One event of a batch, for processors that look at one at a time. `index` moves on; the object stays."""

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

    def flag(self, name: str) -> None:
        self.events.flag(self.index, name)

    def fail(self, kind: str, message: str) -> None:
        self.events.fail(self.index, kind, message)


def _nowhere(source: Source) -> Source:
    """A source without constants: all that the file's events share is in the one event's own document."""
    return Source(
        source.file_id, source.path, source.inode, source.device, source.input_id, source.input_type,
        Constants({"log": {"file": {"id": source.file_id}}}),
    )  # fmt: skip


def _resolve() -> None:
    """Nothing waits for the pseudo event."""


def all_of(events: Events, at: Sequence[int]) -> bool:
    """Whether the indices are those of all events that were not dropped."""
    return len(at) == len(events.texts) - len(events.dropped)
