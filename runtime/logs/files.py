"""Log files that the program rotates itself."""

import errno
import logging
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler, SysLogHandler
from pathlib import Path

from log_shipper.runtime.logs.throttle import Throttle

SYSLOG = "/dev/log"
_MISSING = "the program continues, but log lines are lost"
_SYSLOG_PATIENCE = 0.2  # seconds: a hanging syslog daemon must not hang the program
STDERR = 2  # the descriptor
_HOUR = 3600
# Intervals of the local clock, and what differs between two of them. Others are counted from 1970.
_ALIGNED = {60: 5, _HOUR: 4, 24 * _HOUR: 3, 30 * 24 * _HOUR: 2, 365 * 24 * _HOUR: 1}
_WEEK = 7 * 24 * _HOUR


@dataclass(frozen=True, slots=True)
class RotatingFile:
    """How log files are rotated. `path.1` to `path.keep` are the rotated files, newest first. `interval`: seconds, 0
    for size alone. `takes_stderr`: everything written to standard error goes to the file, too.
    """

    path: Path
    max_bytes: int = 10 * 1024**2
    keep: int = 7
    mode: int = 0o600
    interval: float = 0.0
    rotates_on_start: bool = True
    takes_stderr: bool = False


class LogFileHandler(RotatingFileHandler):
    """Writes to a file, and rotates it by size, at intervals and at startup."""

    def __init__(self, file: RotatingFile, now: Callable[[], float] = time.time) -> None:
        """Open the file. Raises OSError."""
        self._file = file
        self._now = now
        self._throttle = Throttle()
        # The original standard error, to be restored, and used if the file cannot be written.
        self._stderr = os.dup(STDERR) if file.takes_stderr else None
        file.path.parent.mkdir(parents=True, exist_ok=True)
        size = file.path.stat().st_size if file.path.exists() else 0
        self._period = self._period_of(file.path.stat().st_mtime if size else now())
        super().__init__(
            file.path, maxBytes=file.max_bytes, backupCount=file.keep, encoding="utf-8", errors="backslashreplace"
        )
        if size and file.rotates_on_start:
            self.doRollover()

    def _open(self) -> TextIOWrapper:
        # O_NONBLOCK: a named pipe without a reader raises an error instead of blocking.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
        descriptor = os.open(self.baseFilename, flags, self._file.mode)
        if self._stderr is not None:
            os.dup2(descriptor, STDERR)
        return open(descriptor, "a", encoding=self.encoding, errors=self.errors)

    def close(self) -> None:
        try:
            super().close()
        finally:
            if self._stderr is not None:
                os.dup2(self._stderr, STDERR)
                os.close(self._stderr)
                self._stderr = None

    def shouldRollover(self, record: logging.LogRecord) -> int:
        if self.stream is not None and not self._is_at_path(self.stream):
            self._give_up_stream()
        if self._file.interval and self._period_of(self._now()) != self._period:
            return 1
        return int(super().shouldRollover(record))

    def doRollover(self) -> None:
        self._period = self._period_of(self._now())
        try:
            super().doRollover()
        except OSError:  # the file is writable, but not its directory
            _report(
                f"cannot rotate {self.baseFilename}",
                "the file grows until rotation succeeds",
                self._throttle,
                self._stderr,
            )
            self.stream = self.stream or self._open()

    def handleError(self, record: logging.LogRecord) -> None:
        # The stream's buffered text would be written later, after newer lines.
        self._give_up_stream()
        _report(f"cannot write the log to {self.baseFilename}", _MISSING, self._throttle, self._stderr)

    def _is_at_path(self, stream: TextIOWrapper) -> bool:
        try:
            return os.path.samestat(os.stat(self.baseFilename), os.fstat(stream.fileno()))
        except OSError:
            return False

    def _give_up_stream(self) -> None:
        stream, self.stream = self.stream, None
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.close()

    def _period_of(self, moment: float) -> object:
        """Return a value that is equal for all times within one interval."""
        interval = self._file.interval
        local = time.localtime(moment)
        if interval == _WEEK:
            return time.strftime("%G-%V", local)
        if interval in _ALIGNED:
            return local[: _ALIGNED[int(interval)]]
        return moment // interval if interval else None


class LocalSyslogHandler(SysLogHandler):
    """Writes to the local syslog."""

    def __init__(self, name: str, address: str = SYSLOG) -> None:
        """Connect. Raises OSError if nothing listens."""
        self._throttle = Throttle()
        super().__init__(address, facility=SysLogHandler.LOG_DAEMON)
        self.ident = f"{name}[{os.getpid()}]: "
        if vars(self)["socket"].fileno() < 0:  # the library does not treat that as an error
            os.stat(address)
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED), address)

    def _connect_unixsocket(self, address: str) -> None:
        # Called at startup and for each reconnection; the type stubs lack it and the attribute.
        super()._connect_unixsocket(address)  # type: ignore[misc]
        vars(self)["socket"].settimeout(_SYSLOG_PATIENCE)

    def handleError(self, record: logging.LogRecord) -> None:
        _report(f"cannot write the log to syslog ({self.address})", _MISSING, self._throttle)


def _report(what: str, effect: str, throttle: Throttle, stderr: int | None = None) -> None:
    """`stderr`: a descriptor, for when standard error itself goes to the failing file."""
    error = sys.exc_info()[1]
    if throttle.is_due():
        reason = getattr(error, "strerror", None) or error
        line = f"{what}: {reason}; {effect}\n"
        with suppress(OSError, ValueError, AttributeError):  # stderr may be closed
            if stderr is not None:
                os.write(stderr, line.encode(errors="backslashreplace"))
            else:
                sys.stderr.write(line)
                sys.stderr.flush()
