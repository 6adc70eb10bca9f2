"""Who may resume where another file ended, as one table.

An entry whose file no longer exists as it was (removed, missing, truncated) remembers a file id and a position. A new
file may be that file under another name, a copy of it or a .gz of it. Equal bytes do not tell: two backups may log the
same two lines. So something must be *seen* that makes it that file, and every byte before the position must be *proven*
to be there (proving.py). If either is wanting, it is a file of its own, from its start: a line that comes twice is
seen, one that is skipped is not.

| seen of the new file                                      | entry removed or missing | truncated |
|-----------------------------------------------------------|--------------------------|-----------|
| the same inode, born at the same time                     | goes on                  | new       |
| the same inode, and the file system tells no birth        | goes on                  | new       |
| a .gz whose name begins with its, or is that of an older  |                          |           |
| generation of that log, or that has its time              | goes on                  | new       |
| modified when it was: restored, or moved to another disk  | goes on                  | new       |
| named after it, and there before it was truncated         | new                      | goes on   |
| held as its copy before it was truncated (copies.py)      | new                      | goes on   |
| nothing of these                                          | new                      | new       |

What it costs: files that are restored without their times, and copies by tools that set no times and give no such
names, are shipped again. `file_identity.fingerprint` is for whoever prefers the other risk.
"""

from enum import Enum, auto

from registry.state import MISSING, REMOVED, TRUNCATED, FileState
from shipper.source.discovery.scanner import FileKey
from shipper.source.identity.opened_file import OpenedFile
from shipper.source.identity.rotated_names import is_named_after, is_shifted, name_of

SECOND = 10**9


class Relation(Enum):
    """What is seen of a new file, beside an entry whose file no longer exists; the first that holds."""

    SAME = auto()
    SAME_INODE = auto()
    ZIPPED = auto()
    SAME_TIME = auto()
    COPY = auto()
    NONE = auto()


GOES_ON = {
    MISSING: {Relation.SAME, Relation.SAME_INODE, Relation.ZIPPED, Relation.SAME_TIME},
    REMOVED: {Relation.SAME, Relation.SAME_INODE, Relation.ZIPPED, Relation.SAME_TIME},
    TRUNCATED: {Relation.COPY},
}


def may_go_on(state: FileState, opened: OpenedFile, original: FileKey | None) -> bool:
    """True if enough is seen. `original`: the file of which this one was suspected to be a copy."""
    seen = relation(state, opened, original)
    if state.ended is None or seen not in GOES_ON[state.ended]:
        return False
    # Of an older release's entry no bytes can be proven, nor where nothing was acknowledged: the inode alone counts.
    return bool(state.proof and state.position) or seen in (Relation.SAME, Relation.SAME_INODE)


def relation(state: FileState, opened: OpenedFile, original: FileKey | None) -> Relation:
    if state.ended == TRUNCATED:
        is_copy = (state.device, state.inode) == original or (
            is_named_after(opened.found.path, state.path) and _was_there(opened) <= state.modified
        )
        return Relation.COPY if is_copy and opened.found.key != (state.device, state.inode) else Relation.NONE
    births = {state.birth, opened.birth}
    if state.inode == opened.found.key[1] and (len(births) == 1 or 0 in births):
        return Relation.SAME_INODE if 0 in births else Relation.SAME
    if opened.content.compressed and not state.compressed:
        path = opened.found.path
        is_from = name_of(path).startswith(name_of(state.path)) or is_shifted(path, state.path)
        return Relation.ZIPPED if is_from or _same_time(state, opened) else Relation.NONE
    is_whole = opened.content.compressed or opened.size >= state.size_seen
    return Relation.SAME_TIME if is_whole and _same_time(state, opened) else Relation.NONE


def _was_there(opened: OpenedFile) -> int:
    """A .gz is made after what it is made of, and has that one's time."""
    return opened.modified if opened.content.compressed else opened.birth or opened.modified


def _same_time(state: FileState, opened: OpenedFile) -> bool:
    """To the nanosecond, or to the second where a tool or a file system keeps no more."""
    if not state.modified:
        return False
    if not state.modified % SECOND or not opened.modified % SECOND:
        return state.modified // SECOND == opened.modified // SECOND
    return state.modified == opened.modified
