"""Decodes bytes into lines of text, for each kind of encoding; defines line terminators and the byte order of utf-16.

A block of lines is decoded at once where that equals decoding line by line, which costs far more. It does in UTF-8,
where the bytes of a terminator never are part of another character, so a damaged sequence ends before them at the
latest; where every character has the same width; and in the older encodings of several bytes a character as long as
nothing is damaged. Raw lengths come from the lengths of the texts wherever these suffice.
"""

import codecs
import errno
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

from log_shipper.config.text.encodings import CHARACTERS, LineTerminator, charset_of, encoded_terminator
from log_shipper.shipper.event import Messages


@dataclass(frozen=True, slots=True)
class Terminator:
    """`raw`: as bytes; `text`: as characters. `auto`: one carriage return before it is not part of the line either.
    `units`: Python's codec where bytes come in pairs, which begin at even offsets of the file; else empty."""

    raw: bytes
    text: str
    auto: bool
    units: str = ""

    def first(self, data: bytes, offset: int) -> int:
        """Return the index of the first terminator in `data`, which begins at `offset` in the file; -1 without one."""
        index = data.find(self.raw)
        straddles = self.units and index >= 0 and (offset + index) % 2
        return self._by_units(data, offset, str.find) if straddles else index

    def last(self, data: bytes, offset: int) -> int:
        index = data.rfind(self.raw)
        straddles = self.units and index >= 0 and (offset + index) % 2
        return self._by_units(data, offset, str.rfind) if straddles else index

    def _by_units(self, data: bytes, offset: int, find: Callable[[str, str], int]) -> int:
        """Search the decoded text. Searching from one misleading pair of bytes to the next could take as many steps as
        there are characters."""
        skip = offset % 2
        pairs = data[skip : len(data) - (len(data) - skip) % 2]
        text = pairs.decode(self.units, "replace")
        index = find(text, self.text)
        return skip + len(text[:index].encode(self.units)) if index >= 0 else -1

    def strip(self, lines: list[str], text: str) -> list[str]:
        """Return the lines without a carriage return at their end, if that belongs to the terminator."""
        if self.auto and "\r" in text:
            return [line[:-1] if line[-1:] == "\r" else line for line in lines]
        return lines


def run(start: int, end: int, texts: list[str], lengths: list[int]) -> Messages:
    """Return the run of lines that follow each other from `start` on."""
    offsets = list(accumulate(lengths, initial=start))
    offsets.pop()
    return Messages(start, end, texts, offsets, lengths)


# Python's codecs with escape sequences that select what the next bytes mean: the first byte of such a sequence.
ESCAPES = {"iso2022-jp-ext": b"\x1b", "hz": b"~"}


class Codec(Protocol):
    """An encoding. `spread`: how many raw bytes make one byte of UTF-8, at most, escape sequences aside."""

    terminator: Terminator
    spread: int

    def lines(self, block: bytes, start: int, end: int) -> Messages:
        """Return the lines of a block without its last terminator; it begins at `start` in the file, and that
        terminator ends at `end`."""

    def text(self, raw: bytes, offset: int, *, whole: bool) -> str:
        """Return the text of a line without a terminator, or (not `whole`) of the beginning of one. Incomplete bytes at
        the end of a beginning may become a U+FFFD if they lie beyond the limit."""


def codec_of(encoding: str, terminator: LineTerminator) -> Codec:
    """Return the codec of an encoding. Raises ValueError for a terminator that the encoding does not have."""
    charset = charset_of(encoding)
    raw = encoded_terminator(encoding, terminator)
    if charset.codec.startswith("utf-16"):
        return Utf16(charset.codec, terminator)
    line_end = Terminator(raw, CHARACTERS[terminator], terminator == "auto")
    if charset.table:
        return SingleByte(line_end, charset.table)
    return Utf8(line_end) if charset.codec == "utf-8" else MultiByte(line_end, charset.codec)


class Utf8:
    spread = 1

    def __init__(self, terminator: Terminator) -> None:
        self.terminator = terminator

    def lines(self, block: bytes, start: int, end: int) -> Messages:
        terminator = self.terminator
        text = block.decode("utf-8", "replace")
        texts = text.split(terminator.text)
        size = len(terminator.raw)
        lengths = [len(line) + size for line in (texts if text.isascii() else block.split(terminator.raw))]
        return run(start, end, terminator.strip(texts, text), lengths)

    def text(self, raw: bytes, offset: int, *, whole: bool) -> str:
        return raw.decode("utf-8", "replace")


