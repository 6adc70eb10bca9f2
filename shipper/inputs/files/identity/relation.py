"""Which new file may resume where another file ended, as one table.

An entry whose file no longer exists as it was (removed, missing, truncated) remembers a file id and a position. A new
file may be that file under another name, a copy of it or a .gz of it. Equal bytes alone do not show that: two backups
may log the same two lines. So something must be *seen* that makes it that file, and every byte before the position must
be *proven* to be in it (proving.py). If either is missing, it is a file of its own, read from its start: a duplicated
line is noticed, a skipped one is not.

| seen of the new file                                      | entry removed or missing | truncated |
|-----------------------------------------------------------|--------------------------|-----------|
| the same inode, born at the same time                     | resumes                  | new       |
| the same inode, and the file system has no birth times    | resumes                  | new       |
| a .gz that is named after it, and is where rotation may   |                          |           |
| have put it (rotated_names.py) or has its time            | resumes                  | new       |
| the same modification time: compressed, restored, or      |                          |           |
| moved to another disk. Of whole seconds, also a name that |                          |           |
| is the same or may be that of a rotated one               | resumes                  | new       |
| named as that log, where rotation may have put it, and    |                          |           |
| existed before that was seen to be truncated              | new                      | resumes   |
| its suspected copy before it was truncated                |                          |           |
| (copy_detector.py)                                        | new                      | resumes   |
| with `file_identity.fingerprint.growing`, the bytes that  |                          |           |
| the fingerprint selects (another inode, if truncated)     | resumes                  | resumes   |
| none of these                                             | new                      | new       |

Names and whole seconds show little: nightly jobs log to files of one name in several directories, and an archive
unpacks all of its files with one time. So a name counts only in its place, and a second only with a name.

The price: files that are restored without their times, and copies by tools that neither set times nor give such names,
are shipped again. `file_identity.fingerprint` is for users who prefer the other risk.
"""

from enum import Enum, auto

from log_shipper.registry.state import TRUNCATED, FileState
from log_shipper.shipper.inputs.files.discovery.spec import key_of
from log_shipper.shipper.inputs.files.identity.opened_file import OpenedFile
from log_shipper.shipper.inputs.files.identity.rotated_names import is_named_after, is_of_same_log, shows_rotation

SECOND = 10**9


class Relation(Enum):
    """The evidence that a new file is the missing file of an entry; the first that applies."""

    SAME = auto()
    SAME_INODE = auto()
    ZIPPED = auto()
    SAME_TIME = auto()
    COPY = auto()
    SAME_BEGINNING = auto()
    NONE = auto()


def may_resume(state: FileState, opened: OpenedFile, original_id: str = "") -> bool:
    """Return True if there is evidence that the file may resume from the entry, if its bytes prove it. `original_id`:
    the file of which it is a suspected copy."""
    seen = relation(state, opened, original_id)
    if state.ended is None or seen is Relation.NONE:
        return False
    # An entry taken over from Filebeat has no proof of its bytes, nor has one of which nothing was acknowledged: only
    # the inode counts.
    return bool(state.proof and state.position) or seen in (Relation.SAME, Relation.SAME_INODE)


def relation(state: FileState, opened: OpenedFile, original_id: str = "") -> Relation:
    seen = _relation(state, opened, original_id)
    is_rewritten = state.ended == TRUNCATED and opened.key == key_of(state)
    if seen is Relation.NONE and not is_rewritten and _has_fingerprint(state, opened):
        return Relation.SAME_BEGINNING
    return seen


def _has_fingerprint(state: FileState, opened: OpenedFile) -> bool:
    """Return True if the shipped bytes include those of the growing fingerprint of the file's input: the proof compares
    them with the file's."""
    identity = opened.spec.config.file_identity
    return identity.growing and state.position >= identity.offset + identity.length


def _relation(state: FileState, opened: OpenedFile, original_id: str) -> Relation:
    path = opened.scanned.path
    if state.ended == TRUNCATED:
        is_named = is_of_same_log(path, state.path) and shows_rotation(path, state.path)
        is_copy = state.id == original_id or (is_named and _existed_since(opened) <= state.modified)
        return Relation.COPY if is_copy and opened.key != key_of(state) else Relation.NONE
    births = {state.birth, opened.birth}
    if state.inode == opened.scanned.inode[1] and (len(births) == 1 or 0 in births):
        return Relation.SAME_INODE if 0 in births else Relation.SAME
    if opened.content.compressed and not state.compressed:
        is_named = is_named_after(path, state.path) and shows_rotation(path, state.path)
        return Relation.ZIPPED if is_named or _same_time(state, opened) else Relation.NONE
    is_whole = opened.content.compressed or opened.size >= state.size_seen
    return Relation.SAME_TIME if is_whole and _same_time(state, opened) else Relation.NONE


def _existed_since(opened: OpenedFile) -> int:
    """Return the time since when the file or, for a .gz, its original has existed: gzip creates the .gz later, with the
    original's modification time."""
    return opened.modified if opened.content.compressed else opened.birth or opened.modified


def _same_time(state: FileState, opened: OpenedFile) -> bool:
    """Return True if the modification times are equal: to the nanosecond, or, if the names may be those of one file, to
    the second where a tool or file system keeps no more."""
    if not state.modified:
        return False
    if not state.modified % SECOND or not opened.modified % SECOND:
        path = opened.scanned.path
        is_named = is_named_after(path, state.path) or is_named_after(state.path, path)
        return is_named and state.modified // SECOND == opened.modified // SECOND
    return state.modified == opened.modified
