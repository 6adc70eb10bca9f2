"""The fast path from a record's bytes to a line: one call of msgspec, which checks the types while it decodes.

The types name every member, so that msgspec skips none silently. Members without a column are learned: a record with a
new one is refused and judged, and its names are added to the types. Their number is bounded; records with further
members are rewritten with all of those under one name, which no record can have.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, TypeAlias
from uuid import uuid4

import msgspec
from msgspec import UNSET, Raw, UnsetType

from log_shipper.spark_sink.rows.json_text import HIGHEST, LOWEST, Json, write
from log_shipper.spark_sink.rows.place_headers import TextLine

# A decoded record. Its type is made at run time, with the attributes of _LINE and of Names.
Line: TypeAlias = Any

MAX_NAMES = 64
# msgspec rejects other names.
_PLAIN_NAME = re.compile(r'[^"\\\x00-\x1f]{0,256}')
# Members that the agent adds in most configurations.
_EXTRA = ("agent", "ecs", "error", "input", "stream")

_Whole = Annotated[int, msgspec.Meta(ge=LOWEST, le=HIGHEST)]
_Texts = list[str | None] | None
_LOG: tuple[tuple[str, Any, Any], ...] = (
    ("offset", _Whole | None, None),
    ("length", _Whole | None, None),
    ("flags", _Texts, None),
)
_LINE: tuple[tuple[str, Any, Any], ...] = (
    ("message", str | None, None),
    ("tags", _Texts, None),
)
_TYPED = frozenset(("@timestamp", "message", "tags", "log"))
_TYPED_LOG = frozenset(("offset", "length", "flags"))
OVERFLOW = f"overflow {uuid4()}"


class Names:
    """The members of one object. `raw`: the attribute of each member that is kept as JSON text."""

    def __init__(self, typed: frozenset[str], raw: Iterable[str], learned: Iterable[str]) -> None:
        self.raw = {name: name for name in raw} | {OVERFLOW: "overflow"}
        self._typed = typed
        self._max_raw = len(self.raw) + MAX_NAMES
        self.add_names(learned)

    def add_names(self, names: Iterable[str]) -> bool:
        """Add new names, as long as there is room. Returns True if any was added."""
        before = len(self.raw)
        for name in names:
            if len(self.raw) < self._max_raw and name not in self._typed and _PLAIN_NAME.fullmatch(name):
                self.raw.setdefault(name, f"member_{len(self.raw)}")
        return len(self.raw) > before

    def split(self, members: Mapping[str, Json]) -> dict[str, Json]:
        """Return the members, with all unknown ones inside one member."""
        named = {name: value for name, value in members.items() if name in self._typed or name in self.raw}
        others = {name: value for name, value in members.items() if name not in named}
        return {**named, OVERFLOW: others} if others else named

    def fields(self) -> list[tuple[str, Any, Any]]:
        return [(attribute, Raw | UnsetType, UNSET) for attribute in self.raw.values()]

    def renamed(self) -> dict[str, str]:
        return {attribute: name for name, attribute in self.raw.items()}


class FieldDecoder:
    """Decodes records. `names`, `log_names`: members of the root, and of `log`, that columns and routes read."""

    def __init__(self, names: Iterable[str] = (), log_names: Iterable[str] = ()) -> None:
        self.names = Names(_TYPED, ("fields", "host"), (*_EXTRA, *names))
        self.log_names = Names(_TYPED_LOG, ("file",), log_names)
        self._make()

    def add_names(self, document: Mapping[str, Json]) -> bool:
        """Learn the names of a good record that was refused. Returns True if any is new: then earlier lines have an
        outdated type."""
        log = document.get("log")
        learned = [self.names.add_names(document), self.log_names.add_names(log if isinstance(log, dict) else ())]
        if any(learned):
            self._make()
        return any(learned)

    def line(self, document: Mapping[str, Json]) -> Line:
        """Return the line of a record that the judge accepted."""
        members = self.names.split(document)
        if isinstance(log := members.get("log"), dict):
            members["log"] = self.log_names.split(log)
        return self.decode(write(members))

    def text_line(self, text: TextLine) -> Line:
        """Return the line of a record whose value is its message."""
        log = self._log(
            offset=text.offset, length=text.length, flags=text.flags, file=_object(path=text.path, id=text.file_id)
        )
        return self._line(time=text.time, message=text.message, log=log, host=_object(name=text.host))

    def logs(self, lines: Sequence[Line]) -> list[Any]:
        """Return the member `log` of each line, an empty one if it is missing."""
        empty = self._log()
        return [line.log or empty for line in lines]

    def _make(self) -> None:
        self._log = _struct("Log", (*_LOG, *self.log_names.fields()), self.log_names.renamed())
        log = ("log", self._log | None, None)
        fields = (("time", str), log, *_LINE, *self.names.fields())
        self._line = _struct("Line", fields, {**self.names.renamed(), "time": "@timestamp"})
        self.decode = msgspec.json.Decoder(self._line).decode


@lru_cache(maxsize=4096)
def _object(**members: str | None) -> Raw:
    """Return an object with the members that are not None."""
    return Raw(write({name: value for name, value in members.items() if value is not None}))


def _struct(name: str, fields: Sequence[Any], renamed: dict[str, str]) -> Any:
    return msgspec.defstruct(name, fields, rename=renamed, forbid_unknown_fields=True, gc=False)
