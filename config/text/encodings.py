"""Encodings and line terminators of log files, under Filebeat's names."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal

from config.text.checks import Finding
from config.text.encoding_names import MARKED, OF_CODEC, USELESS

LineTerminator = Literal[
    "auto",
    "line_feed",
    "vertical_tab",
    "form_feed",
    "carriage_return",
    "carriage_return_line_feed",
    "next_line",
    "line_separator",
    "paragraph_separator",
    "null_terminator",
]
CHARACTERS = {
    "auto": "\n",
    "line_feed": "\n",
    "vertical_tab": "\v",
    "form_feed": "\f",
    "carriage_return": "\r",
    "carriage_return_line_feed": "\r\n",
    "next_line": "\x85",
    "line_separator": "\u2028",
    "paragraph_separator": "\u2029",
    "null_terminator": "\0",
}

# Encodings of one byte a character that Python does not have, or not quite: the nearest it has, and what differs.
AMENDED = {
    "cp1047": ("cp037", {0x5F: "^", 0xAD: "[", 0xB0: "\xac", 0xBA: "\xdd", 0xBB: "\xa8", 0xBD: "]"}),
    "cp1255": ("cp1255", {0xCA: "\u05ba"}),
    "koi8-u": ("koi8-u", {0xAE: "\u045e", 0xBE: "\u040e"}),
    "x-user-defined": ("ascii", {byte: chr(0xF780 + byte - 0x80) for byte in range(0x80, 0x100)}),
}
UNICODE = ("utf-8", "utf-16-le", "utf-16-be")
MULTI_BYTE = ("gb18030", "big5hkscs", "euc-jp", "cp932", "cp949", "iso2022-jp-ext", "hz")
# In these, no byte below this one is part of another character.
NEVER_A_PART = 0x30

OF_ISO = "it is the byte 85 in iso8859-1 and the other iso8859 encodings"
EVERYWHERE = "every encoding has auto, line_feed and carriage_return_line_feed"


@dataclass(frozen=True, slots=True)
class Charset:
    """How bytes become characters. `codec` is Python's; `table` has a character for each byte, where one byte is one
    character. `marked`: a byte order mark decides between utf-16's two; with codec "" there must be one."""

    codec: str
    table: str = ""
    marked: bool = False


def parse_encoding(text: str) -> str:
    """The name as it is known here. Raises ValueError."""
    name = text.strip().lower() or "plain"
    if name in USELESS:
        raise ValueError(f"{text!r} is not supported; nothing but U+FFFD comes of it in Filebeat; convert the file")
    if name not in _codecs():
        close = difflib.get_close_matches(name, _codecs(), n=1, cutoff=0.6)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"{text!r} is no encoding that is known here{hint}")
    return name


# The loader calls the second argument with the scalar's text.
Encoding = Annotated[str, parse_encoding]


@cache
def charset_of(encoding: str) -> Charset:
    codec = _codecs()[encoding]
    if encoding in MARKED:
        return Charset(codec, marked=True)
    if codec in UNICODE + MULTI_BYTE:
        return Charset(codec)
    nearest, amendments = AMENDED.get(codec, (codec, {}))
    characters = bytes(range(256)).decode(nearest, "replace")
    return Charset(codec, "".join(amendments.get(byte, character) for byte, character in enumerate(characters)))


@cache
def encoded_terminator(encoding: str, terminator: LineTerminator) -> bytes:
    """The bytes that end a line. Raises ValueError where the encoding has none that could be told from text."""
    charset = charset_of(encoding)
    characters = CHARACTERS[terminator]
    if charset.table:
        missing = any(character not in charset.table for character in characters)
        raw = b"" if missing else bytes(charset.table.index(character) for character in characters)
    else:
        # In either byte order a terminator has the same length, and which of them it is is known when a file is read.
        raw = characters.encode(charset.codec or "utf-16-le", "ignore")
    if not raw:
        instead = f"{OF_ISO}; " if charset.table and terminator == "next_line" else ""
        raise ValueError(f"encoding {encoding} has no character {terminator}; {instead}{EVERYWHERE}")
    if not charset.table and charset.codec in MULTI_BYTE and max(raw) >= NEVER_A_PART:
        reason = f"encoding {encoding} writes {terminator} in bytes that other characters are made of too"
        raise ValueError(f"{reason}, so it is not supported; {EVERYWHERE}")
    return raw


def padding_unit(encoding: str, terminator: LineTerminator) -> int:
    """Bytes of the smallest character, to tell the NULs at the end of a file from text; 0 where NULs end lines."""
    if terminator == "null_terminator":
        return 0
    return 2 if charset_of(encoding).codec in ("", "utf-16-le", "utf-16-be") else 1


def check_terminator(encoding: str, terminator: LineTerminator) -> Iterator[Finding]:
    """For the models of inputs, whose two options these are."""
    try:
        encoded_terminator(encoding, terminator)
    except ValueError as error:
        yield "line_terminator", str(error)


@cache
def _codecs() -> dict[str, str]:
    """Python's codec by the name of the encoding."""
    codecs = {name: codec for codec, names in OF_CODEC.items() for name in names.split()}
    return codecs | {name: codec or "" for name, codec in MARKED.items()}
