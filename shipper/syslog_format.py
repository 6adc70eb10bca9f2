"""Messages of syslog, RFC 3164 (BSD) and RFC 5424, as members of a record.

All of it is one walk from left to right, without patterns that could look back: a line of any content takes time in
proportion to its length.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import tzinfo

from config.shipper.parsers import SyslogFormat
from shipper import structured_data, times
from shipper.errors import ShipperError
from shipper.event import Doc

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


class SyslogError(ShipperError):
    """A text is not a syslog message; the text of the error says why."""


@dataclass(frozen=True, slots=True)
class SyslogMessage:
    """`text`: the message itself; `time`: as a record has it, None without one; `syslog`: what goes to log.syslog."""

    text: str
    time: str | None
    syslog: Doc = field(default_factory=dict)


def parse(text: str, format: SyslogFormat, zone: tzinfo | None, now: float) -> SyslogMessage:
    """`zone` is that of times without one (None: of this machine), `now` the wall clock. Raises SyslogError."""
    priority, at = _priority(text)
    if format == "rfc5424" or (format == "auto" and priority is not None and _is_rfc5424(text, at)):
        if priority is None:
            raise SyslogError("no priority, as in '<13>', at its start")
        return _rfc5424(text, at, priority)
    return _rfc3164(text, at, priority, zone, now)


def _priority(text: str) -> tuple[int | None, int]:
    """The number between < and > at the start, and where what follows begins; it may be missing."""
    if text[:1] != "<":
        return None, 0
    end = text.find(">", 1, 5)
    digits = text[1:end]
    if end < 2 or not (digits.isdigit() and digits.isascii()) or int(digits) > 191:
        raise SyslogError("its priority is not a number from 0 to 191 between < and >")
    return int(digits), end + 1


def _is_rfc5424(text: str, at: int) -> bool:
    """A version, and then a year or none at all: RFC 3164 has the name of a month there, or a year at once."""
    version, _, rest = text[at : at + 10].partition(" ")
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


def _rfc5424(text: str, at: int, priority: int) -> SyslogMessage:
    words = text[at:].split(" ", 6)
    missing = next((name for name, word in zip(_HEADER, words, strict=False) if not word), None)
    if missing is not None or len(words) < 7:
        raise SyslogError(f"no {missing or [*_HEADER, 'structured data'][len(words)]}")
    version, when, host, app, process, message_id, rest = words
    if not _is_version(version):
        raise SyslogError("its version is not a number from 1 to 999")
    time = None if when == "-" else times.rfc3339(when)
    if time is None and when != "-":
        raise SyslogError(f"its timestamp {when[:40]!r} is not one of RFC 3339")
    syslog = _members(priority)
    named = {"hostname": host, "appname": app, "procid": process, "msgid": message_id}
    syslog |= {name: word for name, word in named.items() if word != "-"}
    syslog["version"] = version
    found = structured_data.split(rest)
    if found is None:
        raise SyslogError("its structured data is neither '-' nor '[id name=\"value\"]'")
    data, raw, text = found
    if data:
        syslog["structured_data"] = data
    message = text.removeprefix(_BOM)
    return SyslogMessage(f"{raw} {message}" if raw and message else raw or message, time, syslog)


def _rfc3164(text: str, at: int, priority: int | None, zone: tzinfo | None, now: float) -> SyslogMessage:
    time, end = _time_3164(text, at, zone, now)
    if time is None:
        raise SyslogError("no timestamp, as in 'Jan  2 15:04:05' or of RFC 3339, at its start")
    host_end = text.find(" ", end + 1)
    if text[end : end + 1] != " " or host_end <= end + 1:
        raise SyslogError("no host name after its timestamp")
    syslog, host = _members(priority), text[end + 1 : host_end]
    if host != "-":
        syslog["hostname"] = host
    message = host_end + 1
    tag = _tag(text, message)
    if tag is not None:
        app, process, message = tag
        syslog["appname"] = app
        if process:
            syslog["procid"] = process
    return SyslogMessage(text[message:].removeprefix(_BOM), time, syslog)


def _time_3164(text: str, at: int, zone: tzinfo | None, now: float) -> tuple[str | None, int]:
    """The time, and where it ends."""
    if text[at : at + 1].isdigit():
        end = text.find(" ", at)
        return times.rfc3339(text[at : end if end > 0 else None]), end if end > 0 else len(text)
    # Three words, and more than one blank where the day has one digit.
    clock = text.find(":", at, at + 20)
    end = clock + 6
    return (times.bsd(text[at:end], zone, now) if clock > 0 else None), end


def _tag(text: str, start: int) -> tuple[str, str, int] | None:
    """`name: ` or `name[process]: `, and where the message begins behind it."""
    end = text.find(": ", start)
    tag = text[start:end] if end > start else ""
    name, bracket, process = tag.partition("[")
    if not name or " " in name or ":" in name or not name.isprintable():
        return None
    if bracket and (process[-1:] != "]" or len(process) < 2):
        return None
    return name, process[:-1], end + 2
