"""Log lines on a terminal, with one status line below that is redrawn in place."""

import logging
import os
from contextlib import suppress
from typing import TextIO

from log_shipper.runtime.logs.formatters import STATUS_LINE

WIDTH = 80  # columns, if the terminal does not report them


class TerminalHandler(logging.StreamHandler[TextIO]):
    """Writes log lines and the status line: only the writer of log lines can clear the status line for them.

    A record with a `status_line` replaces the status line; so does `show`.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._shown = ""

    @property
    def width(self) -> int:
        try:
            return os.get_terminal_size(self.stream.fileno()).columns or WIDTH
        except (OSError, ValueError):  # the terminal was closed, or is none
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
        line = line[: width - 1]  # a line that fills the terminal would wrap
        if line == self._shown:
            return
        # Spaces instead of an escape sequence, which some terminals lack. Spaces beyond the current width would scroll
        # the terminal.
        blanks = " " * (min(len(self._shown), width - 1) - len(line))
        with suppress(OSError, ValueError):  # the terminal was closed: no reason to end the run
            self.stream.write(f"\r{line}{blanks}" if line else f"\r{blanks}\r")
            self.stream.flush()
        self._shown = line
