"""Keeps the last warnings and errors of the log, for /status: a person who looks there needs no access to the log."""

import logging
import re
from dataclasses import dataclass, replace

MOST = 20
NUMBER = re.compile(r"\d+")
LONGEST = 1000  # characters


@dataclass(frozen=True, slots=True)
class LoggedError:
    """`time`: unix time of the last one of `count` lines that differ in their numbers only."""

    time: float
    level: str
    message: str
    count: int


class ErrorsLog(logging.Handler):
    """Added to the root logger. Thread-safe, as every handler."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._lines: dict[str, LoggedError] = {}  # oldest first, by the text without its numbers

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()[:LONGEST]
        kind = f"{record.levelname} {NUMBER.sub('#', message)}"
        before = self._lines.pop(kind, None)
        line = LoggedError(record.created, record.levelname.lower(), message, 1)
        self._lines[kind] = line if before is None else replace(line, count=before.count + 1)
        while len(self._lines) > MOST:
            del self._lines[next(iter(self._lines))]

    def lines(self) -> list[LoggedError]:
        """Return them, newest first."""
        return list(self._lines.values())[::-1]
