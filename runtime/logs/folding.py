"""Decides which messages of a log are logged, and which are only counted because they repeat others.

A message that is new is logged at once. The same one again within a minute (same logger, text and fields) is counted,
and the count is logged at the end of that minute, and of each further one in which it was repeated. Of warnings and
errors that differ in their arguments alone, RATE are logged in a minute and the others are counted together.

So that neither the begin nor the end of an incident is delayed, a caller may mark a message: with EACH it is logged
whatever was logged before, as what reports lost bytes or answers a person; with END, too, and what the same package
repeats afterwards is a new incident.
"""

import logging
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

MARK = "folding"  # the attribute of a log record that has one of the marks below
EACH = {MARK: "each"}  # the `extra` of a call
END = {MARK: "end"}

WINDOW = 60.0  # seconds
RATE = 50  # messages with one template that are logged in a window
MAX_MESSAGES = 1000  # messages that are remembered; of more, the oldest is forgotten
MAX_CHARACTERS = 2000  # characters of a message that are remembered
NEVER = float("inf")
_RATED = (logging.WARNING, logging.ERROR)
_FOLDED = (logging.INFO, *_RATED)


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the logger `source`. `template` is its text without arguments; `details` is what else makes it
    another message: its fields, an exception."""

    source: str
    level: int
    template: str
    text: str
    details: str = ""


@dataclass(frozen=True, slots=True)
class Repeats:
    """How often a message was not logged. `alike`: the message is the last of several with one template."""

    message: Message
    count: int
    seconds: float
    alike: bool = False

    @property
    def text(self) -> str:
        times = f"{self.count:,}"
        what = f"the last of {times} more like it" if self.alike else f"repeated {times} time{'s'[: self.count != 1]}"
        return f"{self.message.text} ({what} in the last {max(round(self.seconds), 1)} s)"


@dataclass(slots=True)
class _Window:
    message: Message
    began: float
    alike: bool
    logged: int = 0
    counted: int = 0


class Folding:
    """Times are seconds of a monotonic clock. Not thread-safe."""

    def __init__(self, window: float = WINDOW, rate: int = RATE, most: int = MAX_MESSAGES) -> None:
        self._window = window
        self._rate = rate
        self._most = most
        self._windows: OrderedDict[int, _Window] = OrderedDict()  # the oldest first
        self.due = NEVER  # when the next count is to be logged

    def is_logged(self, message: Message, now: float) -> bool:
        """Return True if the message is to be logged; else it was counted. Call `take_due` before."""
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
        """Return what is to be logged now about messages that were counted, and forget what is over."""
        due: list[Repeats] = []
        while self._windows and (self._is_over(now) or len(self._windows) > self._most):
            key, window = self._windows.popitem(last=False)
            due += _repeats(window, now)
            if window.counted and window.began + self._window <= now:
                self._windows[key] = _Window(window.message, now, window.alike)
        if due:
            self._find_due()
        return due

    def take_ended(self, source: str, now: float) -> list[Repeats]:
        """Return the counts of the messages of this logger and of others in its package, and forget them: the next of
        them is a new message."""
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
        self.due = min(self.due, window.began + self._window)
        return False

    def _is_over(self, now: float) -> bool:
        return next(iter(self._windows.values())).began + self._window <= now

    def _find_due(self) -> None:
        waiting = (window.began for window in self._windows.values() if window.counted)
        self.due = min(waiting, default=NEVER) + self._window


def _kept(message: Message) -> Message:
    """Return what is remembered of the message."""
    text = message.text if len(message.text) <= MAX_CHARACTERS else f"{message.text[:MAX_CHARACTERS]}..."
    return Message(message.source, message.level, "", text)


def _repeats(window: _Window, now: float) -> Iterator[Repeats]:
    if window.counted:
        yield Repeats(window.message, window.counted, now - window.began, window.alike)