class SingleByte:
    """An encoding in which each byte is one character; undefined bytes are U+FFFD."""

    spread = 1

    def __init__(self, terminator: Terminator, table: str) -> None:
        self.terminator = terminator
        self._table = table

    def lines(self, block: bytes, start: int, end: int) -> Messages:
        terminator = self.terminator
        text = self.text(block, start, whole=True)
        texts = text.split(terminator.text)
        size = len(terminator.raw)
        return run(start, end, terminator.strip(texts, text), [len(line) + size for line in texts])

    def text(self, raw: bytes, offset: int, *, whole: bool) -> str:
        return codecs.charmap_decode(raw, "strict", self._table)[0]


class Utf16:
    """UTF-16. Two bytes at even offsets of the file are a unit. A character is one unit or a pair of them; half a pair
    becomes U+FFFD. Half a unit occurs only where a message was ended by time, or by the end of the file."""

    spread = 2

    def __init__(self, codec: str, terminator: LineTerminator) -> None:
        """`codec`: utf-16-le or utf-16-be."""
        self._codec = codec
        text = CHARACTERS[terminator]
        self.terminator = Terminator(text.encode(codec), text, terminator == "auto", codec)

    def lines(self, block: bytes, start: int, end: int) -> Messages:
        terminator = self.terminator
        text = self.text(block, start, whole=True)
        texts = text.split(terminator.text)
        size = len(terminator.raw)
        halved = start % 2  # its first byte became a character of its own
        if len(text) * 2 == len(block) + halved:
            lengths = [len(line) * 2 + size for line in texts]
        else:
            lengths = [len(line.encode("utf-16-le")) + size for line in texts]
        lengths[0] -= halved
        return run(start, end, terminator.strip(texts, text), lengths)

    def text(self, raw: bytes, offset: int, *, whole: bool) -> str:
        if offset % 2 and raw:
            return "\ufffd" + raw[1:].decode(self._codec, "replace")
        return raw.decode(self._codec, "replace")


class MultiByte:
    """The older encodings of several bytes a character. Their terminators are bytes that no other character has.
    Where bytes mean what an escape sequence before them selects, each line begins as if there had been none."""

    def __init__(self, terminator: Terminator, codec: str) -> None:
        self.terminator = terminator
        self._codec = codec
        self._escape = ESCAPES.get(codec, b"")
        self.spread = 4 if self._escape else 2

    def lines(self, block: bytes, start: int, end: int) -> Messages:
        terminator = self.terminator
        pieces = block.split(terminator.raw)
        size = len(terminator.raw)
        lengths = [len(piece) + size for piece in pieces]
        text = self._as_one(block)
        if text is not None:
            return run(start, end, terminator.strip(text.split(terminator.text), text), lengths)
        if terminator.auto:
            pieces = [piece.removesuffix(b"\r") for piece in pieces]
        return run(start, end, [piece.decode(self._codec, "replace") for piece in pieces], lengths)

    def text(self, raw: bytes, offset: int, *, whole: bool) -> str:
        text = raw.decode(self._codec, "replace")
        # The limit cuts later than here where escape sequences make no text, so half a character must go now.
        return text if whole else text.removesuffix("\ufffd")

    def _as_one(self, block: bytes) -> str | None:
        """Return the text of a block; None if one of its lines may depend on another."""
        if block.isascii() and not (self._escape and self._escape in block):
            return block.decode("ascii")
        if self._escape:
            return None
        try:
            return block.decode(self._codec)
        except UnicodeDecodeError:
            return None  # a damaged character must not consume bytes of the next line


MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
MARK_SIZE = 2


class ByteOrder:
    """Finds the byte order of a file in utf-16 by its first two bytes, the byte order mark.

    Not before the first bytes are read: a file may be opened when it is still empty."""

    def __init__(self, default: str, terminator: LineTerminator, head: Callable[[], bytes]) -> None:
        """`default`: Python's codec for a file without a mark; empty where it must have one. `head` gives the first
        bytes of the file, and is asked where reading began behind them."""
        self._default = default
        self._terminator = terminator
        self._head = head

    def find(self, data: bytes, offset: int) -> Utf16 | None:
        """Return the codec by the first bytes that are read, at `offset`; None when they are too few. Raises OSError if
        a required mark is missing: records that were decoded by a guess cannot be called back."""
        head = self._head() if offset else data[:MARK_SIZE]
        if len(head) < MARK_SIZE:
            return None
        codec = MARKS.get(head, self._default)
        if not codec:
            ways = "use utf-16le-bom or utf-16be-bom for files without one"
            raise OSError(errno.EILSEQ, f"no byte order mark, which encoding utf-16-bom requires; {ways}")
        return Utf16(codec, self._terminator)
