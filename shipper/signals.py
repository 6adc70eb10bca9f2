"""SIGTERM, SIGINT and SIGHUP as flags, for as long as the agent runs."""

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Self

STOPPING = (signal.SIGTERM, signal.SIGINT)


def end_at_once(*, once: bool) -> None:
    """Install handlers until `Signals` replaces them. Nothing has begun, so SIGTERM and SIGINT end the process with the
    exit code of a run that was stopped. SIGHUP is ignored: the configuration is going to be read anyway."""
    for number in STOPPING:
        signal.signal(number, lambda *_: os._exit(1 if once else 0))
    if not once:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


class Signals:
    """A context manager that restores the former handlers. The first SIGTERM or SIGINT sets `stopping` and calls
    `wake`; a second one ends the process at once: the registry did not move, so nothing is lost. With `reloads`, SIGHUP
    sets a flag and calls `wake`; without, its handler stays as it was."""

    def __init__(self, wake: Callable[[], None], *, reloads: bool = False) -> None:
        self.stopping = False
        self._wake = wake
        self._reloads = reloads
        self._hung_up = False
        self._replaced: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        for number in STOPPING:
            self._replaced[number] = signal.signal(number, self._on_signal)
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
