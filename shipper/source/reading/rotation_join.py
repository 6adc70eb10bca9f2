"""Where a file ends and the one that followed it goes on: a message may lie across.

When a log is rotated in the middle of a stack trace, its last lines are the first ones of the next file. So while a
message is pending at the end of a renamed file, that file's readers read on in its successor, as if the two were
one file, up to the end of that message and no further. Offsets count on beyond the end of the first file. The message
is the first file's; the successor is read by its own readers from where the message ended.
"""

import os
from bisect import bisect_left
from collections.abc import Callable
from typing import Protocol

from registry.state import FileState
from shipper.errors import Truncated
from shipper.event import Messages
from shipper.reader.interleaved import snap_forward
from shipper.reader.log_file import LogFile
from shipper.source.identity.content import Content


class Successor(Protocol):
    """The file in which the message continues."""

    content: Content
    state: FileState
    is_open: bool

    @property
    def fd(self) -> int: ...

    def skip(self, length: int, data: bytes) -> Callable[[], None]:
        """Take the first `length` bytes, which were `data`, for read; what is returned resolves them."""


class RotationJoin:
    """`end`: the first file's last byte and one; `cut`: where its message was ended by time, beyond `end` perhaps."""

    def __init__(self, file: LogFile, successor: Successor) -> None:
        self.end = file.offset
        self.cut: int | None = None
        self.successor = successor
        self._file = file
        self._fd = os.dup(successor.fd)  # the successor may be closed while this is read
        file.go_on_in(self._fd)

    def keep_own(self, messages: Messages) -> int:
        """Of the run in which the message at the seam has ended, leave what began before the seam, and what cannot be
        parted from that; how many bytes of the successor belong to it. Lines come one by one here (line_by_line.py):
        so that message ends in this run, though it is dropped perhaps, and so may be what followed it."""
        beyond = next((offset for offset in messages.offsets if offset >= self.end), messages.end)
        messages.end = snap_forward(messages, beyond)
        messages.select([index for index, offset in enumerate(messages.offsets) if offset < messages.end])
        self._name_by_own_bytes(messages)
        return messages.end - self.end

    def _name_by_own_bytes(self, messages: Messages) -> None:
        """What began behind the seam, entangled with what began before it, gets the last offsets of the first file:
        should more be written to that file, behind its end other messages will have theirs."""
        own, count = bisect_left(messages.offsets, self.end), len(messages.offsets)
        first = self.end - (count - own)
        if own == count or first <= (messages.offsets[own - 1] if own else messages.start):
            return  # none, or more than there are bytes
        messages.offsets[own:] = range(first, self.end)
        ends = [*messages.offsets[1:], messages.end]
        for index in range(max(own - 1, 0), count):
            messages.lengths[index] = ends[index] - messages.offsets[index]

    def taken(self, length: int) -> bytes:
        """The first bytes of the successor, as they were read: others may be there now. Fewer where they were many."""
        return self._file.beyond[:length]

    def check(self, offset: int) -> None:
        """Raises Truncated where the successor was, before anything of it was read: what it holds is not what
        followed. And OSError."""
        successor = self.successor
        if offset == self.end and successor.is_open and not successor.content.holds(successor.state):
            raise Truncated(os.fstat(successor.fd).st_size)

    def close(self) -> None:
        os.close(self._fd)
