"""What happened to the path of an open file."""

from enum import Enum, auto


class PathState(Enum):
    """What happened to the path under which a file was opened."""

    CURRENT = auto()
    RENAMED = auto()  # it has another path of the inputs now
    MOVED = auto()  # out of their paths
    REMOVED = auto()  # the file has no path at all
