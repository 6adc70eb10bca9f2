"""Log lines for the systemd journal, if standard error leads there: each begins with its level, as in sd-daemon(3), so
that `journalctl -p warning` finds warnings. The journal removes the prefix.
"""

import logging
import os
from collections.abc import Mapping
from typing import TextIO

_LEVELS = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))
_DEBUG = 7


class StreamHandler(logging.StreamHandler[TextIO]):
    """Writes to a stream, which may be the journal."""

    def __init__(self, stream: TextIO, environ: Mapping[str, str] = os.environ) -> None:
        super().__init__(stream)
        self._is_journal = is_journal(stream, environ)

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return with_level(text, record.levelno) if self._is_journal else text


def is_journal(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Return True if systemd connected the stream to the journal ($JOURNAL_STREAM, systemd.exec(5)), and it was not
    redirected since.
    """
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError, AttributeError):  # closed, or missing
        return False
    return environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def with_level(text: str, level: int) -> str:
    """Return the text with the level before each line."""
    prefix = next((f"<{number}>" for least, number in _LEVELS if level >= least), f"<{_DEBUG}>")
    return "\n".join(prefix + line for line in text.split("\n"))


def report(text: str, stream: TextIO) -> None:
    """Print an error when the log may not be set up yet, or has another level."""
    print(with_level(text, logging.ERROR) if is_journal(stream) else text, file=stream, flush=True)
