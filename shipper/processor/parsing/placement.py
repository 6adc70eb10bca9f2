"""Writes all extracted values into an event, or none."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.processor.events import Event
from log_shipper.shipper.processor.field_by_field import Saved
from log_shipper.shipper.processor.fields import MISSING, Path, ProcessorError, dotted

_MESSAGE: Path = ("message",)
# Members that are not, or not only, in the event's document.
_IN_COLUMNS = frozenset({"message", "@timestamp"})
_OF_LOG = frozenset({("log",), ("log", "offset"), ("log", "length"), ("log", "flags"), ("log", "file")})


def put_all(event: Event, paths: Sequence[Path], values: Sequence[Any], *, overwrite: bool) -> None:
    """Write the values that are not None. Raises ProcessorError, and then changes nothing."""
    pairs = [(path, value) for path, value in zip(paths, values, strict=True) if value is not None]
    existing = None if overwrite else next((path for path, _ in pairs if event.get(path) is not MISSING), None)
    if existing is not None:
        raise ProcessorError(f"{dotted(existing)} already exists; set overwrite_keys, or drop or rename it first")
    saved = Saved.from_event(event, frozenset(path[0] for path, _ in pairs))
    try:
        for path, value in pairs:
            event.put(path, value)
    except ProcessorError:
        saved.restore(event)
        raise


class Placement:
    """`put_all` for paths known in advance, none of which is above another.

    An event without members of these names, the usual case, gets whole objects at once: writing each value through
    `Event` would take most of the processor's time.
    """

    def __init__(self, paths: Sequence[Path], *, overwrite: bool) -> None:
        self._paths = tuple(paths)
        self._overwrite = overwrite
        self._members = frozenset(path[0] for path in paths)
        self._text_index = self._paths.index(_MESSAGE) if overwrite and _MESSAGE in self._paths else None
        # Objects to create, by parent number and name; 0 is the document. Then the places of values in them.
        self._numbers: dict[Path, int] = {}
        self._objects: list[tuple[int, str]] = []
        self._places: list[tuple[int, int, str]] = []
        # Values alone in a top-level object: its name, and the reversed names below it.
        self._alone: list[tuple[int, str, Path]] = []
        self._constants: Doc | None = None
        self._free = False
        # Constants with the names of our objects: the event's own objects begin as copies.
        self._shared: list[tuple[int, Doc]] = []

    def write(self, event: Event, values: Sequence[Any]) -> None:
        """Write the values, as `put_all` does."""
        events = event.events
        if events.constants is not self._constants:
            self._look_at(events.constants)
        doc = (events.messages.docs or events.messages.documents())[event.index]
        # A key of the event may contain dots: one that begins with one of our names counts too.
        free = self._free and (not doc or self._members.isdisjoint([name.partition(".")[0] for name in doc]))
        if free and self._text_index is not None:
            text = values[self._text_index]
            free = text is None or (isinstance(text, str) and text != "")
            if free and text is not None:
                events.messages.texts[event.index] = text
        if free:
            self._fill(doc, values)
        else:
            put_all(event, self._paths, values, overwrite=self._overwrite)

    def _look_at(self, constants: Doc) -> None:
        self._constants = constants
        roots = [name for name in self._members if name in constants]
        self._free = all(map(self._is_plain, self._paths)) and all(self._can_begin_as(n, constants[n]) for n in roots)
        if self._free:
            self._plan(frozenset(roots))
            self._shared = [(self._numbers[(name,)], constants[name]) for name in roots]

    def _plan(self, shared: frozenset[str]) -> None:
        uses = Counter(path[0] for path in self._paths)
        self._numbers, self._objects, self._alone, self._places = {(): 0}, [], [], []
        for index, path in enumerate(self._paths):
            if len(path) > 1 and uses[path[0]] == 1 and path[0] not in shared:
                self._alone.append((index, path[0], path[:0:-1]))
            elif index != self._text_index:
                self._places.append((index, self._number(path[:-1]), path[-1]))

    def _number(self, above: Path) -> int:
        """Return the number of the object at this path, planning a new one if needed."""
        if above not in self._numbers:
            self._objects.append((self._number(above[:-1]), above[-1]))
            self._numbers[above] = len(self._objects)
        return self._numbers[above]

    def _is_plain(self, path: Path) -> bool:
        """Return True if the path is stored only in the event's document."""
        if path == _MESSAGE:
            return self._overwrite
        return path[0] not in _IN_COLUMNS and path[:2] not in _OF_LOG

    def _can_begin_as(self, name: str, shared: Any) -> bool:
        """Return True if the shared value is an object without any of the members to write."""
        below = [path for path in self._paths if path[0] == name]
        if not isinstance(shared, dict) or (name,) in below:
            return False
        return shared.keys().isdisjoint([path[1] for path in below])

    def _fill(self, doc: Doc, values: Sequence[Any]) -> None:
        for index, member, below in self._alone:
            value = values[index]
            if value is not None:
                for name in below:
                    value = {name: value}
                doc[member] = value
        objects, missing = [doc], []
        for parent, name in self._objects:
            inner: Doc = {}
            objects[parent][name] = inner
            objects.append(inner)
        for number, shared in self._shared:
            objects[number].update(copied(shared))
        for index, place, name in self._places:
            value = values[index]
            if value is not None:
                objects[place][name] = value
            elif place:
                missing.append(place)
        for place in missing:
            self._prune(objects, place)

    def _prune(self, objects: list[Doc], number: int) -> None:
        """Remove an empty object, then its empty parents."""
        while number and not objects[number]:
            parent, name = self._objects[number - 1]
            objects[parent].pop(name, None)
            number = parent
