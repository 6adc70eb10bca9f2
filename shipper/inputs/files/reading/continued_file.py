"""Join a file with the file in which its last message continues.

When a log is rotated in the middle of a stack trace, its last lines are the first ones of the next file. So while a
message is pending at the end of a renamed file, its readers continue in its successor, and where that ends, in the
next, as if they were one file, up to the end of that message and no further. Offsets continue beyond the end of the
first file. The message belongs to the first file; the last one is read by its own readers from the end of the message.
Each file may be compressed: then it must be whole, and its end does not end the message.
"""

import os
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from log_shipper.registry.state import FileState
from log_shipper.shipper.errors import Truncated
from log_shipper.shipper.event import Messages
from log_shipper.shipper.inputs.files.identity.content import Content, PlainFile, close_descriptor
from log_shipper.shipper.inputs.files.identity.prefix import ProofTrail
from log_shipper.shipper.pipeline.acks import Ledger
from log_shipper.shipper.reader.base import RawFile
from log_shipper.shipper.reader.interleaved import snap_forward
from log_shipper.shipper.reader.log_file import READ_SIZE

Open = TypeVar("Open")  # an open file


@dataclass(slots=True, eq=False)
class Links(Generic[Open]):
    """The predecessors and successors of a file, as far as a message may span them (rotation_links.py).
    `continues_behind`: a message continues after its end. `is_alone`: it is read from its start without its
    predecessor, which had been closed."""

    predecessor: Open | None = None
    successor: Open | None = None
    continues_behind: bool = False
    is_alone: bool = False


class Successor(Protocol):
    """The file in which the message continues."""

    content: Content
    state: FileState
    is_open: bool

    @property
    def fd(self) -> int: ...

    def update(self, **changes: object) -> None:
        """Change the file's state, and pass it to the registry."""

    def skip(self, length: int, data: bytes) -> Callable[[], None]:
        """Take the first `length` bytes, which were `data`, as read; return the function that acknowledges them."""


class ContinuedFile:
    """The bytes of a file that may be continued. The file itself is `own`; after its end come the bytes of its
    successor, once `continue_in` was called. `is_followed`: its entry names that successor."""

    def __init__(self, own: RawFile, line_end: bytes, *, is_followed: bool = False) -> None:
        """Take the content of the file. `line_end`: the line terminator, in the file's encoding."""
        self.own = own
        self.is_followed = is_followed
        self.offset = own.offset
        self.busy = False
        self.continuation: Continuation | None = None
        self._line_end = line_end
        self._mark = max(line_end)  # one byte of each line end: not the NUL, which is frequent in UTF-16
        self._last = b""  # as long as a line end

    @property
    def start(self) -> int:
        return 0 if self.continuation is None else self.own.offset

    def next(self) -> bytes:
        if self.continuation is None:
            data = self.own.next()
            self.offset, self.busy = self.own.offset, self.own.busy
        else:
            data = self.continuation.next_line(self._mark)
            self.offset, self.busy = self.offset + len(data), self.continuation.busy
        self._last = (self._last + data)[-len(self._line_end) :]
        return data

    def at_end(self) -> bool:
        return self.continuation is None and self.own.at_end()

    @property
    def complete(self) -> bool:
        return self.continuation is None and self.own.complete

    def require_complete(self) -> None:
        self.own.require_complete()

    @property
    def cuts(self) -> tuple[int, ...]:
        return self.own.cuts

    def head(self, length: int) -> bytes:
        return self.own.head(length)

    def cut_here(self) -> None:
        self.own.cut_here()

    def pop_cut(self) -> bool:
        ends_line = self._last == self._line_end
        if self.continuation is None:
            return _takes_cut(self.own, is_followed=self.is_followed and ends_line)
        return self.continuation.pop_cut(ends_line=ends_line)

    def continue_in(self, successor: Successor) -> bool:
        """Continue in another file, or in a further one. Return False if no line ends where reading ended, or that is
        not the end. Raises OSError."""
        file = self.own if self.continuation is None else self.continuation.file
        if self._last != self._line_end or not (isinstance(file, PlainFile) or file.complete):
            return False
        if self.continuation is None:
            self.continuation = Continuation(self.own)
        self.continuation.extend(successor)
        return True

    def close(self) -> None:
        if self.continuation is not None:
            self.continuation.close()


def _takes_cut(file: RawFile, *, is_followed: bool) -> bool:
    """Forward the file's own `pop_cut`, but the end of a compressed file ends no message if another file follows
    it."""
    is_cut = file.offset in file.cuts
    return file.pop_cut() and (is_cut or not (is_followed and file.complete))


