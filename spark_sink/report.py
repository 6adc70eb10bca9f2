"""What the sink says on stderr: text at a terminal, one JSON object a line otherwise.

A line of JSON begins with `@timestamp`, `log.level` and `message`; what else belongs to the message follows as fields.
"""

import json
import sys
import threading
from datetime import UTC, datetime
from typing import Literal, TextIO

Level = Literal["debug", "info", "warning", "error"]
LEVELS: tuple[Level, ...] = ("debug", "info", "warning", "error")


class Report:
    """Writes to stderr. Any thread may call it."""

    def __init__(self, text: bool, level: Level = "info", out: TextIO = sys.stderr) -> None:
        self._text = text
        self._least = LEVELS.index(level)
        self._out = out
        self._lock = threading.Lock()
        self._unfinished = 0  # length of a line that the next one is written over

    def say(self, message: str, level: Level = "info", **fields: object) -> None:
        """A line that stays."""
        if LEVELS.index(level) >= self._least:
            self._write(f"spark-sink: {message}" if self._text else _encoded(message, level, fields))

    def status(self, text: str, **fields: object) -> None:
        """A line that the next one replaces, where there is a terminal."""
        if LEVELS.index("info") >= self._least:
            if self._text:
                self._write(text, over=True)
            else:
                self._write(_encoded("batch", "info", fields))

    def failure(self, message: str, details: str) -> None:
        """What ended the job. Spark's own long text only where it disturbs nobody: in JSON, or when asked for."""
        self.say(message, "error", **({"error.stack_trace": details} if details else {}))
        if details and self._text and self._least == LEVELS.index("debug"):
            self._write(details)

    def _write(self, line: str, over: bool = False) -> None:
        with self._lock:
            start = "\r" if self._unfinished else ""
            self._out.write(start + line.ljust(self._unfinished) + ("" if over else "\n"))
            self._out.flush()
            self._unfinished = len(line) if over else 0


def _encoded(message: str, level: Level, fields: dict[str, object]) -> str:
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"@timestamp": now, "log.level": level, "message": message, **fields}, ensure_ascii=False)
