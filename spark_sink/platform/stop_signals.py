"""Handles SIGTERM and SIGINT: the first signal stops the job, the next one ends the process."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stop_signals(stopping: threading.Event) -> Iterator[None]:
    """Set the event on the first signal. Use it in the main thread, after the start of the session: Spark installs its
    own handler of SIGINT."""

    def on_signal(number: int, frame: FrameType | None) -> None:
        stopping.set()
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)

    before = {number: signal.signal(number, on_signal) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
