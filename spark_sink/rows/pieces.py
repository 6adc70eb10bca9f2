"""Members of records that are kept as JSON text, and the values that columns and routes extract from them.

The records of a file share most of their text byte for byte (`host`, `log.file`, `agent`), so results are cached by the
bytes of the member.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from msgspec import UNSET

from log_shipper.spark_sink.rows.json_text import Json, NotJson, read, write
from log_shipper.spark_sink.rows.judging import value_below

REMEMBERED = 2 * 1024 * 1024  # bytes, for each name
ENTRY = 300  # bytes of Python objects for each cache entry


class NeedsJudging(ValueError):
    """Raised for a value that may be bad: the record must be judged."""


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
    """`text`: the remaining JSON text of the member, None if nothing remains; `values`: of the cuts, in order."""

    text: str | None
    values: tuple[Json, ...]


class Pieces:
    """The members of one name."""

    def __init__(self, role: Role, cuts: Sequence[FieldCut]) -> None:
        self.role = role
        self._cuts = cuts
        self._known: dict[bytes, MemberPiece] = {}
        self._size = 0

    def split(self, raws: Sequence[Any], to_judge: set[int]) -> list[MemberPiece] | None:
        """Return a piece for each member, Raw or UNSET; None if no record has the member and there are no cuts. Adds
        the indexes of possibly bad records to `to_judge`."""
        if not self._cuts and raws.count(UNSET) == len(raws):
            return None
        known = self._known.get
        pieces = [known(b"" if raw is UNSET else bytes(raw)) for raw in raws]
        if all(pieces):
            return pieces  # type: ignore[return-value]  # none of them is None
        return [piece or self._made(index, raws[index], to_judge) for index, piece in enumerate(pieces)]

    def _made(self, index: int, raw: Any, to_judge: set[int]) -> MemberPiece:
        text = b"" if raw is UNSET else bytes(raw)
        piece = self._known.get(text)
        if piece is not None:
            return piece
        try:
            piece = self._read(text)
        except (NeedsJudging, NotJson):
            to_judge.add(index)
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
        values = tuple([cut.extract(value_below(value, cut.steps)) for cut in self._cuts])
        if not text or (value is None and self.role is not Role.EXTRA):
            return MemberPiece(None, values)
        removed = 0
        for cut, given in zip(self._cuts, values, strict=True):
            if self.role is not Role.COLUMN and cut.removes(value_below(value, cut.steps), given):
                if not cut.steps:
                    return MemberPiece(None, values)
                removed += _remove(value, cut.steps)
        if not value and (removed or self.role is Role.PARENT):
            return MemberPiece(None, values)
        return MemberPiece(text.decode() if is_plain and not removed else write(value).decode(), values)


def _remove(value: Json, steps: Sequence[str]) -> bool:
    """Remove a member, and parents that it leaves empty. Returns False if it is missing."""
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
