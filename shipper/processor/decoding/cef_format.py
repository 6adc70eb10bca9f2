"""Common Event Format: `CEF:0|vendor|product|version|event class|name|severity|key=value key=value`.

In the header, a backslash escapes a pipe and itself; in values, an equals sign and itself, and with n or r it is a line
break. A key begins after a blank, so values may contain blanks; a value with an unescaped equals sign is malformed.
"""

import re
from dataclasses import dataclass, field
from itertools import zip_longest

from log_shipper.shipper.errors import ShipperError

MAX_EXTENSIONS = 10_000  # an object takes many times the memory of a text such as `a= b= `
_START = re.compile(r"CEF:([0-9]{1,9})\|")
_HEADER_PART = re.compile(r"((?:[^|\\]++|\\.)*+)\|", re.DOTALL)
_HEADER_ESCAPE = re.compile(r"\\([\\|])")
# Keys of the specification are alphanumeric; the other characters are used in practice.
_KEY = re.compile(r"(?:^ *| )([A-Za-z0-9_][A-Za-z0-9_.,\[\]-]*+)=")
_VALUE = re.compile(r"(?:[^=\\]++|\\[=\\nr])*+", re.DOTALL)
_VALUE_ESCAPE = re.compile(r"\\([=\\nr])")
_ESCAPED = {"=": "=", "\\": "\\", "n": "\n", "r": "\r"}
HEADER = ("device.vendor", "device.product", "device.version", "device.event_class_id", "name", "severity")


class NotCefError(ShipperError):
    """Raised for a text without a CEF header."""


@dataclass(slots=True)
class CefMessage:
    """`header`: non-empty parts, by the names of HEADER; `extensions`: in text order. `wrong`: problems."""

    version: str
    header: dict[str, str] = field(default_factory=dict)
    extensions: dict[str, str] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)


def parse(text: str) -> CefMessage:
    """Return the message in a text. Raises NotCefError."""
    start = _START.search(text)
    if start is None:
        raise NotCefError("no CEF header, as in CEF:0|vendor|product|version|event class|name|severity|")
    message, position = CefMessage(str(int(start[1]))), start.end()
    for name in HEADER:
        part = _HEADER_PART.match(text, position)
        if part is None:
            message.wrong.append(f"the header ends before its {name}")
            break
        position = part.end()
        if part[1]:
            message.header[name] = _HEADER_ESCAPE.sub(r"\1", part[1])
    _parse_extensions(message, text[position:].rstrip())
    return message


def _parse_extensions(message: CefMessage, text: str) -> None:
    keys = list(_KEY.finditer(text))
    if len(keys) > MAX_EXTENSIONS:
        message.wrong.append(f"it has more than {MAX_EXTENSIONS} extensions; the rest are dropped")
        text = text[: keys[MAX_EXTENSIONS].start()]
        del keys[MAX_EXTENSIONS:]
    if text and (not keys or keys[0].start()):
        message.wrong.append("the text after the header does not begin with key=value")
    for key, following in zip_longest(keys, keys[1:]):
        value = text[key.end() : following.start() if following else len(text)]
        if _VALUE.fullmatch(value) is None:
            message.wrong.append(f"the value of {key[1]} contains an unescaped '=' or backslash")
        elif "\\" in value:
            message.extensions[key[1]] = _VALUE_ESCAPE.sub(lambda escape: _ESCAPED[escape[1]], value)
        else:
            message.extensions[key[1]] = value
