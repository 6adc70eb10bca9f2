"""Find entries without a file, from the result of a scan and the files' identities.

Where `file_identity` is not device and inode, a file at the entry's inode or path may be another one: truncated and
rewritten, or deleted and re-created. That shows when it is opened.
"""

from collections.abc import Callable, Container, Mapping
from typing import NamedTuple

from log_shipper.registry.state import MISSING, REMOVED, TRUNCATED, FileState
from log_shipper.shipper.inputs.files.discovery.spec import FileKey, key_of
from log_shipper.shipper.inputs.files.identity.possibly_lost import INODE_USED_AGAIN, NO_FILE, REWRITTEN


class FileIdentity(NamedTuple):
    """The identity of a file when it was last opened: its name by `file_identity`, and its birth time."""

    name: str
    birth: int


AsIdentified = Callable[[FileKey], FileIdentity | None]


def ending(
    state: FileState,
    present: Container[FileKey],
    paths: Mapping[tuple[str, str], FileKey],
    identified: AsIdentified,
) -> tuple[str, str] | None:
    """Return how the entry's file has ended, with the reason; None if it exists, or may be one of the files not opened
    yet. `present` and `paths` are the result of the last scan, the latter by input and path."""
    key, place = key_of(state), (state.input, state.path)
    if key in present and (not state.key or _may_be(identified(key), state)):
        return None
    if state.key and place in paths and _may_be(identified(paths[place]), state):
        return None
    now = identified(key)
    if key not in present or now is None:
        return MISSING, NO_FILE
    return (REMOVED, INODE_USED_AGAIN) if is_inode_used_again(state, now.birth) else (TRUNCATED, REWRITTEN)


def _may_be(now: FileIdentity | None, state: FileState) -> bool:
    """Return True if the file was not opened yet, or was identified as that of the entry. Names made under different
    options say nothing."""
    return now is None or now.name == state.key or now.name.rpartition(":")[0] != state.key.rpartition(":")[0]


def is_inode_used_again(state: FileState, birth: int) -> bool:
    return bool(state.birth and birth) and state.birth != birth
