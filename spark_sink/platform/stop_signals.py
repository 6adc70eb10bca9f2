"""SIGTERM and SIGINT as a context manager: the first asks the job to stop, the next one ends the process."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

SIGNALS = (signal.SIGTERM, signal.SIGINT)


class StopSignals:
    """Sets the event on the first SIGTERM or SIGINT. To be entered in the main thread, after the session was started:
    Spark installs a handler of SIGINT."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._stopping.set()
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
