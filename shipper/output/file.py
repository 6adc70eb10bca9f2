"""Records appended to a file, one a line; delivered means fsynced."""

import logging
import os
from collections.abc import Callable
from pathlib import Path

from registry.files import DiskFile, DiskFiles, write_all
from shipper.clock import Clock
from shipper.event import Batch
from shipper.output.base import Deliveries
from shipper.output.encode import Encoder

logger = logging.getLogger(__name__)

SYNC_BYTES = 4 * 1024 * 1024
RETRY_INTERVAL = 1.0
LOG_EVERY = 60.0


class FileOutput:
    """Batches are written as they come and synced together: once in `poll`, or when enough has gathered.

    A disk that refuses (full, read-only) is tried again every second, and said in words once a minute; a line that
    was half written is cut off first, so the file only ever holds whole records.
    """

    def __init__(
        self, path: Path, encoder: Encoder, deliveries: Deliveries, clock: Clock,
        fsync: Callable[[int], None] = os.fsync,
    ) -> None:  # fmt: skip
        """Raises OSError when the file cannot be opened."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._encoder = encoder
        self._deliveries = deliveries
        self._clock = clock
        self._fsync = fsync
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = self._synced_size = _whole_lines(self._fd)
        DiskFiles().fsync_dir(path.parent)  # else a power failure could take the file, with all that was fsynced in it
        self._unsynced: list[Batch] = []
        self._retry_at = 0.0
        self._said_at = -LOG_EVERY

    @property
    def in_flight(self) -> int:
        return len(self._unsynced)

    def publish(self, batch: Batch) -> bool:
        if self._clock.monotonic() < self._retry_at or self._to_write_again:
            return False
        try:
            self._append(batch)
        except OSError as error:
            self._refused(error)
            return False
        self._unsynced.append(batch)
        if self._size - self._synced_size >= SYNC_BYTES:
            self._sync()
        return True

    @property
    def _to_write_again(self) -> bool:
        """An fsync failed: what was written since the last one must be written again before anything else."""
        return bool(self._unsynced) and self._size == self._synced_size

    def poll(self, timeout: float) -> None:
        if not self._unsynced:
            return
        refused_for = self._retry_at - self._clock.monotonic()
        if refused_for > 0:
            self._clock.sleep(min(timeout, refused_for))  # nothing else can be done: the caller waits for this disk
        else:
            self._sync()

    def close(self) -> None:
        os.close(self._fd)

    def _append(self, batch: Batch) -> None:
        data = "".join(f"{record}\n" for record in self._encoder.encode(batch)).encode()
        if os.fstat(self._fd).st_size != self._size:
            os.ftruncate(self._fd, self._size)  # a write that failed left a part of a line
        write_all(DiskFile(self._fd), data)
        self._size += len(data)

    def _sync(self) -> None:
        try:
            if self._to_write_again:
                self._write_again()
            self._fsync(self._fd)
        except OSError as error:
            # The kernel may have dropped the pages that it could not write, and forgotten it: only writing them
            # again makes a later fsync mean something.
            self._size = self._synced_size
            self._refused(error)
            return
        self._synced_size = self._size
        done, self._unsynced = self._unsynced, []
        for batch in done:
            self._deliveries.delivered(batch, ())

    def _write_again(self) -> None:
        for batch in self._unsynced:
            self._append(batch)

    def _refused(self, error: OSError) -> None:
        now = self._clock.monotonic()
        self._retry_at = now + RETRY_INTERVAL
        if now - self._said_at >= LOG_EVERY:
            self._said_at = now
            logger.error(
                "cannot write to %s: %s. Events wait and nothing is lost; free some space or make it writable",
                self._path,
                error.strerror,
            )


def _whole_lines(fd: int) -> int:
    """Cut off what a killed writer left of a line, and return the size."""
    size = os.fstat(fd).st_size
    start = size
    while start > 0:
        step = min(start, 65536)
        newline = os.pread(fd, step, start - step).rfind(b"\n")
        if newline >= 0:
            start += newline + 1 - step
            break
        start -= step
    os.ftruncate(fd, start)
    return start
