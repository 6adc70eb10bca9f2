"""Split the pieces of a pipe into lines of limited length."""

import re

_CURSOR = re.compile(rb'"__CURSOR"\s*:\s*"([^"\\]+)"')  # a quote within a value would have a backslash before it
_MAX_CURSOR_LENGTH = 512


class OutputLines:
    """The lines of a stream. A longer line is skipped, and only its cursor is kept."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._size = 0
        self._skipping = False
        self._cursor = ""
        self._skipped: list[tuple[str, int]] = []

    def split(self, block: bytes) -> list[bytes]:
        """Return the lines that end in the block, without their ends."""
        *whole, rest = block.split(b"\n")
        lines: list[bytes] = []
        for piece in whole:
            self._add(piece)
            lines += self._end()
        self._add(rest)
        return lines

    @property
    def is_skipping(self) -> bool:
        """Return True within a line that is too long."""
        return self._skipping

    def rest(self) -> bytes:
        """Return the received part of an unfinished line."""
        return b"".join(self._pieces)

    def take_skipped(self) -> list[tuple[str, int]]:
        """Return the cursors of lines skipped since the last call, empty if unknown, and their bytes."""
        skipped, self._skipped = self._skipped, []
        return skipped

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        self._pieces.append(piece)
        if self._size > self._max_bytes:
            self._skipping = True
            tail = b"".join(self._pieces)
            match = _CURSOR.search(tail)
            if match and not self._cursor:
                self._cursor = match[1].decode("ascii", "replace")
            self._pieces = [tail[-_MAX_CURSOR_LENGTH:]]

    def _end(self) -> list[bytes]:
        pieces, size, skipped = self._pieces, self._size, self._skipping
        self._pieces, self._size, self._skipping = [], 0, False
        if skipped:
            self._skipped.append((self._cursor, size))
            self._cursor = ""
            return []
        return [pieces[0] if len(pieces) == 1 else b"".join(pieces)]
