"""Reads the raw bytes of standard input, a pipe, a terminal or the like: once, in order."""

import io
import os
import select

# The capacity of a pipe. One read is one batch, and short lines cost memory besides their bytes.
READ_SIZE = 64 * 1024


class Stream:
    """Reads forward as `LogFile` does. `offset` counts from the first byte read here.

    The data cannot be read again, so it cannot be verified by its bytes either.
    """

    start = 0
    busy = False
    cuts = ()

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.offset = 0
        self._at_end = False
        self._cut = False
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)

    @property
    def complete(self) -> bool:
        """Return True if the stream has ended, and `pop_cut` has reported it."""
        return self._at_end and not self._cut

    def next(self) -> bytes:
        """Return the next bytes; empty if there are none for now, or no more. Never blocks. Raises OSError, after which
        the stream has ended too: a pipe does not recover, and a retry could lose bytes silently."""
        # Not O_NONBLOCK: it belongs to the open file, which other programs at the same terminal share.
        if self._at_end or not self._poll.poll(0):
            return b""
        try:
            data = os.read(self.fd, READ_SIZE)
        except OSError:
            self._end()
            raise
        if not data:
            self._end()
        self.offset += len(data)
        return data

    def at_end(self) -> bool:
        return False  # only another read shows it

    def head(self, length: int) -> bytes:
        raise io.UnsupportedOperation("what was read of a stream cannot be read again")

    def cut_here(self) -> None:
        self._cut = True

    def pop_cut(self) -> bool:
        """Return True, once, when the stream has ended: an unterminated line there is complete. Must also be called
        after an empty read, which detects the end."""
        cut, self._cut = self._cut, False
        return cut

    def require_complete(self) -> None:
        pass  # a stream is complete wherever it ends

    def _end(self) -> None:
        self._at_end = self._cut = True
