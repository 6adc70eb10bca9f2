"""Log lines at a terminal, and below them one status line that is redrawn in place."""

import logging
import os
from contextlib import suppress
from typing import TextIO

from log_shipper.runtime.logs.formatters import STATUS_LINE

WIDTH = 80  # columns, where the terminal does not report them


class TerminalHandler(logging.StreamHandler[TextIO]):
    """Writes the log lines and the status line: only the writer of the log lines can clear the status line for them.

    A record with a `status_line` replaces the status line; so does `show`.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._shown = ""

    @property
    def width(self) -> int:
        try:
            return os.get_terminal_size(self.stream.fileno()).columns or WIDTH
        except (OSError, ValueError):  # the terminal was closed, or it is not one
            return WIDTH

    def emit(self, record: logging.LogRecord) -> None:
        # Any thread may log; `handle` has the handler's lock, as `show` does.
        if (status := getattr(record, STATUS_LINE, None)) is not None:
            self._draw(status)
            return
        shown = self._shown
        self._draw("")
        super().emit(record)
        self._draw(shown)

    def show(self, line: str) -> None:
        """Draw this status line instead of the previous one. An empty line clears it."""
        self.acquire()
        try:
            self._draw(line)
        finally:
            self.release()

    def close(self) -> None:
        self.show("")
        super().close()

    def _draw(self, line: str) -> None:
        width = self.width
        line = line[: width - 1]  # one that fills the terminal would begin another line
        if line == self._shown:
            return
        # Blanks instead of an escape sequence: every terminal knows them. Blanks of a line that was wider than the
        # terminal is now would push it up.
        blanks = " " * (min(len(self._shown), width - 1) - len(line))
        with suppress(OSError, ValueError):  # the terminal was closed: not a reason to end the run
            self.stream.write(f"\r{line}{blanks}" if line else f"\r{blanks}\r")
            self.stream.flush()
        self._shown = line
