"""What the line reader is to do with any encoding and terminator, written as plainly as possible: whole file, byte by
byte, line by line."""

from dataclasses import dataclass

from log_shipper.config.text.encodings import LineTerminator
from log_shipper.shipper.event import TRUNCATED
from tests.model.naive_reader import Message

TERMINATORS: dict[LineTerminator, str] = {
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


@dataclass(frozen=True)
class Dialect:
    """`codec`: Python's; empty where a byte order mark decides. `unit`: the fewest bytes of a character. `kept`: for
    stateful encodings, how many times the limit of a line is kept in raw bytes."""

    encoding: str
    codec: str
    unit: int = 1
    marked: bool = False
    kept: int = 0

    @property
    def terminators(self) -> list[LineTerminator]:
        """The terminators that cannot be a part of another character."""
        return [name for name, text in TERMINATORS.items() if self._is_safe(text)]

    def _is_safe(self, text: str) -> bool:
        try:
            raw = text.encode(self.codec)
        except UnicodeEncodeError:
            return False
        return self.codec != "gb18030" or max(raw) < 0x30


DIALECTS = [
    Dialect("utf-8", "utf-8"),
    Dialect("plain", "utf-8"),
    Dialect("utf-16le", "utf-16-le", 2),
    Dialect("utf-16be", "utf-16-be", 2),
    Dialect("utf-16", "utf-16-le", 2, marked=True),
    Dialect("utf-16-bom", "", 2, marked=True),
    Dialect("utf-16le-bom", "utf-16-le", 2, marked=True),
    Dialect("utf-16be-bom", "utf-16-be", 2, marked=True),
    Dialect("iso8859-1", "latin-1"),
    Dialect("latin1", "cp1252"),
    Dialect("iso8859-8i", "iso8859-8"),
    Dialect("windows-1251", "cp1251"),
    Dialect("koi8r", "koi8-r"),
    Dialect("ebcdic-037", "cp037"),
    Dialect("macintosh-cyrillic", "mac-cyrillic"),
    Dialect("gbk", "gb18030"),
    Dialect("gb18030", "gb18030"),
    Dialect("big5", "big5hkscs"),
    Dialect("euc-kr", "cp949"),
    Dialect("euc-jp", "euc-jp"),
    Dialect("shift-jis", "cp932"),
    Dialect("iso-2022-jp", "iso2022-jp-ext", kept=4),
    Dialect("hz-gb-2312", "hz", kept=4),
]


def read_naively(
    content: bytes, dialect: Dialect, terminator: LineTerminator, max_bytes: int, cuts: tuple[int, ...] = ()
) -> list[Message]:
    """Return all lines of a content that ends at each of `cuts`; one that is pending at the end is left out."""
    lines: list[Message] = []
    raw_terminator = TERMINATORS[terminator].encode(dialect.codec)
    start = index = 0
    while index < len(content):
        ends = index % dialect.unit == 0 and content.startswith(raw_terminator, index)
        if ends and not any(index < cut < index + len(raw_terminator) for cut in cuts):
            lines.append(_line(content, start, index, len(raw_terminator), dialect, terminator, max_bytes))
            start = index = index + len(raw_terminator)
        else:
            index += 1
        if index in cuts and start < index:
            lines.append(_line(content, start, index, 0, dialect, terminator, max_bytes))
            start = index
    return lines


def _line(
    content: bytes, start: int, end: int, ending: int, dialect: Dialect, terminator: LineTerminator, max_bytes: int
) -> Message:
    raw = content[start:end]
    flags = set()
    long = dialect.kept and len(raw) > max_bytes * dialect.kept + 12
    if ending and terminator == "auto" and not long:
        raw = raw.removesuffix("\r".encode(dialect.codec))
    if not start and terminator != "null_terminator":
        nuls = len(raw) - len(raw.lstrip(b"\0"))
        raw = raw[nuls - nuls % dialect.unit :]
    halved = start % dialect.unit
    text = "\ufffd" * halved + raw[halved:].decode(dialect.codec, "replace")
    if long:
        flags.add(TRUNCATED)
        text = raw[: max_bytes * dialect.kept + 12].decode(dialect.codec, "replace").removesuffix("\ufffd")
    if not start:
        text = text.removeprefix("\ufeff")
    kept = text.encode()[:max_bytes].decode("utf-8", "ignore")
    if kept != text:
        flags.add(TRUNCATED)
    return Message(kept, start, end + ending - start, frozenset(flags))
