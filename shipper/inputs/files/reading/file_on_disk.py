"""An open file as the system shows it: its status and its path.

A file system may refuse any call for an open file: a network file system whose server has another file, a FUSE process
that died, a damaged disk. The next read of the file reports that, so what only looks at it takes the file to be as it
was.
"""

import os

from log_shipper.shipper.inputs.files.discovery.directory import inode_at
from log_shipper.shipper.inputs.files.identity.content import Content
from log_shipper.shipper.inputs.files.reading.sighting import PathState


class FileOnDisk:
    """An open file. `moved_at`: monotonic time at which it left the inputs' paths. Used by the reading thread only."""

    __slots__ = ("content", "moved_at", "path_state")

    def __init__(self, content: Content) -> None:
        self.content = content
        self.path_state = PathState.CURRENT
        self.moved_at = 0.0

    @property
    def fd(self) -> int:
        return self.content.fd

    def status(self) -> os.stat_result:
        """Return the status of the file. Raises OSError."""
        return os.fstat(self.fd)

    def status_if_known(self) -> os.stat_result | None:
        """Return the status of the file; None if it cannot be read."""
        try:
            return self.status()
        except OSError:
            return None

    def note_moved(self, now: float) -> None:
        """Note that the file is at no path of the inputs since `now`, in monotonic time."""
        self.path_state, self.moved_at = PathState.MOVED, now

    def look_for_removal(self, path: str) -> None:
        """Check whether the file was removed: it has no name any more, nor is it mounted at its path, as a single file
        in a container is after its deletion on the host."""
        status = None if self.is_removed else self.status_if_known()
        if status is not None and status.st_nlink == 0 and inode_at(path) != (status.st_dev, status.st_ino):
            self.path_state = PathState.REMOVED

    @property
    def has_left_its_path(self) -> bool:
        return self.path_state is not PathState.CURRENT

    @property
    def is_outside(self) -> bool:
        """Return True if no path of the inputs leads to the file, as far as is known."""
        return self.path_state in (PathState.MOVED, PathState.REMOVED)

    @property
    def is_removed(self) -> bool:
        return self.path_state is PathState.REMOVED
