"""Where the agent's own log goes: to stderr, as text at a terminal and as JSON elsewhere."""

import logging
import sys
from typing import Any

import orjson

from shipper.progress import TerminalHandler
from shipper.record import timestamp
from shipper.text import visible


class JsonFormatter(logging.Formatter):
    """One object a line, with the names of Elastic Common Schema."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "@timestamp": timestamp(record.created),
            "log.level": record.levelname.lower(),
            "log.logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["error.stack_trace"] = self.formatException(record.exc_info)
        # A path in the message may hold bytes that are not UTF-8, and what JSON does not escape and terminals obey.
        text = orjson.dumps({key: value.encode("utf-8", "replace").decode() for key, value in line.items()}).decode()
        return visible(text)


class TextFormatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        return timestamp(record.created)

    def formatMessage(self, record: logging.LogRecord) -> str:
        return visible(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:
        return visible(super().formatException(ei), keep="\n")


def set_up(level: str, form: str) -> TerminalHandler | None:
    """`level` and `form` (auto, text, json) as the configuration has them. Returns the handler below whose lines
    progress may be shown, if it writes text to a terminal."""
    at_terminal = sys.stderr.isatty()
    as_text = form == "text" or (form == "auto" and at_terminal)
    terminal = TerminalHandler(sys.stderr) if as_text and at_terminal else None
    handler = terminal or logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextFormatter() if as_text else JsonFormatter())
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    # What it has to say (an overflow, for instance) the watcher says in the agent's own words.
    logging.getLogger("watchdog").setLevel(logging.ERROR)
    return terminal
