"""Rotation of the file of `output.file`: `name` becomes `name.1`, which became `name.2`, and so on.

No name is ever renamed over a file: the first number that is free takes the file before it, and only where none is free
the oldest file is removed. So a crash between any two renames leaves every file under some name, and at most a number
that is free, which the next rotation uses.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from log_shipper.runtime.disk import fsync_directory


@dataclass(frozen=True, slots=True)
class Rotation:
    """`bytes`: how large a file may become, unless a single batch is larger; None if only a start rotates it. `keep`:
    how many rotated files are kept."""

    bytes: int | None = None
    keep: int = 7
    on_start: bool = False

    def is_due(self, size: int, more: int) -> bool:
        """Return True if the file must be rotated before this many more bytes are written."""
        return self.bytes is not None and size > 0 and size + more > self.bytes

    def rotate(self, path: Path) -> None:
        """Rename the file at the path and those rotated before it. Raises OSError; each is under some name then."""
        path = Path(os.path.realpath(path))  # a link stays, and leads to the new file
        free = next((number for number in range(1, self.keep + 1) if not _exists(path, number)), None)
        if free is None:
            numbered(path, self.keep).unlink()
            free = self.keep
        for number in range(free, 1, -1):
            numbered(path, number - 1).rename(numbered(path, number))
        path.rename(numbered(path, 1))
        # Otherwise a power failure could bring the old names back, and with them a file that was removed.
        fsync_directory(path.parent)


def numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def _exists(path: Path, number: int) -> bool:
    name = numbered(path, number)
    return name.is_symlink() or name.exists()


@dataclass(frozen=True, slots=True)
class OutputFile:
    """Where the records go: `mode` is that of a new file."""

    path: Path
    mode: int = 0o600
    rotation: Rotation | None = None
