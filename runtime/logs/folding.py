"""Decides which messages are logged, and which are only counted as repeats."""

import logging
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

MARK = "folding"  # attribute of a log record with one of the marks below
EACH = {MARK: "each"}  # the `extra` of a call
END = {MARK: "end"}

WINDOW = 60.0  # seconds
RATE = 50  # messages with one template that are logged per window
MAX_MESSAGES = 1000  # maximum number of messages remembered; the oldest is forgotten first
MAX_CHARACTERS = 2000  # maximum characters of a message remembered
NEVER = float("inf")
_RATED = (logging.WARNING, logging.ERROR)
_FOLDED = (logging.INFO, *_RATED)


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the logger `source`. `template` is its text without arguments; `details` is everything else that
    distinguishes it: its fields, an exception.
    """

    source: str
    level: int
    template: str
    text: str
    details: str = ""


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often a message was not logged. `alike`: it is the last of several with the same template."""

    message: Message
    count: int
    seconds: float
    alike: bool = False

    @property
    def text(self) -> str:
        times = f"{self.count:,}"
        what = f"last of {times} similar messages" if self.alike else f"repeated {times} time{'s'[: self.count != 1]}"
        return f"{self.message.text} ({what} in the last {max(round(self.seconds), 1)} s)"


@dataclass(slots=True)
class _Window:
    message: Message
    began: float
    alike: bool
    logged: int = 0
    counted: int = 0


class Folding:
    """The messages being folded. Times are monotonic seconds. Not thread-safe."""

    def __init__(self, rate: int = RATE, max_messages: int = MAX_MESSAGES) -> None:
        self._rate = rate
        self._max_messages = max_messages
        self._windows: OrderedDict[int, _Window] = OrderedDict()  # oldest first
        self.due = NEVER  # time of the next count

    def is_logged(self, message: Message, now: float) -> bool:
        """Return True if the message should be logged; otherwise it was counted. Call `take_due` first."""
        if message.level not in _FOLDED:
            return True
        same = hash((message.source, message.level, message.text, message.details))
        if same in self._windows:
            return self._count(self._windows[same])
        if message.level in _RATED:
            alike = hash((message.source, message.level, message.template))
            window = self._windows.setdefault(alike, _Window(_kept(message), now, alike=True))
            if window.logged >= self._rate:
                window.message = _kept(message)
                return self._count(window)
            window.logged += 1
        self._windows[same] = _Window(_kept(message), now, alike=False)
        return True

    def take_due(self, now: float) -> list[Repeats]:
        """Return the counts that are due, and forget messages that are over."""
        due: list[Repeats] = []
        while self._windows and (self._is_over(now) or len(self._windows) > self._max_messages):
            key, window = self._windows.popitem(last=False)
            due += _repeats(window, now)
            if window.counted and window.began + WINDOW <= now:
                self._windows[key] = _Window(window.message, now, window.alike)
        if due:
            self._find_due()
        return due

    def take_ended(self, source: str, now: float) -> list[Repeats]:
        """Return and forget the counts for this logger and others in its package: the next message is a new one."""
        package = f"{source.rpartition('.')[0] or source}."
        keys = [key for key, window in self._windows.items() if f"{window.message.source}.".startswith(package)]
        ended = [self._windows.pop(key) for key in keys]
        self._find_due()
        return [repeats for window in ended for repeats in _repeats(window, now)]

    def take_all(self, now: float) -> list[Repeats]:
        """Return all counts, and forget everything."""
        windows = list(self._windows.values())
        self._windows.clear()
        self.due = NEVER
        return [repeats for window in windows for repeats in _repeats(window, now)]

    def _count(self, window: _Window) -> bool:
        window.counted += 1
        self.due = min(self.due, window.began + WINDOW)
        return False

    def _is_over(self, now: float) -> bool:
        return next(iter(self._windows.values())).began + WINDOW <= now

    def _find_due(self) -> None:
        waiting = (window.began for window in self._windows.values() if window.counted)
        self.due = min(waiting, default=NEVER) + WINDOW


def _kept(message: Message) -> Message:
    """Return the memory of the message."""
    text = message.text if len(message.text) <= MAX_CHARACTERS else f"{message.text[:MAX_CHARACTERS]}..."
    return Message(message.source, message.level, "", text)


def _repeats(window: _Window, now: float) -> Iterator[Repeats]:
    if window.counted:
        yield Repeats(window.message, window.counted, now - window.began, window.alike)
