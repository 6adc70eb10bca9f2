"""The sink's own log on stderr: text at a terminal, one JSON object a line elsewhere.

The `extra` of a message becomes fields of the JSON line. At a terminal the lines of batches replace each other
(`status`).
"""

import logging
import sys
from typing import TextIO

from logs.formatters import STATUS_LINE, JsonFormatter
from logs.terminal import TerminalHandler
from logs.visible import visible

# The logger of this package alone: py4j and others log to the root.
_logger = logging.getLogger("spark_sink")


class SinkTextFormatter(logging.Formatter):
    def __init__(self, *, traces: bool) -> None:
        """`traces`: print Spark's own long text below a failure."""
        super().__init__("spark-sink: %(message)s")
        self._traces = traces

    def format(self, record: logging.LogRecord) -> str:
        status: str | None = getattr(record, STATUS_LINE, None)
        if status is not None:
            return status
        trace = getattr(record, "error.stack_trace", "") if self._traces else ""
        return visible(f"{super().format(record)}\n{trace}".rstrip("\n"), keep="\n\t")


def set_up(text: bool, level: str = "info", out: TextIO | None = None) -> None:
    """Set up the log, in place of any earlier set-up. `level` as the configuration has it."""
    out = out or sys.stderr
    handler = TerminalHandler(out) if text and out.isatty() else logging.StreamHandler(out)
    handler.setFormatter(SinkTextFormatter(traces=level == "debug") if text else JsonFormatter())
    for previous in _logger.handlers[:]:
        _logger.removeHandler(previous)
        previous.close()
    _logger.addHandler(handler)
    _logger.setLevel(level.upper())
    _logger.propagate = False


def status(line: str, **fields: object) -> dict[str, object]:
    """Return the `extra` of a message that is shown as `line`, instead of its text, until the next one, where the log
    is text."""
    return {STATUS_LINE: line, **fields}


def trace(details: str) -> dict[str, object]:
    """Return the `extra` of a failure: Spark's own long text, if there is one."""
    return {"error.stack_trace": details} if details else {}
