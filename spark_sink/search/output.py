"""Prints hits as lines: `time host path: message` for people, and JSON for programs.

Control characters are escaped, so that log lines cannot control the terminal. Further lines of a message are indented,
so that they cannot be mistaken for other hits.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, TextIO

import orjson

from log_shipper.runtime.logs.visible import visible
from log_shipper.spark_sink.search.query import Query
from log_shipper.spark_sink.search.reading import Row

SEPARATOR = "--"
_BOLD_RED, _GREEN, _MAGENTA, _CYAN, _PLAIN = "\x1b[1;31m", "\x1b[32m", "\x1b[35m", "\x1b[36m", "\x1b[0m"
_JSON = ("doc", "fields")  # columns with JSON, as text
# In valid JSON they occur only between tokens, where they would break the line.
_BREAKS = re.compile("[\0-\x1f]")


@dataclass(frozen=True, slots=True)
class TextOutput:
    """Lines for people. `zone`: of the times, None for the machine's. `highlight`: the pattern to colour in a message,
    None without colours."""

    zone: tzinfo | None = UTC
    highlight: Any = None
    colours: bool = False

    def line(self, row: Row, is_hit: bool) -> str:
        """Return the text of a row: with `:` before the message if it matches, else with `-`, like grep."""
        time, host, path = self._time(row["ts"]), row.get("host") or "-", row.get("path") or "-"
        names = f"{self._coloured(visible(host), _MAGENTA)} {self._coloured(visible(path), _CYAN)}"
        return f"{self._coloured(time, _GREEN)} {names}{':' if is_hit else '-'} {self._message(row, is_hit)}"

    def separator(self) -> str:
        return self._coloured(SEPARATOR, _CYAN)

    def _message(self, row: Row, is_hit: bool) -> str:
        message = row["message"] or ""
        if self.highlight is None or not is_hit:
            return _indented(message)
        parts, end = [], 0
        for match in self.highlight.finditer(message):
            if match.end() > match.start():
                parts += [_indented(message[end : match.start()]), self._coloured(_indented(match[0]), _BOLD_RED)]
                end = match.end()
        return "".join([*parts, _indented(message[end:])])

    def _time(self, moment: datetime | None) -> str:
        if moment is None:
            return "-"
        try:
            local = moment.astimezone(self.zone)
        except OverflowError:  # at the ends of the calendar
            local = moment
        return local.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _coloured(self, text: str, colour: str) -> str:
        return f"{colour}{text}{_PLAIN}" if self.colours and text else text


@dataclass(frozen=True, slots=True)
class JsonOutput:
    """One JSON object per line, with all columns. `marks`: adds a member `match`, false for lines of context."""

    marks: bool = False

    def line(self, row: Row, is_hit: bool) -> str:
        members = {name: _value(name, value) for name, value in row.items()}
        if self.marks:
            members["match"] = is_hit
        text = orjson.dumps(members, default=_text, option=orjson.OPT_UTC_Z).decode()
        return visible(text)  # cannot control the terminal, and stays the same document

    def separator(self) -> str:
        return ""


def has_colours(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Return True if the stream is a terminal with colours, and the user has not disabled them (no-color.org)."""
    return not environment.get("NO_COLOR") and environment.get("TERM") != "dumb" and stream.isatty()


def highlight(query: Query) -> Any:
    """Return the RE2 pattern to colour in a message; None if all lines match."""
    import re2  # only needed with colours

    return re2.compile(query.pattern) if query.text else None


def _indented(text: str) -> str:
    return "\n    ".join(visible(line, keep="\t") for line in text.split("\n"))


def _value(name: str, value: Any) -> Any:
    if name in _JSON and isinstance(value, str) and not _BREAKS.search(value):
        try:
            orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
        return orjson.Fragment(value)  # unchanged: numbers keep their digits
    return value


def _text(value: object) -> str:
    """Return bytes, which JSON does not support, as text."""
    return bytes(value).decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
