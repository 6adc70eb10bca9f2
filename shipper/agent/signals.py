"""SIGTERM, SIGINT and SIGHUP as flags, for as long as the agent runs."""

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Self

STOPPING = (signal.SIGTERM, signal.SIGINT)


class EarlyStop:
    """A handler that remembers SIGTERM for `Signals`: of a container that hardly lived, the files are still to be read
    to their end (`read_until_eof`). A second signal ends the process at once."""

    def __init__(self) -> None:
        self.came = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.came:
            os._exit(128 + number)
        self.came = True


def handle_early(*, once: bool) -> None:
    """Install handlers until `Signals` replaces them. Nothing has begun, so SIGINT ends the process with the exit code
    of a run that was stopped, and with `once` SIGTERM too. SIGHUP is ignored: the configuration is going to be read
    anyway."""
    for number in STOPPING:
        signal.signal(number, lambda *_: os._exit(1 if once else 0))
    if not once:
        signal.signal(signal.SIGTERM, EarlyStop())
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


class Signals:
    """A context manager that restores the former handlers. The first SIGTERM or SIGINT sets `stopping` and calls
    `wake`; one that came before sets it too (`handle_early`). A second one ends the process at once: the registry did
    not move, so nothing is lost. With `reloads`, SIGHUP sets a flag and calls `wake`; without, its handler stays as it
    was."""

    def __init__(self, wake: Callable[[], None], *, reloads: bool = False) -> None:
        self.stopping = False
        self._wake = wake
        self._reloads = reloads
        self._hung_up = False
        self._replaced: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        for number in STOPPING:
            self._replaced[number] = before = signal.signal(number, self._on_signal)
            self.stopping = self.stopping or (isinstance(before, EarlyStop) and before.came)
        if self._reloads:
            self._replaced[signal.SIGHUP] = signal.signal(signal.SIGHUP, self._on_hangup)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._replaced.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal() returned, it takes

    def hung_up(self) -> bool:
        """True if SIGHUP came since the last call."""
        if not self._hung_up:
            return False
        self._hung_up = False  # cleared before the configuration is read: one that comes meanwhile counts again
        return True

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.stopping:
            os._exit(128 + number)
        self.stopping = True
        self._wake()

    def _on_hangup(self, number: int, frame: FrameType | None) -> None:
        self._hung_up = True
        self._wake()
