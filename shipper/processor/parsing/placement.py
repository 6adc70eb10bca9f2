"""Where the values go that were taken out of a text: all of them into the event, or none."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from shipper.event import Doc
from shipper.json_fields import copied
from shipper.processor.events import Event
from shipper.processor.field_by_field import Saved
from shipper.processor.fields import MISSING, Path, ProcessorError, dotted

_MESSAGE: Path = ("message",)
# What is not, or not only, kept in the event's document.
_IN_COLUMNS = frozenset({"message", "@timestamp"})
_OF_LOG = frozenset({("log",), ("log", "offset"), ("log", "length"), ("log", "flags"), ("log", "file")})


def put_all(event: Event, paths: Sequence[Path], values: Sequence[Any], *, overwrite: bool) -> None:
    """Write the values that are not None. Raises ProcessorError, and the event is as it was."""
    pairs = [(path, value) for path, value in zip(paths, values, strict=True) if value is not None]
    existing = None if overwrite else next((path for path, _ in pairs if event.get(path) is not MISSING), None)
    if existing is not None:
        raise ProcessorError(f"{dotted(existing)} exists already; set overwrite_keys, or drop or rename it before")
    saved = Saved.of(event, frozenset(path[0] for path, _ in pairs))
    try:
        for path, value in pairs:
            event.put(path, value)
    except ProcessorError:
        saved.restore(event)
        raise


class Placement:
    """`put_all` for paths that are known before. None of them is above another.

    An event that has no member of these names yet gets whole objects at once: that is the usual event, and the cost of
    the way through `Event` for each value would be most of the processor's.
    """

    def __init__(self, paths: Sequence[Path], *, overwrite: bool) -> None:
        self._paths = tuple(paths)
        self._overwrite = overwrite
        self._members = frozenset(path[0] for path in paths)
        self._text_at = self._paths.index(_MESSAGE) if overwrite and _MESSAGE in self._paths else None
        # Objects to make, each by its parent's number and its name; 0 is the document. Then the values' places in them.
        self._numbers: dict[Path, int] = {}
        self._objects: list[tuple[int, str]] = []
        self._places: list[tuple[int, int, str]] = []
        # Values that have an object of the event to themselves: its name, and the names below it from the last one on.
        self._alone: list[tuple[int, str, Path]] = []
        self._constants: Doc | None = None
        self._free = False
        # What the file's events share of our objects: the event's own begin as a copy of it.
        self._shared: list[tuple[int, Doc]] = []

    def write(self, event: Event, values: Sequence[Any]) -> None:
        """As `put_all`."""
        events = event.events
        if events.constants is not self._constants:
            self._look_at(events.constants)
        doc = (events.messages.docs or events.messages.documents())[event.index]
        # A key of the event's may hold dots, so one that begins like ours counts as well.
        free = self._free and (not doc or self._members.isdisjoint([name.partition(".")[0] for name in doc]))
        if free and self._text_at is not None:
            text = values[self._text_at]
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
        for at, path in enumerate(self._paths):
            if len(path) > 1 and uses[path[0]] == 1 and path[0] not in shared:
                self._alone.append((at, path[0], path[:0:-1]))
            elif at != self._text_at:
                self._places.append((at, self._number(path[:-1]), path[-1]))

    def _number(self, above: Path) -> int:
        """Of the object at this path, which is made if it is new."""
        if above not in self._numbers:
            self._objects.append((self._number(above[:-1]), above[-1]))
            self._numbers[above] = len(self._objects)
        return self._numbers[above]

    def _is_plain(self, path: Path) -> bool:
        """True if it is simply a member of the event's document."""
        if path == _MESSAGE:
            return self._overwrite
        return path[0] not in _IN_COLUMNS and path[:2] not in _OF_LOG

    def _can_begin_as(self, name: str, shared: Any) -> bool:
        """True if nothing that is shared, but the object itself, is in the way of our paths below this name."""
        below = [path for path in self._paths if path[0] == name]
        if not isinstance(shared, dict) or (name,) in below:
            return False
        return shared.keys().isdisjoint([path[1] for path in below])

    def _fill(self, doc: Doc, values: Sequence[Any]) -> None:
        for at, member, below in self._alone:
            value = values[at]
            if value is not None:
                for name in below:
                    value = {name: value}
                doc[member] = value
        made, missing = [doc], []
        for parent, name in self._objects:
            inner: Doc = {}
            made[parent][name] = inner
            made.append(inner)
        for number, shared in self._shared:
            made[number].update(copied(shared))
        for at, place, name in self._places:
            value = values[at]
            if value is not None:
                made[place][name] = value
            elif place:
                missing.append(place)
        for place in missing:
            self._prune(made, place)

    def _prune(self, made: list[Doc], number: int) -> None:
        """Take out an object in which there is nothing, and its parent."""
        while number and not made[number]:
            parent, name = self._objects[number - 1]
            made[parent].pop(name, None)
            number = parent
