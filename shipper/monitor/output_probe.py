"""Requests metadata from the broker until it responds once, on a separate thread: readiness does not wait for the first
event. Later, it asks only while the last report is an error and nothing in flight would show a recovery.
"""

import threading
from collections.abc import Callable

from log_shipper.shipper.output.base import Remote

TIMEOUT = 0.8  # seconds per request; a stop waits for it
RETRY = 1.0
IDLE_RETRY = 5.0


class OutputProbe:
    """The probe; `is_idle` returns True if nothing is in flight."""

    def __init__(self, output: Remote, is_idle: Callable[[], bool]) -> None:
        self._output = output
        self._is_idle = is_idle
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="output probe", daemon=True)
        self.reached = False

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stopping.set()
        self._thread.join(TIMEOUT + 1.0)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self.step()
            self._stopping.wait(IDLE_RETRY if self.reached else RETRY)

    def step(self) -> None:
        """Ask unless the answer is known. Blocks for at most TIMEOUT."""
        if not self.reached:
            self.reached = self._output.reach(TIMEOUT)
        elif self._output.errors.failing and self._is_idle() and self._output.reach(TIMEOUT):
            self._output.errors.note_response()
