"""The process's memory: what the garbage collector scans, and what is returned to the system.

glibc's allocator returns freed memory to the system as soon as twice the largest block is free, and the next read
requests it again, page by page. The agent takes and frees the same large blocks all the time; its highest use is the
same if they stay. What a burst has left is returned once it is over.
"""

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.metrics import Metrics

# Of mallopt(3). Setting one of them ends the automatic choice of the other, so both are set.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT = 16 * 1024**2  # freed bytes that stay with the process
LARGE = 4 * 1024**2  # larger blocks are each taken from the system, and returned when freed
OPTIONS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def _call_allocator(name: str, *arguments: int) -> None:
    """Call a function of glibc's allocator. Does nothing if the environment has settings of its own, or with another C
    library."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None and not any(option in os.environ for option in OPTIONS):
        function(*arguments)


def keep_freed_blocks() -> None:
    _call_allocator("mallopt", M_TRIM_THRESHOLD, KEPT)
    _call_allocator("mallopt", M_MMAP_THRESHOLD, LARGE)


def return_freed_blocks() -> None:
    _call_allocator("malloc_trim", 0)


BURST = 16 * 1024**2  # bytes in an interval, after which a process of 43 MB has 60
BURST_INTERVAL = 10.0  # seconds


class FreedMemory:
    """Returns it to the system in the first interval in which less than a burst is read: 1 to 2 ms."""

    def __init__(self, metrics: Metrics, clock: Clock, return_freed: Callable[[], None] = return_freed_blocks) -> None:
        self._metrics = metrics
        self._clock = clock
        self._return = return_freed
        self._read = 0
        self._due = clock.monotonic() + BURST_INTERVAL
        self._was_burst = False

    def step(self) -> None:
        now = self._clock.monotonic()
        if now < self._due:
            return
        grown, self._read = self._metrics.bytes_read - self._read, self._metrics.bytes_read
        self._due = now + BURST_INTERVAL
        is_burst = grown >= BURST
        if self._was_burst and not is_burst:
            self._return()
        self._was_burst = is_burst


# More objects than the largest configuration has. It is bounded, because it stays in effect while a file system hangs,
# and what only the collector can free must be freed eventually.
COLLECT_AFTER = 2_000_000


@contextmanager
def long_lived() -> Iterator[None]:
    """Keep the collector from scanning what is created within: 200,000 young objects at once take it 0.1 s and more, in
    which no thread runs. Reference counts free them like any others."""
    usual = gc.get_threshold()
    gc.set_threshold(max(COLLECT_AFTER, usual[0]), *usual[1:])
    try:
        yield
        gc.freeze()
    finally:
        gc.set_threshold(*usual)


def tune_interpreter() -> None:
    """Tune memory and threads for a process that runs for long. Called once everything is made."""
    # Otherwise the collector scans millions of short-lived objects that reference counts free.
    gc.freeze()
    gc.set_threshold(200_000, 20, 50)
    keep_freed_blocks()
    # The loop's longest wait for the interpreter lock while another thread is busy; the default of 5 ms is noticeable.
    sys.setswitchinterval(0.0005)
