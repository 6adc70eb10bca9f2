"""`output.file`: writes records to a file, one per line; delivered means fsynced, in the file at the path."""

import errno
import logging
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from log_shipper.config.text.checks import file_mode, not_blank
from log_shipper.runtime.disk import DiskFile, fsync_directory, open_plain, refuse_dangling, write_all
from log_shipper.runtime.disk_errors import Misplaced, NotDirectory
from log_shipper.runtime.locking import FileInUse, Lock, flock
from log_shipper.runtime.logs.folding import END
from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.append_file import AppendFile
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.output.base import Deliveries, Output, SingleDestination
from log_shipper.shipper.output.encode import Codec, rejections, sendable
from log_shipper.shipper.outputs.base import CheckSteps, LineOutput, OutputContext

logger = logging.getLogger(__name__)

SYNC_BYTES = 4 * 1024 * 1024
RETRY_INTERVAL = 1.0
TRIED_BYTES = 16 * 1024
# The path is also checked while nothing is written: a removed file uses disk space until it is closed.
CHECK_INTERVAL = 1.0
DENIED = "give the shipper's user write access"
ADVICE = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "raise the quota of the shipper's user or free some space",
    errno.EROFS: "mount it writable, or add it to ReadWritePaths in systemd",
    errno.EACCES: DENIED,
    errno.EPERM: DENIED,
    errno.ENOENT: "create what is missing",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutputConfig(LineOutput):
    example: ClassVar = "output.file: {path: /var/spool/shipper, filename: records, rotate_every_kb: 102400}"
    path: str = field(metadata={"doc": "The directory of the file.", "check": not_blank})
    filename: str = field(
        default="shipper", metadata={"doc": "The file name. Only one agent may write to it.", "check": not_blank}
    )
    rotate_every_kb: int | None = field(
        default=None,
        metadata={
            "doc": "The size at which the file is rotated: it is renamed to filename.1, the previous "
            "filename.1 to filename.2, and so on. Not rotated by size when absent. A single batch may "
            "exceed it.",
            "unit": "KiB",
            "min": 1,
        },
    )
    number_of_files: int = field(
        default=7,
        metadata={
            "doc": "The number of rotated files to keep; the oldest is deleted for a new one.",
            "min": 2,
            "max": 1024,
        },
    )
    permissions: str = field(default="0600", metadata={"doc": "The mode of new files.", "check": file_mode})
    rotate_on_startup: bool | None = field(
        default=None,
        metadata={
            "doc": "Whether an existing file is rotated at startup; when absent, only if rotate_every_kb is set."
        },
    )

    @property
    def rotates_on_start(self) -> bool:
        return self.rotate_every_kb is not None if self.rotate_on_startup is None else self.rotate_on_startup

    def files(self) -> list[str]:
        """Return the path of the file and its rotated names."""
        path = os.path.join(self.path, self.filename)
        rotates = self.rotates_on_start or self.rotate_every_kb is not None
        return [path, *(f"{path}.{number}" for number in range(1, self.number_of_files + 1) if rotates)]

    def describe(self) -> str:
        return f"file {os.path.join(self.path, self.filename)}"

    def open(self, config: ShipperConfig, context: OutputContext) -> Output:
        most = None if self.rotate_every_kb is None else self.rotate_every_kb * 1024
        rotation = Rotation(most, self.number_of_files, self.rotates_on_start)
        file = OutputFile(Path(self.path) / self.filename, int(self.permissions, 8), rotation)
        return FileOutput(file, self.make_codec(), context.deliveries, context.clock)

    def try_out(self, step: CheckSteps, fsync: Callable[[int], None] = os.fsync) -> bool:
        """Test whether the file can be written."""
        path = Path(self.path) / self.filename
        problem = ""
        try:
            _try_writing(path, fsync)
        except Misplaced as error:
            problem = f"{error}: create what is missing, or set another output.file.path"
        except OSError as error:
            problem = f"{error.strerror}: {_advice(error)}"
        return step(f"file: {path} can be written", problem)


