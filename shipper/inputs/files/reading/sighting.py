"""What a survey saw of an open file: what happened to its path, and by what the next survey notices that the file was
touched (resend_on_touch).
"""

import os
from enum import Enum, auto


class Sighting:
    """Size and time of modification of an open file, as they were at the last survey or when it was opened."""

    __slots__ = ("_modified", "_size")

    def __init__(self, status: os.stat_result) -> None:
        self._size = status.st_size
        self._modified = status.st_mtime_ns

    def shows_touch(self, status: os.stat_result) -> bool:
        """True if the file has the size that it had, and a later time."""
        return status.st_size == self._size and status.st_mtime_ns > self._modified

    def modified(self, status: os.stat_result) -> int:
        """Return the time of modification for the file's entry: that before the touch, so that a touch is noticed by
        the next process if this one ends before it acts on it."""
        return self._modified if self.shows_touch(status) else status.st_mtime_ns


class PathState(Enum):
    """What happened to the path under which a file was opened."""

    CURRENT = auto()
    RENAMED = auto()  # it has another path of the inputs now
    MOVED = auto()  # out of their paths
    REMOVED = auto()  # the file has no path at all
