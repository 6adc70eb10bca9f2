"""The queue's door to the disk. Tests have another one: a disk that crashes between any two operations."""

import os
from contextlib import closing, suppress
from pathlib import Path
from typing import Protocol

from log_shipper.runtime.disk import AppendedFile, DiskFile, fsync_directory, make_directory, open_plain

FILE_MODE = 0o600


class SegmentFiles(Protocol):
    """File operations. Each may block on the disk, and raise OSError and Misplaced."""

    def sizes(self, directory: Path) -> dict[str, int]:
        """Return the sizes of the files in the directory, by name."""

    def open(self, path: Path, fresh: bool = False) -> AppendedFile:
        """Open for appending; with `fresh`, a new empty file."""

    def read_at(self, path: Path, offset: int, size: int) -> bytes:
        """Return bytes of the file, fewer at its end. It stays open for the next call. Used by one thread."""

    def stop_reading(self) -> None:
        """Close the file read last: a removed file keeps its space until then."""

    def unlink(self, path: Path) -> None: ...

    def fsync_dir(self, directory: Path) -> None:
        """Make created and removed names survive a power failure."""


class _OpenFile:
    """The descriptor used last: the next read is usually of the same file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor = open_plain(path, os.O_RDONLY)

    def close(self) -> None:
        os.close(self.descriptor)


class SegmentDisk:
    """The files of a local or mounted file system."""

    def __init__(self) -> None:
        self._reading: _OpenFile | None = None

    def sizes(self, directory: Path) -> dict[str, int]:
        sizes = {}
        with os.scandir(directory) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # a dangling symlink is not our file
                    sizes[entry.name] = entry.stat().st_size
        return sizes

    def open(self, path: Path, fresh: bool = False) -> DiskFile:
        if fresh:
            path.unlink(missing_ok=True)  # not truncated: it could be a link to someone else's file
            make_directory(path.parent, 0o750, owned_as_parent=True)  # it may have been removed
        flags = os.O_WRONLY | os.O_APPEND | (os.O_CREAT | os.O_EXCL if fresh else 0)
        return DiskFile(open_plain(path, flags, FILE_MODE))

    def read_at(self, path: Path, offset: int, size: int) -> bytes:
        if self._reading is None or self._reading.path != path:
            self.stop_reading()
            self._reading = _OpenFile(path)
        pieces = []
        while size > 0 and (piece := os.pread(self._reading.descriptor, size, offset)):
            pieces.append(piece)
            offset, size = offset + len(piece), size - len(piece)
        return b"".join(pieces)

    def stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.close()
            self._reading = None

    def unlink(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def fsync_dir(self, directory: Path) -> None:
        fsync_directory(directory)


def fsync_file(files: SegmentFiles, path: Path, size: int | None = None) -> None:
    """Fsync a file that another process may have written, truncated to `size` bytes. Raises OSError."""
    with closing(files.open(path)) as file:
        if size is not None:
            file.truncate(size)
        file.fsync()


def remove_quietly(files: SegmentFiles, path: Path) -> None:
    """Remove an unneeded file, ignoring errors."""
    with suppress(OSError):
        files.unlink(path)
