"""Parses syslog messages, RFC 3164 (BSD) and RFC 5424, into members of a record.

A text is read once from left to right, without backtracking patterns, so parsing takes linear time for any content.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Literal

from log_shipper.shipper.errors import ShipperError
from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats import times

SyslogFormat = Literal["auto", "rfc3164", "rfc5424"]
_SEVERITIES = ("Emergency", "Alert", "Critical", "Error", "Warning", "Notice", "Informational", "Debug")
_FACILITIES = (
    "kernel",
    "user-level",
    "mail",
    "system",
    "security/authorization",
    "syslogd",
    "line printer",
    "network news",
    "UUCP",
    "clock",
    "security/authorization",
    "FTP",
    "NTP",
    "log audit",
    "log alert",
    "clock",
    *(f"local{number}" for number in range(8)),
)
_HEADER = ("version", "timestamp", "host name", "app name", "process id", "message id")
_BOM = "\ufeff"
_NAME = re.compile(r'[^\s=\]"]{1,32}+')  # the name of an element of structured data, or of a value in one
# The values of each element by name; a repeated name (RFC 5424, 6.3.5) has a list.
Elements = dict[str, dict[str, str | list[str]]]


class SyslogError(ShipperError):
    """Raised for a text that is not a syslog message; the message is the reason."""


@dataclass(frozen=True, slots=True)
class SyslogMessage:
    """`text`: the message itself; `time`: as in a record, or None; `syslog`: for log.syslog."""

    text: str
    time: str | None
    syslog: Doc = field(default_factory=dict)


def parse(text: str, format: SyslogFormat, zone: tzinfo | None, now: float) -> SyslogMessage:
    """Parse a message. `zone` applies to times without one (None: this machine's); `now` is the wall clock, in seconds.
    Raises SyslogError."""
    priority, start = _priority(text)
    if format == "rfc5424" or (format == "auto" and priority is not None and _is_rfc5424(text, start)):
        if priority is None:
            raise SyslogError("no priority, such as '<13>', at the start")
        return _rfc5424(text, start, priority)
    if format == "rfc3164" and _is_rfc5424(text, start):
        raise SyslogError("it is an RFC 5424 message, but format is rfc3164; set format: auto")
    return _rfc3164(text, start, priority, zone, now)


def _priority(text: str) -> tuple[int | None, int]:
    """Return the number between < and >, or None, and the index after it."""
    if text[:1] != "<":
        return None, 0
    end = text.find(">", 1, 5)
    digits = text[1:end]
    if end < 2 or not (digits.isdigit() and digits.isascii()) or int(digits) > 191:
        raise SyslogError("the priority is not a number from 0 to 191 between < and >")
    return int(digits), end + 1


def _is_rfc5424(text: str, start: int) -> bool:
    """Return True if a version follows, then a year or `-`: RFC 3164 has a month there, or a year at once."""
    version, _, rest = text[start : start + 10].partition(" ")
    return _is_version(version) and (rest[:2] in ("-", "- ") or (rest[:4].isdigit() and len(rest) > 4))


def _is_version(text: str) -> bool:
    return 1 <= len(text) <= 3 and text.isdigit() and text.isascii() and text[0] != "0"


def _members(priority: int | None) -> Doc:
    if priority is None:
        return {}
    facility, severity = divmod(priority, 8)
    return {
        "priority": priority,
        "facility": {"code": facility, "name": _FACILITIES[facility]},
        "severity": {"code": severity, "name": _SEVERITIES[severity]},
    }


def _rfc5424(text: str, start: int, priority: int) -> SyslogMessage:
    words = text[start:].split(" ", 6)
    missing = next((name for name, word in zip(_HEADER, words, strict=False) if not word), None)
    if missing is not None or len(words) < 7:
        raise SyslogError(f"no {missing or [*_HEADER, 'structured data'][len(words)]}")
    version, when, host, app, process, message_id, rest = words
    if not _is_version(version):
        raise SyslogError("the version is not a number from 1 to 999")
    time = None if when == "-" else times.rfc3339(when)
    if time is None and when != "-":
        raise SyslogError(f"the timestamp {when[:40]!r} is not RFC 3339")
    syslog = _members(priority)
    named = {"hostname": host, "appname": app, "procid": process, "msgid": message_id}
    syslog |= {name: word for name, word in named.items() if word != "-"}
    syslog["version"] = version
    structured = _split_structured_data(rest)
    if structured is None:
        raise SyslogError("the structured data is neither '-' nor '[id name=\"value\"]'")
    elements, raw, text = structured
    if elements:
        syslog["structured_data"] = elements
    message = text.removeprefix(_BOM)
    return SyslogMessage(f"{raw} {message}" if raw and message else raw or message, time, syslog)


def _rfc3164(text: str, start: int, priority: int | None, zone: tzinfo | None, now: float) -> SyslogMessage:
    time, end = _time_3164(text, start, zone, now)
    if time is None:
        raise SyslogError("no timestamp at the start, such as 'Jan  2 15:04:05' or 2026-01-02T15:04:05Z")
    host_end = text.find(" ", end + 1)
    if text[end : end + 1] != " " or host_end <= end + 1:
        raise SyslogError("no host name after the timestamp")
    syslog, message = _members(priority), end + 1
    tag = _tag(text, message)
    if tag is None:  # otherwise it comes from this machine: libc and logger write no host name
        host, message = text[message:host_end], host_end + 1
        if host != "-":
            syslog["hostname"] = host
        tag = _tag(text, message)
    if tag is not None:
        app, process, message = tag
        syslog["appname"] = app
        if process:
            syslog["procid"] = process
    return SyslogMessage(text[message:].removeprefix(_BOM), time, syslog)


def _time_3164(text: str, start: int, zone: tzinfo | None, now: float) -> tuple[str | None, int]:
    """Return the time and the index after it."""
    if text[start : start + 1].isdigit():
        end = text.find(" ", start)
        return times.rfc3339(text[start : end if end > 0 else None]), end if end > 0 else len(text)
    # Three words, with two blanks before a day of one digit.
    clock = text.find(":", start, start + 20)
    end = clock + 6
    return (times.bsd(text[start:end], zone, now) if clock > 0 else None), end


def _tag(text: str, start: int) -> tuple[str, str, int] | None:
    """Return name, process and end of a tag (`name: ` or `name[process]: `); None if there is none."""
    end = text.find(": ", start)
    tag = text[start:end] if end > start else ""
    name, bracket, process = tag.partition("[")
    if not name or " " in name or ":" in name or not name.isprintable():
        return None
    if bracket and (process[-1:] != "]" or len(process) < 2):
        return None
    return name, process[:-1], end + 2


class _InvalidElement(Exception):
    """Raised for an element in brackets that does not conform to RFC 5424."""


def _split_structured_data(text: str) -> tuple[Elements, str, str] | None:
    """Split off the structured data of RFC 5424: `[id name="value" ...]`, one or more without blanks between them.

    Return the elements by id, the raw text of non-conforming brackets, and the text after the blank. None if the text
    begins with neither `-` nor brackets.
    """
    raw, elements = "", Elements()
    if text[:1] == "-":
        end = 1
    else:
        try:
            end = _read_elements(text, elements)
        except _InvalidElement:
            end = _bracketed(text)
            raw, elements = text[:end], {}
    if not end or text[end : end + 1] not in ("", " "):
        return None
    return elements, raw, text[end + 1 :]


def _read_elements(text: str, elements: Elements) -> int:
    """Read all elements and return the index after the last one."""
    end = 0
    while text[end : end + 1] == "[":
        end = _read_element(text, end, elements)
    return end


def _read_element(text: str, start: int, elements: Elements) -> int:
    """Read `[id name="value" ...]` at `start` and return the index after it."""
    end = _name_end(text, start + 1)
    values = elements.setdefault(text[start + 1 : end], {})
    while text[end : end + 1] == " ":
        name_start = end + 1
        name_end = _name_end(text, name_start)
        if text[name_end : name_end + 2] != '="':
            raise _InvalidElement
        value, end = _quoted_value(text, name_end + 2)
        _add_value(values, text[name_start:name_end], value)
    if text[end : end + 1] != "]":
        raise _InvalidElement
    return end + 1


def _add_value(values: dict[str, str | list[str]], name: str, value: str) -> None:
    before = values.get(name)
    if before is None:
        values[name] = value
    elif isinstance(before, list):
        before.append(value)
    else:
        values[name] = [before, value]


def _name_end(text: str, start: int) -> int:
    name = _NAME.match(text, start)
    if name is None:
        raise _InvalidElement
    return name.end()


def _quoted_value(text: str, start: int) -> tuple[str, int]:
    r"""Return the value up to the closing quote, and the index behind the quote. \" \] and \\ stand for the character
    after the backslash; before any other character a backslash is itself."""
    pieces: list[str] = []
    position = piece_start = start
    quote = start - 1
    while True:
        if quote < position:  # searching again after each of many backslashes would take quadratic time
            quote = text.find('"', position)
        if quote < 0:
            raise _InvalidElement
        escape = text.find("\\", position, quote)
        bracket = text.find("]", position, quote if escape < 0 else escape)
        if bracket >= 0:
            raise _InvalidElement
        if escape < 0:
            pieces.append(text[piece_start:quote])
            return "".join(pieces), quote + 1
        if text[escape + 1 : escape + 2] in ('"', "]", "\\"):
            pieces.append(text[piece_start:escape])
            piece_start = escape + 1
            position = escape + 2
        else:
            position = escape + 1


def _bracketed(text: str) -> int:
    r"""Return the index behind a sequence of [...], in which \] does not close a bracket; 0 if there is none."""
    end = 0
    while text[end : end + 1] == "[":
        close = text.find("]", end)
        while close > 0 and text[close - 1] == "\\":
            close = text.find("]", close + 1)
        if close < 0:
            return 0
        end = close + 1
    return end
