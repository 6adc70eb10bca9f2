"""The dead letter file: rejected events, one letter a line, on disk before the event is resolved.

A repeat is possible, as everywhere before an acknowledgement is saved: readers recognise it by file id and offset.
"""

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from log_shipper.shipper.append_file import AppendFile
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Batch, Rejection
from log_shipper.shipper.formats import letter

FILE = "dead_letter.ndjson"  # below path.data
ROTATED = "dead_letter-*.ndjson"


class DeadLetters(Protocol):
    """The store of rejected events; `place` names it in messages."""

    @property
    def place(self) -> str: ...

    def write(self, batch: Batch, rejected: Sequence[Rejection]) -> None:
        """Save these events of the batch. Raises OSError if that is not possible now; then no event of the batch may be
        resolved."""


class DeadLetterFile:
    def __init__(
        self, path: Path, clock: Clock, fsync: Callable[[int], None] = os.fsync, rotate_at: float = float("inf")
    ) -> None:
        """`rotate_at`: bytes at which the file is renamed, with a timestamp, and a new one begun."""
        self.path = path
        self._clock = clock
        self._fsync = fsync
        self._rotate_at = rotate_at

    @property
    def place(self) -> str:
        return str(self.path)

    def write(self, batch: Batch, rejected: Sequence[Rejection]) -> None:
        """Append and fsync. Raises OSError."""
        self.append(b"".join(letter.written(batch, rejection, self._clock.time()) for rejection in rejected))

    def append(self, lines: bytes) -> None:
        """Append and fsync encoded letters. Raises OSError."""
        # Opened each time: rejections are rare, and an operator may move the file away.
        with closing(AppendFile(self.path, self._fsync)) as file:
            if not file.holds_all():  # renamed before it was locked, so it may be read already
                raise OSError(errno.ESTALE, "renamed or removed while it was opened", str(self.path))
            file.append(lines)
            file.sync()
            if not file.holds_all():
                raise OSError(errno.ESTALE, "renamed, removed or truncated while it was written", str(self.path))
            if file.size >= self._rotate_at:
                with suppress(OSError):  # the letters are saved, and the next one tries again
                    self.path.rename(rotated_name(self.path, self._clock.time()))


def rotated_name(path: Path, now: float) -> Path:
    """Return the name of a file rotated at this time, in unix seconds."""
    moment = datetime.fromtimestamp(now, UTC)
    return path.with_name(ROTATED.replace("*", f"{moment:%Y%m%dT%H%M%S.%f}"))
