"""Which entries have lost their file, by what a scan found and what these files were identified as.

A file that has the entry's device and inode, or its path, may still be another one where `file_identity` names files by
something else: it was truncated and written again, or deleted and created again. That shows when it is opened.
"""

from collections.abc import Callable, Container, Mapping
from typing import NamedTuple

from log_shipper.registry.state import MISSING, REMOVED, TRUNCATED, FileState
from log_shipper.shipper.inputs.files.discovery.spec import FileKey, key_of
from log_shipper.shipper.inputs.files.identity.possibly_lost import INODE_USED_AGAIN, NO_FILE, REWRITTEN


class Identified(NamedTuple):
    """What a file was when it was opened last: the name that `file_identity` gives to it, and its time of birth."""

    name: str
    birth: int


AsIdentified = Callable[[FileKey], Identified | None]


def ending(
    state: FileState,
    present: Container[FileKey],
    paths: Mapping[tuple[str, str], FileKey],
    identified: AsIdentified,
) -> tuple[str, str] | None:
    """Return how the file of the entry has ended, and that in words; None if it exists, or may be one of the files that
    were not opened yet. `present` and `paths` are what the last scan found, the latter by input and path."""
    key, place = key_of(state), (state.input, state.path)
    if key in present and (not state.key or _may_be(identified(key), state)):
        return None
    if state.key and place in paths and _may_be(identified(paths[place]), state):
        return None
    now = identified(key)
    if key not in present or now is None:
        return MISSING, NO_FILE
    return (REMOVED, INODE_USED_AGAIN) if is_inode_used_again(state, now.birth) else (TRUNCATED, REWRITTEN)


def _may_be(now: Identified | None, state: FileState) -> bool:
    """True if the file was not opened yet, or was identified as that of the entry. Nothing is known where the names
    were not made alike: the options have changed since."""
    return now is None or now.name == state.key or now.name.rpartition(":")[0] != state.key.rpartition(":")[0]


def is_inode_used_again(state: FileState, birth: int) -> bool:
    return bool(state.birth and birth) and state.birth != birth
