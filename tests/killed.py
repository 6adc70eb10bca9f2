"""What a kill leaves behind of a directory in which threads of the agent go on writing."""

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

LONG = 60.0  # seconds; a directory that changes that long is written by mistake


def copy_at_an_instant(directory: Path, copy: Path) -> Path:
    """Copy the directory as it was at one instant, as SIGKILL would leave it, and return the copy.

    Files that are written while others are copied give a state that never was: a position without the event that it
    says is in the queue on disk, or a list of files of which one is gone. So it is copied until nothing changed
    meanwhile.
    """
    deadline = time.monotonic() + LONG
    while True:
        before = _contents(directory)
        with suppress(shutil.Error):  # a file was deleted meanwhile
            shutil.copytree(directory, copy)
            if _contents(directory) == before:
                return copy
        assert time.monotonic() < deadline, f"{directory} does not come to rest"
        shutil.rmtree(copy)


def _contents(directory: Path) -> dict[str, tuple[int, int, int]]:
    """Return inode, size and time of the last change of each file below the directory."""
    files = {}
    for parent, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(parent, name)
            with suppress(FileNotFoundError):
                status = os.stat(path, follow_symlinks=False)
                files[path] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return files
