"""SIGTERM, SIGINT and SIGHUP as flags while the agent runs."""

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Self

STOPPING = (signal.SIGTERM, signal.SIGINT)


class EarlyStop:
    """Remembers an early SIGTERM for `Signals`: files of a short-lived container must still be read to their end
    (`read_until_eof`). A second signal ends the process at once.
    """

    def __init__(self) -> None:
        self.came = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.came:
            os._exit(128 + number)
        self.came = True


def handle_early(*, once: bool) -> None:
    """Install handlers until `Signals` replaces them. Nothing has begun yet: SIGINT, and with `once` SIGTERM, ends the
    process with the exit code of a stopped run. SIGHUP is ignored, because the configuration will be read anyway.
    """
    for number in STOPPING:
        signal.signal(number, lambda *_: os._exit(1 if once else 0))
    if not once:
        signal.signal(signal.SIGTERM, EarlyStop())
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


class Signals:
    """A context manager that restores the previous handlers. The first SIGTERM or SIGINT sets `stopping` and calls
    `wake`; so does one that came before (`handle_early`). A second one ends the process at once, which loses nothing,
    because the registry has not advanced. With `reloads`, SIGHUP sets a flag and calls `wake`; otherwise, its handler
    is unchanged.
    """

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
        """Return True if SIGHUP arrived since the last call."""
        if not self._hung_up:
            return False
        # Cleared before reading the configuration, so that a SIGHUP during the reading counts again.
        self._hung_up = False
        return True

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.stopping:
            os._exit(128 + number)
        self.stopping = True
        self._wake()

    def _on_hangup(self, number: int, frame: FrameType | None) -> None:
        self._hung_up = True
        self._wake()
