"""Which of the two orders of bytes a file in utf-16 has: its first two bytes tell, the byte order mark."""

import codecs
import errno
from collections.abc import Callable

from config.text.encodings import LineTerminator
from shipper.reader.codec import Utf16

MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
MARK_SIZE = 2


class ByteOrder:
    """Found when the first bytes are read, not before: a file may be opened when it is still empty."""

    def __init__(self, default: str, terminator: LineTerminator, head: Callable[[], bytes]) -> None:
        """`default`: Python's codec for a file without a mark; empty where it must have one. `head` gives the first
        bytes of the file, and is asked where reading began behind them."""
        self._default = default
        self._terminator = terminator
        self._head = head

    def find(self, data: bytes, offset: int) -> Utf16 | None:
        """By the first bytes that are read, at `offset`; None when that are too few. Raises OSError where there is no
        mark and none is allowed to be missing: what is read on a guess cannot be called back."""
        head = self._head() if offset else data[:MARK_SIZE]
        if len(head) < MARK_SIZE:
            return None
        codec = MARKS.get(head, self._default)
        if not codec:
            ways = "utf-16le-bom or utf-16be-bom say which order is meant without one"
            raise OSError(errno.EILSEQ, f"no byte order mark at its start, which encoding utf-16-bom needs; {ways}")
        return Utf16(codec, self._terminator)
