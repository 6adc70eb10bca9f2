"""When a run ends that has not finished, why, and what is left."""

from collections.abc import Callable

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.source.base import SourceStatus


class Ending:
    """`stopping` is True after a signal."""

    def __init__(self, stopping: Callable[[], bool], once_timeout: float, clock: Clock) -> None:
        self._stopping = stopping
        self._once_timeout = once_timeout
        self._clock = clock
        self._give_up = clock.monotonic() + once_timeout

    @property
    def is_due(self) -> bool:
        return self._stopping() or self._clock.monotonic() >= self._give_up

    @property
    def reason(self) -> str:
        return "a signal has stopped it" if self._stopping() else f"--once-timeout ({self._once_timeout:g} s) is over"


def left(status: SourceStatus) -> str:
    """Return in words what is not delivered."""
    files = status.reading + status.unsettled + status.waiting
    if not files:
        return "not all files were looked at"
    least = "" if status.is_size_known else "at least "
    count = status.bytes_behind + status.bytes_waiting
    return f"{least}{count:,} bytes of {files:,} file{'s'[: files != 1]} are not delivered"
