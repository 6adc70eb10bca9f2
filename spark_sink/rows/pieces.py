"""Members of records that are kept as JSON text, and the values that columns and routes take out of them.

The records of a file share most of their text (`host`, `log.file`, `agent`): byte for byte the same from record to
record. What is made of a member is remembered by its bytes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from msgspec import UNSET

from log_shipper.spark_sink.rows.json_text import Json, NotJson, read, write
from log_shipper.spark_sink.rows.judging import value_below

REMEMBERED = 2 * 1024 * 1024  # bytes, for each name
ENTRY = 300  # bytes of Python's objects for one that is remembered


class NeedsJudging(ValueError):
    """Raised where a value may be bad: the record has to be judged."""


class Role(Enum):
    EXTRA = "a member without a column"
    PARENT = "an object with members that have columns"
    COLUMN = "an object that is a column"


@dataclass(frozen=True, slots=True)
class FieldCut:
    """A value to extract from a member. `extract` raises NeedsJudging; `removes(value, extracted)`: True if the
    remaining text does not need the value."""

    steps: tuple[str, ...]
    extract: Callable[[Json], Json]
    removes: Callable[[Json, Json], bool]


class MemberPiece(NamedTuple):
    """`text`: the JSON text of what remains of the member, None where nothing does; `taken`: by the cuts, in order."""

    text: str | None
    taken: tuple[Json, ...]


class Pieces:
    """The members of one name."""

    def __init__(self, role: Role, cuts: Sequence[FieldCut]) -> None:
        self.role = role
        self._cuts = cuts
        self._known: dict[bytes, MemberPiece] = {}
        self._size = 0

    def split(self, raws: Sequence[Any], doubtful: set[int]) -> list[MemberPiece] | None:
        """Return a piece for each member, Raw or UNSET; None where no record has the member and nothing is taken from
        it. Adds the indexes of those that may be bad."""
        if not self._cuts and raws.count(UNSET) == len(raws):
            return None
        known = self._known.get
        pieces = [known(b"" if raw is UNSET else bytes(raw)) for raw in raws]
        if all(pieces):
            return pieces  # type: ignore[return-value]  # none of them is None
        return [piece or self._made(index, raws[index], doubtful) for index, piece in enumerate(pieces)]

    def _made(self, index: int, raw: Any, doubtful: set[int]) -> MemberPiece:
        text = b"" if raw is UNSET else bytes(raw)
        piece = self._known.get(text)
        if piece is not None:
            return piece
        try:
            piece = self._read(text)
        except (NeedsJudging, NotJson):
            doubtful.add(index)
            return MemberPiece(None, (None,) * len(self._cuts))
        if self._size > REMEMBERED:
            self._known.clear()
            self._size = 0
        self._known[text] = piece
        self._size += 2 * len(text) + ENTRY
        return piece

    def _read(self, text: bytes) -> MemberPiece:
        value, is_plain = read(text) if text else (None, False)
        if is_plain and not self._cuts and self.role is Role.EXTRA:
            return MemberPiece(text.decode(), ())
        if self.role is not Role.EXTRA and value is not None and not isinstance(value, dict):
            raise NeedsJudging
        taken = tuple([cut.extract(value_below(value, cut.steps)) for cut in self._cuts])
        if not text or (value is None and self.role is not Role.EXTRA):
            return MemberPiece(None, taken)
        removed = 0
        for cut, given in zip(self._cuts, taken, strict=True):
            if self.role is not Role.COLUMN and cut.removes(value_below(value, cut.steps), given):
                if not cut.steps:
                    return MemberPiece(None, taken)
                removed += _remove(value, cut.steps)
        if not value and (removed or self.role is Role.PARENT):
            return MemberPiece(None, taken)
        return MemberPiece(text.decode() if is_plain and not removed else write(value).decode(), taken)


def _remove(value: Json, steps: Sequence[str]) -> bool:
    """Remove a member, and what it leaves empty. Returns False where there is none."""
    parents = []
    for step in steps[:-1]:
        if not isinstance(value, dict):
            return False
        parents.append((value, step))
        value = value.get(step)
    if not isinstance(value, dict) or steps[-1] not in value:
        return False
    del value[steps[-1]]
    for parent, step in reversed(parents):
        if parent[step]:
            break
        del parent[step]
    return True
