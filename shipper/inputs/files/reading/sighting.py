"""Record what a survey saw of an open file: what happened to its path, and the times that reveal a touch
(resend_on_touch)."""

import os
from enum import Enum, auto


class Sighting:
    """Size and modification time of an open file at the last survey, or when it was opened."""

    __slots__ = ("_modified", "_size")

    def __init__(self, status: os.stat_result) -> None:
        self._size = status.st_size
        self._modified = status.st_mtime_ns

    def shows_touch(self, status: os.stat_result) -> bool:
        """Return True if the file has the same size and a later time."""
        return status.st_size == self._size and status.st_mtime_ns > self._modified

    def modified(self, status: os.stat_result) -> int:
        """Return the modification time for the file's entry: the one before a touch, so that the next process notices
        the touch if this one ends before it acts on it."""
        return self._modified if self.shows_touch(status) else status.st_mtime_ns


class PathState(Enum):
    """What happened to the path under which a file was opened."""

    CURRENT = auto()
    RENAMED = auto()  # it has another path of the inputs now
    MOVED = auto()  # out of their paths
    REMOVED = auto()  # the file has no path at all
