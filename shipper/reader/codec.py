"""How bytes become lines of text, for each kind of encoding.

A block of lines is decoded at once where that equals decoding line by line, which costs far more. It does in UTF-8,
where the bytes of a terminator never are part of another character, so a damaged sequence ends before them at the
latest; where every character has the same width; and in the older encodings of several bytes a character as long as
nothing is damaged. Raw lengths come from the lengths of the texts wherever these tell.
"""

import codecs
from typing import Protocol

from config.text.encodings import CHARACTERS, LineTerminator, charset_of, encoded_terminator
from shipper.event import Messages
from shipper.reader.terminator import Terminator, run

# Python's codecs in which bytes mean what escape sequences before them say: what such a sequence begins with.
ESCAPES = {"iso2022-jp-ext": b"\x1b", "hz": b"~"}


class Codec(Protocol):
    """`spread`: of how many raw bytes one byte of UTF-8 is made, at most, escape sequences aside."""

    terminator: Terminator
    spread: int

    def lines(self, block: bytes, start: int, end: int) -> Messages:
        """The lines of a block that has lost its last terminator; it begins at `start` in the file, and that
        terminator ends at `end`."""

    def text(self, raw: bytes, offset: int, *, whole: bool) -> str:
        """What a line is that was found without a terminator, or (not `whole`) the beginning of one. What is left
        over at the end of a beginning may become a U+FFFD if it lies beyond the limit."""


def codec_of(encoding: str, terminator: LineTerminator) -> Codec:
    """Raises ValueError for a terminator that the encoding does not have."""
    charset = charset_of(encoding)
    raw = encoded_terminator(encoding, terminator)
    if charset.codec.startswith("utf-16"):
        return Utf16(charset.codec, terminator)
    found = Terminator(raw, CHARACTERS[terminator], terminator == "auto")
    if charset.table:
        return SingleByte(found, charset.table)
    return Utf8(found) if charset.codec == "utf-8" else MultiByte(found, charset.codec)


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
    """Each byte is one character, those that mean none included: they are U+FFFD."""

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
    """Two bytes at even offsets of the file are a unit. A character is one or two, and so is half a pair, which
    becomes U+FFFD. Half a unit only comes about where a message was ended by time, or by the end of the file."""

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
    Where bytes mean what an escape sequence before them says, each line begins as if there had been none."""

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
        """The text of a block if no line of it depends on another one."""
        if block.isascii() and not (self._escape and self._escape in block):
            return block.decode("ascii")
        if self._escape:
            return None
        try:
            return block.decode(self._codec)
        except UnicodeDecodeError:
            return None  # what a damaged character takes with it must not be of the next line
