from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FileState:
    """One file's life, as the registry keeps it. Positions and sizes in bytes, times in unix seconds.

    `path` may hold surrogate escapes (names that are not UTF-8). A field that is added here needs a default, so that
    older registries load, and a new `form.VERSION`, so that an older release refuses instead of losing it.
    """

    id: str
    path: str
    device: int
    inode: int
    fingerprint: tuple[int, str] = (0, "")  # length of the head, and its hash
    tail_hash: str = ""  # of up to 256 bytes before position
    position: int = 0  # the first byte that is not acknowledged
    size_seen: int = 0
    updated: float = 0.0
    ttl: float = -1.0
    cuts: tuple[int, ...] = ()  # where messages were ended by time, not by content
    ended: str | None = None
    continues_in: str | None = None  # id of the file in which the last message goes on
    input: str = ""  # id of the input


_NAMES = tuple(field.name for field in dataclasses.fields(FileState))


def to_dict(state: FileState) -> dict[str, Any]:
    # Not dataclasses.asdict: it copies deeply, and costs five times as much for an entry.
    return {name: getattr(state, name) for name in _NAMES}


def from_dict(values: dict[str, Any]) -> FileState:
    """Raises TypeError or ValueError when `values` are not a FileState's."""
    values = dict(values)
    if "fingerprint" in values:
        length, digest = values["fingerprint"]
        values["fingerprint"] = (length, digest)
    if "cuts" in values:
        values["cuts"] = tuple(values["cuts"])
    return FileState(**values)
