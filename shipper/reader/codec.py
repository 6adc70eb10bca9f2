"""Decodes bytes into lines of text; defines line terminators and the byte order of utf-16.

A block of lines is decoded at once where that equals decoding line by line, which costs far more: in UTF-8, where the
bytes of a terminator are never part of another character, so a damaged sequence ends before them; in encodings with
characters of fixed width; and in older multi-byte encodings as long as nothing is damaged. Raw lengths are computed
from text lengths where possible.
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
    """`raw`: as bytes; `text`: as characters. `auto`: a carriage return before it belongs to it too. `units`: Python's
    codec if bytes come in pairs, which begin at even offsets of the file; else empty."""

    raw: bytes
    text: str
    auto: bool
    units: str = ""

    def first(self, data: bytes, offset: int) -> int:
        """Return the index of the first terminator in `data`, which begins at `offset` in the file; -1 if there is
        none."""
        index = data.find(self.raw)
        straddles = self.units and index >= 0 and (offset + index) % 2
        return self._by_units(data, offset, str.find) if straddles else index

    def last(self, data: bytes, offset: int) -> int:
        index = data.rfind(self.raw)
        straddles = self.units and index >= 0 and (offset + index) % 2
        return self._by_units(data, offset, str.rfind) if straddles else index

    def _by_units(self, data: bytes, offset: int, find: Callable[[str, str], int]) -> int:
        """Search the decoded text. Searching byte by byte could take as many steps as there are characters."""
        skip = offset % 2
        pairs = data[skip : len(data) - (len(data) - skip) % 2]
        text = pairs.decode(self.units, "replace")
        index = find(text, self.text)
        return skip + len(text[:index].encode(self.units)) if index >= 0 else -1

    def strip(self, lines: list[str], text: str) -> list[str]:
        """Return the lines without trailing carriage returns that belong to the terminator."""
        if self.auto and "\r" in text:
            return [line[:-1] if line[-1:] == "\r" else line for line in lines]
        return lines


def run(start: int, end: int, texts: list[str], lengths: list[int]) -> Messages:
    """Return the run of consecutive lines from `start` on."""
    offsets = list(accumulate(lengths, initial=start))
    offsets.pop()
    return Messages(start, end, texts, offsets, lengths)


# Python's codecs with escape sequences that switch character sets, and the first byte of these.
ESCAPES = {"iso2022-jp-ext": b"\x1b", "hz": b"~"}


class Codec(Protocol):
    """An encoding. `spread`: the maximum raw bytes per byte of UTF-8, without escape sequences."""

    terminator: Terminator
    spread: int

    def lines(self, block: bytes, start: int, end: int) -> Messages:
        """Return the lines of a block without its last terminator; the block begins at `start` in the file, and that
        terminator ends at `end`."""

    def text(self, raw: bytes, offset: int, *, whole: bool) -> str:
        """Return the text of a line without terminator, or (not `whole`) of its beginning. Incomplete trailing bytes of
        a beginning may become U+FFFD if they lie beyond the limit."""


def codec_of(encoding: str, terminator: LineTerminator) -> Codec:
    """Return the codec of an encoding. Raises ValueError for a terminator that it does not have."""
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
    """An encoding with one byte per character; undefined bytes become U+FFFD."""

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
    """UTF-16. Two bytes at an even offset of the file form a unit, and a character has one or two units; an unpaired
    one becomes U+FFFD. Half a unit occurs only where a message was ended by time or by the end of the file."""

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
        halved = start % 2  # its first byte became a separate character
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
    """The older multi-byte encodings. Their terminators are bytes that no other character contains. With escape
    sequences, each line begins in the initial state."""

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
        # The limit cuts later than here if escape sequences produce no text, so half a character must be removed now.
        return text if whole else text.removesuffix("\ufffd")

    def _as_one(self, block: bytes) -> str | None:
        """Return the text of a block; None if a line may depend on another one."""
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
    """Finds the byte order of a utf-16 file by its first two bytes, the byte order mark.

    Only once the first bytes are read: a file may be empty when opened.
    """

    def __init__(self, default: str, terminator: LineTerminator, head: Callable[[], bytes]) -> None:
        """`default`: Python's codec for a file without a mark; empty if the mark is required. `head` returns the first
        bytes of the file, if reading began behind them."""
        self._default = default
        self._terminator = terminator
        self._head = head

    def find(self, data: bytes, offset: int) -> Utf16 | None:
        """Return the codec for the bytes read at `offset`; None if they are too few. Raises OSError if a required mark
        is missing: records decoded by a guess cannot be recalled."""
        head = self._head() if offset else data[:MARK_SIZE]
        if len(head) < MARK_SIZE:
            return None
        codec = MARKS.get(head, self._default)
        if not codec:
            ways = "use utf-16le-bom or utf-16be-bom for files without one"
            raise OSError(errno.EILSEQ, f"no byte order mark, which encoding utf-16-bom requires; {ways}")
        return Utf16(codec, self._terminator)
