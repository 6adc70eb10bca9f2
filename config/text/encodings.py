"""Encodings and line terminators of log files, by Filebeat's names.

Encodings have Filebeat's own names, and those of the WHATWG Encoding Standard for browsers (where `latin1` is
windows-1252, `gb2312` gbk and `euc-kr` uhc).
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal

from log_shipper.config.text.checks import Finding

# Python's codec -> its names.
OF_CODEC = {
    "utf-8": "utf-8 plain nop utf8 unicode-1-1-utf-8 utf-8-bom",
    "utf-16-le": "utf-16le",
    "utf-16-be": "utf-16be",
    "iso8859-1": "iso8859-1",
    "iso8859-2": "iso8859-2 iso-8859-2 iso_8859-2 iso88592 iso_8859-2:1987 iso-ir-101 latin2 l2 csisolatin2",
    "iso8859-3": "iso8859-3 iso-8859-3 iso_8859-3 iso88593 iso_8859-3:1988 iso-ir-109 latin3 l3 csisolatin3",
    "iso8859-4": "iso8859-4 iso-8859-4 iso_8859-4 iso88594 iso_8859-4:1988 iso-ir-110 latin4 l4 csisolatin4",
    "iso8859-5": "iso8859-5 iso-8859-5 iso_8859-5 iso88595 iso_8859-5:1988 iso-ir-144 cyrillic csisolatincyrillic",
    "iso8859-6": "iso8859-6 iso8859-6e iso8859-6i iso-8859-6 iso-8859-6-e iso-8859-6-i iso_8859-6 iso88596 arabic"
    " iso_8859-6:1987 iso-ir-127 asmo-708 ecma-114 csiso88596e csiso88596i csisolatinarabic",
    "iso8859-7": "iso8859-7 iso-8859-7 iso_8859-7 iso88597 iso_8859-7:1987 iso-ir-126 greek greek8 ecma-118"
    " elot_928 sun_eu_greek csisolatingreek",
    "iso8859-8": "iso8859-8 iso8859-8e iso8859-8i iso-8859-8 iso-8859-8-e iso-8859-8-i iso_8859-8 iso88598 hebrew"
    " iso_8859-8:1988 iso-ir-138 visual logical csiso88598e csiso88598i csisolatinhebrew",
    "iso8859-9": "iso8859-9",
    "iso8859-10": "iso8859-10 iso-8859-10 iso885910 iso-ir-157 latin6 l6 csisolatin6",
    "iso8859-13": "iso8859-13 iso-8859-13 iso885913",
    "iso8859-14": "iso8859-14 iso-8859-14 iso885914",
    "iso8859-15": "iso8859-15 iso-8859-15 iso_8859-15 iso885915 l9 csisolatin9",
    "iso8859-16": "iso8859-16 iso-8859-16",
    "cp437": "cp437",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp855": "cp855",
    "cp858": "cp858",
    "cp860": "cp860",
    "cp862": "cp862",
    "cp863": "cp863",
    "cp865": "cp865",
    "cp866": "cp866 ibm866 866 csibm866",
    "cp037": "ebcdic-037",
    "cp1047": "ebcdic-1047",
    "cp1140": "ebcdic-1040",
    "koi8-r": "koi8r koi8-r koi8_r koi8 koi cskoi8r",
    "koi8-u": "koi8u koi8-u",
    "mac-roman": "macintosh mac x-mac-roman csmacintosh",
    "mac-cyrillic": "macintosh-cyrillic x-mac-cyrillic x-mac-ukrainian",
    "cp874": "windows-874 windows874 dos-874 tis-620 iso8859-11 iso-8859-11 iso885911",
    "cp1250": "windows-1250 windows1250 cp1250 x-cp1250",
    "cp1251": "windows-1251 windows1251 cp1251 x-cp1251",
    "cp1252": "windows-1252 windows1252 cp1252 x-cp1252 latin1 l1 ascii us-ascii ansi_x3.4-1968 iso-8859-1 iso_8859-1"
    " iso88591 iso_8859-1:1987 iso-ir-100 cp819 ibm819 csisolatin1",
    "cp1253": "windows-1253 windows1253 cp1253 x-cp1253",
    "cp1254": "windows-1254 windows1254 cp1254 x-cp1254 latin5 l5 iso-8859-9 iso_8859-9 iso88599 iso_8859-9:1989"
    " iso-ir-148 csisolatin5",
    "cp1255": "windows-1255 windows1255 cp1255 x-cp1255",
    "cp1256": "windows-1256 windows1256 cp1256 x-cp1256",
    "cp1257": "windows-1257 windows1257 cp1257 x-cp1257",
    "cp1258": "windows-1258 windows1258 cp1258 x-cp1258",
    "x-user-defined": "x-user-defined",
    # gb18030 is a superset of gbk, and browsers read gbk as gb18030.
    "gb18030": "gb18030 gbk x-gbk gb2312 gb_2312 gb_2312-80 chinese iso-ir-58 csgb2312 csiso58gb231280",
    "hz": "hz-gb-2312",
    "big5hkscs": "big5 big5-hkscs cn-big5 x-x-big5 csbig5",
    "euc-jp": "euc-jp x-euc-jp cseucpkdfmtjapanese",
    "iso2022-jp-ext": "iso-2022-jp csiso2022jp",
    "cp932": "shift-jis shift_jis sjis x-sjis ms_kanji windows-31j csshiftjis",
    "cp949": "euc-kr windows-949 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 iso-ir-149 cseuckr"
    " csksc56011987",
}

# A byte order mark at the start of the file decides -> the encoding without one.
MARKED = {"utf-16": "utf-16-le", "utf-16le-bom": "utf-16-le", "utf-16be-bom": "utf-16-be", "utf-16-bom": None}

# Names of valid encodings that Filebeat replaces by a single U+FFFD.
UNSUPPORTED = ("iso-2022-kr", "csiso2022kr", "iso-2022-cn", "iso-2022-cn-ext", "replacement")

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

# Single-byte encodings that Python lacks or implements differently: Python's nearest one, and the differences.
AMENDED = {
    "cp1047": ("cp037", {0x5F: "^", 0xAD: "[", 0xB0: "\xac", 0xBA: "\xdd", 0xBB: "\xa8", 0xBD: "]"}),
    "cp1255": ("cp1255", {0xCA: "\u05ba"}),
    "koi8-u": ("koi8-u", {0xAE: "\u045e", 0xBE: "\u040e"}),
    "x-user-defined": ("ascii", {byte: chr(0xF780 + byte - 0x80) for byte in range(0x80, 0x100)}),
}
UNICODE = ("utf-8", "utf-16-le", "utf-16-be")
MULTI_BYTE = ("gb18030", "big5hkscs", "euc-jp", "cp932", "cp949", "iso2022-jp-ext", "hz")
# In the multi-byte encodings, no byte below this one is part of another character.
NEVER_A_PART = 0x30

OF_ISO = "it is the byte 85 in iso8859-1 and the other iso8859 encodings"
EVERYWHERE = "every encoding has auto, line_feed and carriage_return_line_feed"


@dataclass(frozen=True, slots=True)
class Charset:
    """A character encoding. `codec` is Python's codec; `table` has a character for each byte of a single-byte encoding.
    `marked`: a byte order mark selects one of the two byte orders of utf-16; with codec "" it is required.
    """

    codec: str
    table: str = ""
    marked: bool = False


def parse_encoding(text: str) -> str:
    """Return the name of a known encoding. Raises ValueError."""
    name = text.strip().lower() or "plain"
    if name in UNSUPPORTED:
        raise ValueError(f"{text!r} is not supported; Filebeat produces only U+FFFD with it; convert the file")
    if name not in _codecs():
        close = difflib.get_close_matches(name, _codecs(), n=1, cutoff=0.6)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"{text!r} is not a known encoding{hint}")
    return name


# The second argument is called by the loader with the scalar's text.
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
    """Return the bytes that end a line. Raises ValueError if text may contain them in this encoding."""
    charset = charset_of(encoding)
    characters = CHARACTERS[terminator]
    if charset.table:
        missing = any(character not in charset.table for character in characters)
        raw = b"" if missing else bytes(charset.table.index(character) for character in characters)
    else:
        # A terminator has the same length in both byte orders; the actual one is known when a file is read.
        raw = characters.encode(charset.codec or "utf-16-le", "ignore")
    if not raw:
        instead = f"{OF_ISO}; " if charset.table and terminator == "next_line" else ""
        raise ValueError(f"encoding {encoding} has no character {terminator}; {instead}{EVERYWHERE}")
    if not charset.table and charset.codec in MULTI_BYTE and max(raw) >= NEVER_A_PART:
        reason = f"encoding {encoding} writes {terminator} in bytes that are also part of other characters"
        raise ValueError(f"{reason}, so it is not supported; {EVERYWHERE}")
    return raw


def padding_unit(encoding: str, terminator: LineTerminator) -> int:
    """Return the bytes of the smallest character, which distinguishes NULs at the end of a file from text; 0 if NULs
    end lines.
    """
    if terminator == "null_terminator":
        return 0
    return 2 if charset_of(encoding).codec in ("", "utf-16-le", "utf-16-be") else 1


def check_terminator(encoding: str, terminator: LineTerminator) -> Iterator[Finding]:
    """Check an input's two options against each other."""
    try:
        encoded_terminator(encoding, terminator)
    except ValueError as error:
        yield "line_terminator", str(error)


@cache
def _codecs() -> dict[str, str]:
    """Return Python's codec by the name of the encoding."""
    codecs = {name: codec for codec, names in OF_CODEC.items() for name in names.split()}
    return codecs | {name: codec or "" for name, codec in MARKED.items()}
