"""The last warnings and errors of the log, for /status, so that reading it needs no access to the log."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

MAX_MESSAGES = 20


@dataclass(frozen=True, slots=True)
class RecentMessage:
    """A kind of message. `time`: unix time of the last of `count` messages; `message` is its text."""

    time: float
    level: str
    message: str
    count: int


class RecentMessages(logging.Handler):
    """Stores the last messages of level WARNING or above, one of each kind. Thread-safe, as every handler.

    `shown` returns the text to store, and `kind` the part that it has in common with its repeats.
    """

    def __init__(self, shown: Callable[[str], str], kind: Callable[[str], str] = str) -> None:
        super().__init__(logging.WARNING)
        self._shown = shown
        self._kind = kind
        self._messages: dict[tuple[str, str], RecentMessage] = {}  # oldest first, by level and kind

    def emit(self, record: logging.LogRecord) -> None:
        try:
            # A reload's errors have one line each. Here, a message is a table cell.
            text = " ".join(self._shown(record.getMessage()).split("\n"))
            key = record.levelname.lower(), self._kind(text)
        except Exception:  # noqa: BLE001 - whatever it is, it must not be raised where it is logged
            self.handleError(record)
            return
        self._keep(key, record.created, text)

    def _keep(self, key: tuple[str, str], created: float, text: str) -> None:
        before = self._messages.pop(key, None)
        self._messages[key] = RecentMessage(created, key[0], text, 1 if before is None else before.count + 1)
        while len(self._messages) > MAX_MESSAGES:
            del self._messages[next(iter(self._messages))]

    def newest_first(self) -> list[RecentMessage]:
        return list(self._messages.values())[::-1]  # copied by one call, which the interpreter does not interrupt
