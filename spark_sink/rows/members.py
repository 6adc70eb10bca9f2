"""The members of lines without a typed column: extracts values for columns and routes, and the rest for `doc`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from log_shipper.spark_sink.rows.decoding import OVERFLOW, FieldDecoder, Line
from log_shipper.spark_sink.rows.json_text import Json, write
from log_shipper.spark_sink.rows.pieces import ENTRY, FieldCut, MemberPiece, NeedsJudging, Pieces, Role

DOCS_REMEMBERED = 2 * 1024 * 1024  # characters


class MemberPath(NamedTuple):
    """The place of a value: a member of the root or of `log`, and the names below it."""

    in_log: bool
    name: str
    steps: tuple[str, ...] = ()


def place_of(path: str) -> MemberPath:
    """Return the place of a dotted path."""
    first, *others = path.split(".")
    if first == "log" and others:
        return MemberPath(True, others[0], tuple(others[1:]))
    return MemberPath(False, first, tuple(others))


@dataclass(frozen=True, slots=True)
class FieldRequest:
    """A value that a column or a route needs. `extract` raises NeedsJudging; `removes`: see FieldCut."""

    path: str
    extract: Callable[[Json], Json]
    removes: Callable[[Json, Json], bool]


def text(value: Json) -> Json:
    """Return a text or None. Raises NeedsJudging for other values."""
    if value is not None and not isinstance(value, str):
        raise NeedsJudging
    return value


HOST, PATH, FILE_ID = (
    FieldRequest(path, text, lambda _value, _extracted: True) for path in ("host.name", "log.file.path", "log.file.id")
)
# The attribute of a line or of its log with the value of a typed column.
_TYPED = {(False, "@timestamp"): "time"} | {
    key: key[1] for key in ((False, "message"), (False, "tags"), (True, "offset"), (True, "length"), (True, "flags"))
}
_ROLES = {(False, "host"): Role.PARENT, (True, "file"): Role.PARENT, (False, "fields"): Role.COLUMN}


@dataclass(slots=True)
class Extracted:
    """Values of a chunk of lines. `values`: for each FieldRequest, in their order; `docs` and `fields`: JSON texts."""

    values: Sequence[Sequence[Json]]
    docs: Sequence[str | None]
    fields: Sequence[str | None]


class _Slot(NamedTuple):
    """The texts of one member of each line. `prefix`: its name and colon in an object."""

    in_log: bool
    prefix: str
    texts: list[str | None]


@dataclass(slots=True)
class Members:
    """Reads the members of lines. `requests` begins with HOST, PATH and FILE_ID."""

    decoder: FieldDecoder
    requests: Sequence[FieldRequest]
    _pieces: dict[tuple[bool, str], Pieces] = field(default_factory=dict)
    _docs: dict[tuple[str | None, ...], str | None] = field(default_factory=dict)
    _docs_size: int = 0
    _layout: tuple[tuple[bool, str], ...] = ()

    def read(self, lines: Sequence[Line], logs: Sequence[Any], to_judge: set[int]) -> Extracted:
        """Return the values of the lines; indexes of possibly bad ones go to `to_judge`. `logs`: `log` of each line."""
        pieces = {
            (in_log, name): self._pieces_of(in_log, name).split(list(map(attrgetter(attribute), owners)), to_judge)
            for in_log, owners, names in ((False, lines, self.decoder.names), (True, logs, self.decoder.log_names))
            for name, attribute in names.raw.items()
        }
        values = [self._values(request, pieces, lines, logs, to_judge) for request in self.requests]
        fields = pieces.pop((False, "fields"))
        field_texts = [None] * len(lines) if fields is None else [piece.text for piece in fields]
        slots = [_slot(in_log, name, given) for (in_log, name), given in pieces.items() if given is not None]
        docs = self._documents([slot for slot in slots if any(slot.texts)], len(lines))
        return Extracted(values, docs, field_texts)

    def _pieces_of(self, in_log: bool, name: str) -> Pieces:
        key = (in_log, name)
        if key not in self._pieces:
            cuts = [
                FieldCut(place.steps, request.extract, request.removes)
                for request in self.requests
                if (place := place_of(request.path))[:2] == key
            ]
            self._pieces[key] = Pieces(_ROLES.get(key, Role.EXTRA), cuts)
        return self._pieces[key]

    def _values(
        self,
        request: FieldRequest,
        pieces: Mapping[tuple[bool, str], list[MemberPiece] | None],
        lines: Sequence[Line],
        logs: Sequence[Any],
        to_judge: set[int],
    ) -> list[Json]:
        place = place_of(request.path)
        key = place[:2]
        if (members := pieces.get(key)) is not None:
            same = [other for other in self.requests if place_of(other.path)[:2] == key]
            index = same.index(request)
            return [piece.values[index] for piece in members]
        if key in _TYPED and not place.steps:
            given: Sequence[Json] = list(map(attrgetter(_TYPED[key]), logs if place.in_log else lines))
        else:  # a text, a number or a list has no members
            given = [None] * len(lines)
        return [self._extract(request, value, index, to_judge) for index, value in enumerate(given)]

    @staticmethod
    def _extract(request: FieldRequest, value: Json, index: int, to_judge: set[int]) -> Json:
        try:
            return request.extract(value)
        except NeedsJudging:
            to_judge.add(index)
            return None

    def _documents(self, slots: Sequence[_Slot], count: int) -> list[str | None]:
        if not slots:
            return [None] * count
        layout = tuple((slot.in_log, slot.prefix) for slot in slots)
        if layout != self._layout or self._docs_size > DOCS_REMEMBERED:
            self._docs.clear()
            self._docs_size, self._layout = 0, layout
        rows = list(zip(*(slot.texts for slot in slots), strict=True))
        top = [slot.prefix for slot in slots if not slot.in_log]
        log = [slot.prefix for slot in slots if slot.in_log]
        for texts in set(rows).difference(self._docs):
            doc = self._docs[texts] = _document(top, log, texts)
            self._docs_size += len(doc or "") + ENTRY
        return [self._docs[texts] for texts in rows]


def _slot(in_log: bool, name: str, pieces: Iterable[MemberPiece]) -> _Slot:
    if name == OVERFLOW:  # its members, without the braces
        return _Slot(in_log, "", [piece.text[1:-1] if piece.text is not None else None for piece in pieces])
    return _Slot(in_log, write(name).decode() + ":", [piece.text for piece in pieces])


def _document(top: Sequence[str], log: Sequence[str], texts: Sequence[str | None]) -> str | None:
    """Return the JSON text of the members, with `log` last; None without any. `texts`: for the prefixes in `top`, then
    in `log`."""
    members = [prefix + text for prefix, text in zip(top, texts, strict=False) if text is not None]
    inner = [prefix + text for prefix, text in zip(log, texts[len(top) :], strict=True) if text is not None]
    if inner:
        members.append(f'"log":{{{",".join(inner)}}}')
    return f"{{{','.join(members)}}}" if members else None
