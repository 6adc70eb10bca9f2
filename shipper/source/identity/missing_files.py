"""Which entries have lost their file, by what a scan found and what these files were identified as.

A file that has the entry's device and inode, or its path, may still be another one where `file_identity` names files by
something else: it was truncated and written again, or deleted and created again. That shows when it is opened.
"""

from collections.abc import Container, Mapping

from log_shipper.registry.state import MISSING, REMOVED, TRUNCATED, FileState
from log_shipper.shipper.source.discovery.spec import FileKey, key_of
from log_shipper.shipper.source.identity.possibly_lost import INODE_USED_AGAIN, NO_FILE, REWRITTEN


class MissingFiles:
    """Used by the reading thread only."""

    def __init__(self) -> None:
        self._identified: dict[FileKey, tuple[str, int]] = {}  # name and time of birth

    def identified(self, key: FileKey, name: str, birth: int) -> None:
        """Note the name of a file that was opened just now: that which `file_identity` gives to it."""
        self._identified[key] = name, birth

    def forget(self, present: Container[FileKey]) -> None:
        """After a scan, forget the files that no longer exist."""
        for key in [key for key in self._identified if key not in present]:
            del self._identified[key]

    def ending(
        self, state: FileState, present: Container[FileKey], paths: Mapping[tuple[str, str], FileKey]
    ) -> tuple[str, str] | None:
        """Return how the file of the entry has ended, and that in words; None if it exists, or may be one of the files
        that were not opened yet. `present` and `paths` are what the last scan found, the latter
        by input and path."""
        key, place = key_of(state), (state.input, state.path)
        if key in present and (not state.key or self._may_be(key, state)):
            return None
        if state.key and place in paths and self._may_be(paths[place], state):
            return None
        if key not in present:
            return MISSING, NO_FILE
        is_used_again = is_inode_used_again(state, self._identified[key][1])
        return (REMOVED, INODE_USED_AGAIN) if is_used_again else (TRUNCATED, REWRITTEN)

    def _may_be(self, key: FileKey, state: FileState) -> bool:
        """True if the file was not opened yet, or was identified as that of the entry. Nothing is known where the names
        were not made alike: the options have changed since."""
        name, _ = self._identified.get(key, (state.key, 0))
        return name == state.key or name.rpartition(":")[0] != state.key.rpartition(":")[0]


def is_inode_used_again(state: FileState, birth: int) -> bool:
    return bool(state.birth and birth) and state.birth != birth
