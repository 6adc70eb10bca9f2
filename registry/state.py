from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Any


@dataclass(frozen=True, slots=True)
class FileState:
    """One file's life, as the registry keeps it. Positions and sizes in bytes, times in unix seconds.

    `path` may hold surrogate escapes (names that are not UTF-8). A change of the fields needs a new
    `table.VERSION`, and one of `entry.py`.

    `ttl`: seconds after `updated` at which the entry may be forgotten; -1 for never. This is not a promise to forget it
    then, and an entry is never forgotten while something of its file is unacknowledged. It is -1
    for a file that exists, and a day for one that `ended` (-1 with `clean_removed: false`, unless it was truncated):
    until then its id and position recognise a copy or a .gz of it. The code that changes `ttl` sets `updated` to the
    time from which it counts.

    `compressed`: of a .gz file whose end was read, the size of the file itself; `position` and `size_seen` of a .gz
    count decompressed bytes. 0 for a plain file, and for a .gz that was not yet read to its end.

    `proof`: a hash of all content before the position (inputs/files/identity/prefix.py), empty where it was not read
    by us.
    `birth`, `modified`, `changed`: the file's times in nanoseconds, 0 where they are not known; of a truncated file,
    `modified` is at least the time at which that was seen. `changed` is that of a file whose bytes before the position
    were looked at last; while it stays the same, so do they.

    `kind`: empty for a file. Else the entry is that of an input without files ("journald") or of the queue on disk
    ("queue"): there is no device, inode and fingerprint, and `position` counts what its writer says. `cursor`: where
    such an input resumes if its source does not know places by number.
    """

    id: str
    path: str
    device: int
    inode: int
    fingerprint: tuple[int, str] = (0, "")  # length of the head, and its hash
    tail_hash: str = ""  # of up to 256 bytes before position: shows at once what cannot be the same
    position: int = 0  # the first byte that is not acknowledged
    size_seen: int = 0
    updated: float = 0.0
    ttl: float = -1.0
    cuts: tuple[int, ...] = ()  # where messages were ended by time, not by content
    ended: str | None = None  # None, or one of the three below
    continues_in: str | None = None  # id of the file in which the last message continues
    input: str = ""  # id of the input
    key: str = ""  # what file_identity knows the file by, when that is not device and inode: "path:/x"
    compressed: int = 0
    proof: str = ""
    birth: int = 0
    modified: int = 0
    changed: int = 0
    kind: str = ""
    cursor: str = ""


NEVER = -1.0

# The reasons why an entry has no file.
REMOVED = "removed"
MISSING = "missing"  # not under the paths: it may reappear
TRUNCATED = "truncated"  # its inode has another life now

NAMES = tuple(field.name for field in dataclasses.fields(FileState))
_KEYS = set(NAMES)
_in_order = itemgetter(*NAMES)
_fields_of = attrgetter(*NAMES)


def to_dict(state: FileState) -> dict[str, Any]:
    # Not dataclasses.asdict: it copies deeply, and costs five times as much per entry.
    return {name: getattr(state, name) for name in NAMES}


class _Unfrozen:
    """A FileState under construction. A frozen dataclass sets each field by a call, which was half the time of loading
    a large registry; so the fields are set on this class, and then the object's class is changed. Python allows that
    for equal slots."""

    __slots__ = NAMES


def with_changes(state: FileState, **changes: Any) -> FileState:
    """Return a copy with these fields changed. Every batch needs one, and dataclasses.replace takes three times as
    long."""
    new = _unfrozen(_fields_of(state))
    for name, value in changes.items():
        setattr(new, name, value)
    new.__class__ = FileState
    changed: FileState = new
    return changed


def from_dict(values: dict[str, Any], shared: dict[Any, Any]) -> FileState:
    """Return the FileState of `to_dict`. Raises TypeError or ValueError for invalid `values`."""
    if values.keys() != _KEYS:
        raise TypeError(f"missing or unknown members: {', '.join(sorted(values.keys() ^ _KEYS))}")
    return from_values(_in_order(values), shared)


def from_values(values: Sequence[Any], shared: dict[Any, Any]) -> FileState:
    """Return the FileState with these values in the order of its fields. Common values become one object, kept in
    `shared` from call to call. Raises TypeError or ValueError for invalid values."""
    share = shared.setdefault
    new = _unfrozen(values)
    length, digest = new.fingerprint
    new.device = share(new.device, new.device)
    new.fingerprint = (share(length, length), digest)
    new.ttl = NEVER if new.ttl == NEVER else new.ttl
    new.cuts = tuple(new.cuts)
    new.input = share(new.input, new.input)
    new.kind = share(new.kind, new.kind)
    new.__class__ = FileState
    state: FileState = new
    return state


def _unfrozen(values: Sequence[Any]) -> Any:
    new: Any = _Unfrozen()
    (
        new.id,
        new.path,
        new.device,
        new.inode,
        new.fingerprint,
        new.tail_hash,
        new.position,
        new.size_seen,
        new.updated,
        new.ttl,
        new.cuts,
        new.ended,
        new.continues_in,
        new.input,
        new.key,
        new.compressed,
        new.proof,
        new.birth,
        new.modified,
        new.changed,
        new.kind,
        new.cursor,
    ) = values
    return new