class _Part:
    """One of the files in which the message continues, from its start. `start`: the bytes before it, of the files
    between the first one and this."""

    def __init__(self, successor: Successor, start: int, cuts: tuple[int, ...]) -> None:
        """Open the content. Raises OSError."""
        self.successor = successor
        self.start = start
        self._fd = os.dup(successor.fd)  # the successor may be closed while this is read
        self.file = successor.content.reader(0, cuts, ProofTrail(None), self._fd)
        self._block = b""
        self._given = 0  # bytes of the block
        self._taken = bytearray()

    def next_line(self, mark: int) -> bytes:
        if self._given == len(self._block):
            self._check_start()
            self._block, self._given = self.file.next(), 0
        end = self._block.find(mark, self._given) + 1 or len(self._block)
        line, self._given = self._block[self._given : end], end
        if len(self._taken) < READ_SIZE:
            self._taken += line
        return line

    def _check_start(self) -> None:
        """Raise Truncated if the successor was truncated before it was read: its content does not continue the message.
        Raises OSError."""
        successor = self.successor
        if not self.file.offset and successor.is_open and not successor.content.matches(successor.state):
            raise Truncated(os.fstat(successor.fd).st_size)

    def pop_cut(self, *, ends_line: bool) -> bool:
        is_followed = ends_line and self.successor.state.continues_in is not None
        return self._given == len(self._block) and _takes_cut(self.file, is_followed=is_followed)

    @property
    def end(self) -> int:
        """The end of the returned bytes."""
        return self.start + self.file.offset - len(self._block) + self._given

    def skip(self, end: int) -> Callable[[], None]:
        """Make the successor take its bytes up to `end` as read. Raises OSError."""
        length = max(min(end, self.end) - self.start, 0)
        # As they were read: the file may have others now. Fewer if they were too many to keep.
        return self.successor.skip(length, bytes(self._taken[:length]))

    def close(self) -> None:
        close_descriptor(self._fd)


class Continuation:
    """The bytes of the successors, each from its start. `end`: the first file's size; `cut`: where its message was
    ended by time, possibly beyond `end`."""

    def __init__(self, own: RawFile) -> None:
        self.end = own.offset
        self.cut: int | None = None
        self._own = own
        self._parts: list[_Part] = []

    def extend(self, successor: Successor) -> None:
        """Continue in this file, where the previous one ends. Raises OSError."""
        start = self._parts[-1].end if self._parts else 0
        cuts = tuple(cut - self.end - start for cut in self._own.cuts if cut > self.end + start)
        self._parts.append(_Part(successor, start, cuts))

    @property
    def file(self) -> RawFile:
        """The last of the files."""
        return self._parts[-1].file

    @property
    def busy(self) -> bool:
        return self.file.busy

    def next_line(self, mark: int) -> bytes:
        """Return the bytes up to the next `mark`, so that at most one line ends in them: then the readers' message is
        known to have ended as soon as a line ends it. It may be dropped, and only the end of that line's run shows
        where it ended. Raises Truncated, OSError."""
        return self._parts[-1].next_line(mark)

    def pop_cut(self, *, ends_line: bool) -> bool:
        return self._parts[-1].pop_cut(ends_line=ends_line)

    def split(self, messages: Messages, ledger: Ledger, read_at: float) -> Callable[[], None]:
        """Reduce the run to the messages of the first file, with the given `ledger`, and make each successor take its
        part of the split message as read. Return the function that acknowledges these bytes of all files. Raises
        OSError."""
        length = self._keep_own(messages)
        resolve_own = ledger.track(self.end, read_at)
        resolve_parts = [part.skip(length) for part in self._parts]
        passed = [part.successor for part in self._parts[:-1]]

        def resolve() -> None:
            # The last position first: if only that one is saved, the message is read again as a whole, because the
            # entries of the others still name their successors.
            for resolve_part in reversed(resolve_parts):
                resolve_part()
            resolve_own()
            for successor in passed:
                successor.update(continues_in=None)

        return resolve

    def _keep_own(self, messages: Messages) -> int:
        """Remove from the run in which the split message ended everything that began in the successor, unless it is
        interleaved with earlier messages; return how many bytes of the successor belong to the rest. Lines come one by
        one, so the message ends in this run, even if it or what followed is dropped."""
        beyond = next((offset for offset in messages.offsets if offset >= self.end), messages.end)
        messages.end = snap_forward(messages, beyond)
        messages.select([index for index, offset in enumerate(messages.offsets) if offset < messages.end])
        self._name_by_own_bytes(messages)
        return messages.end - self.end

    def _name_by_own_bytes(self, messages: Messages) -> None:
        """Give messages that began in the successor, interleaved with earlier ones, the last offsets of the first file:
        if more is written to that file, its new messages get the offsets after its end."""
        own, count = bisect_left(messages.offsets, self.end), len(messages.offsets)
        first = self.end - (count - own)
        if own == count or first <= (messages.offsets[own - 1] if own else messages.start):
            return  # none, or more than there are bytes
        messages.offsets[own:] = range(first, self.end)
        ends = [*messages.offsets[1:], messages.end]
        for index in range(max(own - 1, 0), count):
            messages.lengths[index] = ends[index] - messages.offsets[index]

    def close(self) -> None:
        for part in self._parts:
            part.close()
