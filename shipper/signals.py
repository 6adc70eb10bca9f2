"""SIGTERM and SIGINT as a flag, for as long as the agent runs."""

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Self

STOPPING = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """A context manager that restores what it found. The first signal sets `stopping` and calls `wake`; a second one
    ends the process at once: the registry did not move, so nothing is lost."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.stopping = False
        self._wake = wake
        self._found: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        for number in STOPPING:
            self._found[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, found in self._found.items():
            signal.signal(number, found)  # type: ignore[arg-type]  # what signal() returned, it takes

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.stopping:
            os._exit(128 + number)
        self.stopping = True
        self._wake()