@dataclass(frozen=True, slots=True)
class Rotation:
    """Rotates the file: `name` becomes `name.1`, which became `name.2`, and so on.

    No name is ever renamed over a file: the first free number takes the file before it, and only if none is free the
    oldest file is removed. So a crash between any two renames leaves every file under some name, and at most a free
    number, which the next rotation uses.

    `bytes`: maximum size of a file, unless a single batch is larger; None if only a start rotates it. `keep`: number of
    rotated files to keep.
    """

    bytes: int | None = None
    keep: int = 7
    on_start: bool = False

    def is_due(self, size: int, more: int) -> bool:
        """Return True if the file must be rotated before this many more bytes are written."""
        return self.bytes is not None and size > 0 and size + more > self.bytes

    def rotate(self, path: Path) -> None:
        """Rename the file and its rotated predecessors. Raises OSError; then each file still has some name."""
        path = Path(os.path.realpath(path))  # a link is kept, and leads to the new file
        free = next((number for number in range(1, self.keep + 1) if not _is_taken(path, number)), None)
        if free is None:
            _numbered(path, self.keep).unlink()
            free = self.keep
        for number in range(free, 1, -1):
            _numbered(path, number - 1).rename(_numbered(path, number))
        path.rename(_numbered(path, 1))
        # Otherwise a power failure could restore the old names, and with them a removed file.
        fsync_directory(path.parent)


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def _is_taken(path: Path, number: int) -> bool:
    name = _numbered(path, number)
    return name.is_symlink() or name.exists()


@dataclass(frozen=True, slots=True)
class OutputFile:
    """The file of the output. `mode`: of a new file."""

    path: Path
    mode: int = 0o600
    rotation: Rotation | None = None


