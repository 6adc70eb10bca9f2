"""A handler that folds repeated messages into one line with a count for other handlers (`folding`)."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

from log_shipper.runtime.logs.folding import END, MARK, NEVER, Folding, Message, Repeats
from log_shipper.runtime.logs.formatters import STATUS_LINE

REPEATED = "repeated"  # the field that has the count
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class Alarm(Protocol):
    """A delayed call; `threading.Timer` has these methods."""

    def cancel(self) -> None: ...


def _later(seconds: float, call: Callable[[], None]) -> Alarm | None:
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    with suppress(RuntimeError):  # the system has no thread left: the next message logs the count
        timer.start()
        return timer
    return None


class FoldingHandler(logging.Handler):
    """Passes records on to its targets; for repeated ones only the count, once a minute and at the end."""

    def __init__(
        self,
        targets: Iterable[logging.Handler],
        clock: Callable[[], float] = time.monotonic,
        later: Callable[[float, Callable[[], None]], Alarm | None] = _later,
    ) -> None:
        super().__init__()
        self.targets = tuple(targets)
        self._folding = Folding()
        self._clock = clock
        self._later = later
        self._alarm: Alarm | None = None
        self._alarm_at = NEVER

    def emit(self, record: logging.LogRecord) -> None:
        now = self._clock()
        self._log(self._folding.take_due(now))
        mark = getattr(record, MARK, None)
        if mark == END[MARK]:
            self._log(self._folding.take_ended(record.name, now))
        if mark is None and not hasattr(record, STATUS_LINE) and self._is_repeated(record, now):
            self._set_alarm(now)
            return
        for target in self.targets:
            target.handle(record)

    def close(self) -> None:
        self.acquire()
        try:
            if self._alarm is not None:
                self._alarm.cancel()
            self._log(self._folding.take_all(self._clock()))
            for target in self.targets:
                target.close()
        finally:
            self.release()
        super().close()

    def _is_repeated(self, record: logging.LogRecord, now: float) -> bool:
        try:
            message = _message(record)
        except Exception:  # noqa: BLE001 - arguments that do not fit, or have no text: the target reports it
            return False
        return not self._folding.is_logged(message, now)

    def _log(self, repeats: Iterable[Repeats]) -> None:
        for one in repeats:
            fields = {
                "name": one.message.source,
                "levelno": one.message.level,
                "levelname": logging.getLevelName(one.message.level),
                "msg": one.text,
                REPEATED: one.count,
            }
            for target in self.targets:
                target.handle(logging.makeLogRecord(fields))

    def _set_alarm(self, now: float) -> None:
        due = self._folding.due
        if due == NEVER or (self._alarm is not None and due >= self._alarm_at):
            return
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm, self._alarm_at = self._later(due - now, self._ring), due

    def _ring(self) -> None:
        self.acquire()
        try:
            now = self._clock()
            self._alarm, self._alarm_at = None, NEVER
            self._log(self._folding.take_due(now))
            self._set_alarm(now)
        finally:
            self.release()


def _message(record: logging.LogRecord) -> Message:
    fields = {name: value for name, value in vars(record).items() if name not in _STANDARD}
    error = record.exc_info[1] if record.exc_info else None
    details = repr((fields, error)) if fields or error else ""
    return Message(record.name, record.levelno, str(record.msg), record.getMessage(), details)
