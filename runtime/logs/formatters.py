"""Formats log records as a line of JSON, or as text."""

import json
import logging
import time
from typing import Any

from ecs_logging import StdlibFormatter

from log_shipper.runtime.logs.folding import MARK
from log_shipper.runtime.logs.visible import visible

# The attribute of a status line record (terminal.py): the text shown instead of the message.
STATUS_LINE = "status_line"
# Attributes added by the library that would double the length of each line.
_EXCLUDED = ("log.origin", "log.original", "process", STATUS_LINE, MARK)


class JsonFormatter(StdlibFormatter):
    """Formats a record as a JSON object with ECS names in dotted form. `extra` of a call adds fields."""

    def __init__(self) -> None:
        super().__init__(exclude_fields=_EXCLUDED)

    def format(self, record: logging.LogRecord) -> str:
        fields = _dotted(self.format_to_ecs(record))
        if record.exc_info and record.exc_info[0] is not None:
            fields["error.stack_trace"] = self.formatException(record.exc_info)  # the library leaves out the last line
        first = {name: fields.pop(name) for name in ("@timestamp", "log.level", "message")}
        # Fields added by the call, in its order: the library's is that of a set.
        added = {name: fields.pop(name) for name in vars(record) if name in fields}
        text = json.dumps({**first, **fields, **added}, ensure_ascii=False, separators=(",", ":"), default=str)
        # A path in the message may contain bytes that are not UTF-8, and control characters that JSON does not escape.
        return visible(text.encode("utf-8", "replace").decode())


def _dotted(members: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return `{"log": {"level": …}}` as `{"log.level": …}`, so that every field has one name at one depth."""
    fields: dict[str, Any] = {}
    for name, value in members.items():
        fields |= _dotted(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return fields


class TextFormatter(logging.Formatter):
    """Formats a record as UTC time, level and message. External text can neither forge a line nor control a
    terminal."""

    converter = staticmethod(time.gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        return visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        # Indented: a line of the error's own text must not look like a log line.
        return "  " + visible(super().formatException(ei), keep="\n").replace("\n", "\n  ")


class PlainFormatter(logging.Formatter):
    """Formats a record as its message alone."""

    def __init__(self) -> None:
        super().__init__("%(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))
