"""The only door to time. Deadlines use `monotonic`, which counts from boot; `time` is for timestamps in events and the
registry."""

import time
from typing import Protocol


class Clock(Protocol):
    """Times in seconds; callable from any thread."""

    def monotonic(self) -> float: ...

    def time(self) -> float: ...

    def thread_time(self) -> float:
        """Return the CPU time of the calling thread."""

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    def monotonic(self) -> float:
        return time.monotonic()

    def time(self) -> float:
        return time.time()

    def thread_time(self) -> float:
        return time.thread_time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
