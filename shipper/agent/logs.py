"""The destinations of the agent's own log: stderr (text on a terminal, otherwise JSON), files, syslog."""

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

from log_shipper.runtime.logs.files import SYSLOG, LocalSyslogHandler, LogFileHandler, RotatingFile
from log_shipper.runtime.logs.folding_handler import FoldingHandler
from log_shipper.runtime.logs.formatters import JsonFormatter, PlainFormatter, TextFormatter
from log_shipper.runtime.logs.journal import StreamHandler
from log_shipper.runtime.logs.levels import LIBRDKAFKA, set_levels
from log_shipper.runtime.logs.terminal import TerminalHandler
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.logs import LogFilesConfig, LoggingConfig

logger = logging.getLogger(__name__)

# The loggers of each component of `logging.levels`.
COMPONENTS = {
    "source": ("log_shipper.shipper.inputs",),
    "reader": ("log_shipper.shipper.reader",),
    "processor": ("log_shipper.shipper.processor",),
    "pipeline": ("log_shipper.shipper.pipeline",),
    "output": ("log_shipper.shipper.output", "log_shipper.shipper.append_file", "log_shipper.runtime.kafka"),
    "registry": ("log_shipper.registry",),
    "reload": ("log_shipper.shipper.agent.reload", "log_shipper.shipper.agent.config_reader"),
    "monitor": ("log_shipper.shipper.monitor", "log_shipper.runtime.monitor"),
    "kafka": (LIBRDKAFKA,),
}


def set_up(config: LoggingConfig, path_logs: str | None = None, *, to_stderr: bool = False) -> TerminalHandler | None:
    """Set up logging. `to_stderr` is `-e`: text on stderr, regardless of the configuration. Return the handler if it
    writes text to a terminal, where progress may be shown below the log lines. Raises StartError.
    """
    handlers = [] if to_stderr or config.to_stderr else _elsewhere(config, path_logs)
    terminal = None
    if not handlers:
        at_terminal = sys.stderr.isatty()
        as_text = to_stderr or config.format == "text" or (config.format == "auto" and at_terminal)
        terminal = TerminalHandler(sys.stderr) if as_text and at_terminal else None
        handlers = [terminal or StreamHandler(sys.stderr)]
        handlers[0].setFormatter(TextFormatter() if as_text else JsonFormatter())
    logging.basicConfig(
        handlers=[FoldingHandler(handlers)] if config.fold_repeated else handlers,
        level=config.level.upper(),
        force=True,
    )
    set_levels(COMPONENTS, config.levels)
    # The watcher logs the same events (such as an overflow) itself.
    logging.getLogger("watchdog").setLevel(logging.ERROR)
    return terminal


def log_end(text: str) -> None:
    """Log why the shipper ends, unless logging goes to stderr, where the caller prints it."""
    if any(isinstance(handler, LogFileHandler | LocalSyslogHandler) for handler in _writing()):
        logger.critical("the shipper ended: %s", text)


def _writing() -> Iterator[logging.Handler]:
    """Yield the handlers that write."""
    for handler in logging.getLogger().handlers:
        yield from handler.targets if isinstance(handler, FoldingHandler) else (handler,)


def _elsewhere(config: LoggingConfig, path_logs: str | None) -> list[logging.Handler]:
    """Return the handlers of files and syslog. Raises StartError."""
    handlers: list[logging.Handler] = []
    if written := config.written(path_logs):
        handlers.append(_files(Path(written[0]), config.files or LogFilesConfig()))
        handlers[-1].setFormatter(TextFormatter() if config.format == "text" else JsonFormatter())
    if config.to_syslog:
        handlers.append(_syslog())
        # Syslog adds time, program and level itself.
        handlers[-1].setFormatter(JsonFormatter() if config.format == "json" else PlainFormatter())
    return handlers


def _files(path: Path, config: LogFilesConfig) -> LogFileHandler:
    file = RotatingFile(
        path,
        config.rotateeverybytes,
        config.keepfiles,
        int(config.permissions, 8),
        config.interval,
        config.rotateonstartup,
        config.redirect_stderr,
    )
    try:
        return LogFileHandler(file)
    except OSError as error:
        raise StartError(
            f"logging.files: cannot open {error.filename or path}: {error.strerror}. The shipper does not start. Make "
            "the directory writable for the shipper's user, free space, set another logging.files.path, or log to "
            "stderr (logging.to_files: false, or -e)"
        ) from error


def _syslog() -> LocalSyslogHandler:
    try:
        return LocalSyslogHandler("shipper")
    except OSError as error:
        raise StartError(
            f"logging.to_syslog: {SYSLOG}: {error.strerror}; start the syslog daemon (containers have none), or "
            "use logging.to_files or -e"
        ) from error