class FileOutput(SingleDestination):
    """The running output. Batches are written as they come and synced together: in `poll`, or when there are enough
    bytes. Any number may be in flight (the queue bounds them).

    A failed write (disk full, read-only) is retried every second, and logged once a minute. A record is in the file
    completely or not at all. A file that was renamed, removed or truncated is followed without a signal; unacknowledged
    records are written again. Its own rotation happens between two batches, when all records in the file are
    acknowledged.
    """

    def __init__(
        self,
        file: OutputFile,
        codec: Codec,
        deliveries: Deliveries,
        clock: Clock,
        fsync: Callable[[int], None] = os.fsync,
        lock: Lock = flock,
    ) -> None:
        """Open the file. Raises StartError if that fails, or another agent writes to it."""
        self._path = file.path
        self._rotation = file.rotation
        self._codec = codec
        self._deliveries = deliveries
        self._clock = clock
        self._rotate_at = 0.0
        self._throttle = Throttle(clock.monotonic)
        self._rotation_throttle = Throttle(clock.monotonic)
        try:
            self._file = AppendFile(file.path, fsync, lock, with_directory=True, mode=file.mode)
            if self._rotation is not None and self._rotation.on_start and self._file.size:
                self._rotate(self._rotation)
        except OSError as error:
            raise StartError(
                f"output.file {error.filename or file.path}: {error.strerror}; {_advice(error)}"
            ) from error
        self._unsynced: list[Batch] = []
        self._written = 0  # the number of them in the file
        self._retry_at = 0.0
        self._check_at = 0.0

    @property
    def in_flight(self) -> int:
        return len(self._unsynced)

    def publish(self, batch: Batch) -> bool:
        self._unsynced.append(batch)
        if self._clock.monotonic() >= self._retry_at:
            self._write()
            if self._file.unsynced >= SYNC_BYTES:
                self._sync()
        return True

    def poll(self, timeout: float) -> None:
        now = self._clock.monotonic()
        if self._unsynced:
            if now < self._retry_at:  # nothing else to do meanwhile
                self._clock.sleep(min(timeout, self._retry_at - now))
            else:
                self._write()
                self._sync()
        elif now >= max(self._check_at, self._retry_at):
            self._check_at = now + CHECK_INTERVAL
            self._write()

    def close(self) -> None:
        self._file.close()

    def _write(self) -> None:
        """Write all pending batches to the file now at the path, until the disk refuses one."""
        try:
            if not self._file.holds_all():
                self._written = 0
                self._file.recover()
            while self._written < len(self._unsynced):
                batch = self._unsynced[self._written]
                records = self._codec.encode(sendable(batch, self._codec.refused(batch)))
                data = "".join(f"{record}\n" for record in records).encode()
                if self._rotates_before(data) and not self._rotate_synced():
                    return
                self._file.append(data)
                self._written += 1
            if not self._unsynced:
                self._report_recovery()
        except OSError as error:
            self._report_failure(error)

    def _rotates_before(self, data: bytes) -> bool:
        rotation = self._rotation
        if rotation is None or not rotation.is_due(self._file.size, len(data)):
            return False
        return self._clock.monotonic() >= self._rotate_at

    def _rotate_synced(self) -> bool:
        """Sync and report the records in the file, then rotate it. Return False if that must be retried."""
        self._sync()
        if self._written:  # not synced, or no longer the file at the path
            return False
        assert self._rotation is not None, "it decided that a rotation is due"
        self._rotate(self._rotation)
        return True

    def _rotate(self, rotation: Rotation) -> None:
        """Rotate the file, and open a new one. Raises OSError if that cannot be opened; if the old one cannot be
        renamed it keeps growing, because events must not wait for that."""
        try:
            rotation.rotate(self._path)
        except OSError as error:
            self._rotate_at = self._clock.monotonic() + RETRY_INTERVAL
            if self._rotation_throttle.is_due():
                logger.error(
                    "cannot rotate %s: %s (%s). It grows until rotation succeeds. Allow the "
                    "shipper's user to rename files in its directory",
                    self._path,
                    error.strerror,
                    error.filename,
                )
        if not self._file.holds_all():
            self._file.recover()

    def _sync(self) -> None:
        """Sync and report the records in the file, even if the disk is full."""
        if not self._written:
            return
        try:
            self._file.sync()
            if not self._file.holds_all():
                return  # renamed, removed or truncated meanwhile: the next poll writes again
        except OSError as error:
            self._report_failure(error)
            return
        self._report_recovery()
        done = self._unsynced[: self._written]
        del self._unsynced[: self._written]
        self._written = 0
        for batch in done:
            self._deliveries.delivered(batch, rejections(self._codec.refused(batch)))

    def _report_recovery(self) -> None:
        if self.problem:
            self.problem = ""
            self._throttle.reset()
            logger.info("output.file %s: events are delivered again", self._path, extra=END)

    def _report_failure(self, error: OSError) -> None:
        self._retry_at = self._clock.monotonic() + RETRY_INTERVAL
        self.problem = f"cannot write to {self._path}: {error.strerror}; {_advice(error)}"
        if self._throttle.is_due():
            logger.error("%s. Events wait; nothing is lost", self.problem)


def _advice(error: OSError) -> str:
    """Return the advice for an error of the file."""
    if isinstance(error, FileInUse):
        return "stop the other agent, or give each agent its own file (output.file.filename)"
    return f"{ADVICE.get(error.errno or 0, 'free some space, make it writable')}, or set another output.file.path"


def _try_writing(path: Path, fsync: Callable[[int], None]) -> None:
    """Write and sync an unnamed file in the directory, or where missing directories would be created. Leaves no trace.
    Raises Misplaced, OSError."""
    target = Path(os.path.realpath(path))
    with suppress(FileNotFoundError, NotADirectoryError):
        os.close(open_plain(target, os.O_RDWR | os.O_APPEND))
    directory = target.parent if path.is_symlink() else _existing(path.parent)
    with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
        write_all(DiskFile(file.fileno()), bytes(TRIED_BYTES))
        fsync(file.fileno())


def _existing(directory: Path) -> Path:
    """Return the directory, or the ancestor in which it would be created. Raises Misplaced, OSError."""
    for candidate in (directory, *directory.absolute().parents):
        refuse_dangling(candidate)
        if candidate.is_dir():
            return candidate
        if candidate.exists():
            raise NotDirectory(candidate)
    raise NotDirectory(directory)  # unreachable: the root exists
