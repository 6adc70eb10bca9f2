"""The sink's own log on stderr: text at a terminal, else one JSON object per line.

The `extra` of a message becomes fields of the JSON line. At a terminal, the line of a batch replaces the previous one
(`status`).
"""

import logging
import sys
from typing import TextIO

from log_shipper.runtime.logs.folding_handler import FoldingHandler
from log_shipper.runtime.logs.formatters import STATUS_LINE, JsonFormatter
from log_shipper.runtime.logs.journal import StreamHandler
from log_shipper.runtime.logs.levels import LIBRDKAFKA, set_levels
from log_shipper.runtime.logs.terminal import TerminalHandler
from log_shipper.runtime.logs.visible import visible
from log_shipper.spark_sink.options.parts import SinkLoggingConfig

OWN = ("log_shipper.spark_sink", "log_shipper.runtime")
LOGGERS = (*OWN, LIBRDKAFKA)  # not the root logger, which py4j and others use
# The loggers of each component of `logging.levels`.
COMPONENTS = {
    "landing": ("log_shipper.spark_sink.landing", "log_shipper.spark_sink.rows"),
    "storage": ("log_shipper.spark_sink.storage",),
    "views": ("log_shipper.spark_sink.views",),
    "maintenance": ("log_shipper.spark_sink.maintenance",),
    "monitor": ("log_shipper.spark_sink.monitor", "log_shipper.runtime.monitor"),
    "kafka": ("log_shipper.spark_sink.kafka", "log_shipper.runtime.kafka", LIBRDKAFKA),
}


class SinkTextFormatter(logging.Formatter):
    def __init__(self, *, traces: bool) -> None:
        """`traces`: print Spark's full text below a failure."""
        super().__init__("spark-sink: %(message)s")
        self._traces = traces

    def format(self, record: logging.LogRecord) -> str:
        status: str | None = getattr(record, STATUS_LINE, None)
        if status is not None:
            return status
        trace = getattr(record, "error.stack_trace", "") if self._traces else ""
        text = visible(f"{super().format(record)}\n{trace}".rstrip("\n"), keep="\n\t")
        return text.replace("\n", "\n  ")  # line ends in foreign texts must not look like new log lines


def is_text(config: SinkLoggingConfig) -> bool:
    """Return True if this process logs text: if configured, or at a terminal."""
    return config.format == "text" or (config.format == "auto" and sys.stderr.isatty())


def set_up(text: bool, config: SinkLoggingConfig | None = None, out: TextIO | None = None) -> None:
    """Set up the log, replacing any earlier set-up."""
    out, config = out or sys.stderr, config or SinkLoggingConfig()
    handler: logging.Handler = TerminalHandler(out) if text and out.isatty() else StreamHandler(out)
    handler.setFormatter(SinkTextFormatter(traces=config.level == "debug") if text else JsonFormatter())
    folding = FoldingHandler([handler]) if config.fold_repeated else handler
    for logger in map(logging.getLogger, LOGGERS):
        for previous in logger.handlers[:]:
            logger.removeHandler(previous)
            previous.close()
        logger.addHandler(folding)
        logger.propagate = False
    for name in OWN:
        logging.getLogger(name).setLevel(config.level.upper())
    set_levels(COMPONENTS, config.levels)


def status(line: str, **fields: object) -> dict[str, object]:
    """Return the `extra` of a message that a text log shows as `line` until the next one, instead of its text."""
    return {STATUS_LINE: line, **fields}


def trace(details: str) -> dict[str, object]:
    """Return the `extra` of a failure: Spark's full text, if any."""
    return {"error.stack_trace": details} if details else {}
