"""Tunes the process's memory: garbage collection, and the return of freed memory to the system.

glibc's allocator returns freed memory as soon as twice the largest block is free, and the next read requests it again,
page by page. The agent allocates and frees the same large blocks all the time; keeping them does not raise its peak.
Memory left by a burst is returned after it.
"""

import ctypes
import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.metrics import Metrics

# mallopt(3) parameters. Setting one disables the automatic choice of the other, so both are set.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT = 16 * 1024**2  # freed bytes that the process keeps
LARGE = 4 * 1024**2  # larger blocks are allocated from the system and returned when freed
OPTIONS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def _call_allocator(name: str, *arguments: int) -> None:
    """Call a function of glibc's allocator. Does nothing with another C library, or if the environment configures
    it."""
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
    """Returns memory to the system in the first interval after a burst: takes 1 to 2 ms."""

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


# More objects than the largest configuration has. The limit is finite, because it stays in effect while a file system
# hangs, and cyclic garbage must be freed eventually.
COLLECT_AFTER = 2_000_000


@contextmanager
def long_lived() -> Iterator[None]:
    """Keep the garbage collector from scanning objects created within: 200,000 young objects at once take 0.1 s or
    more, in which no thread runs. Reference counting frees them as usual.
    """
    usual = gc.get_threshold()
    gc.set_threshold(max(COLLECT_AFTER, usual[0]), *usual[1:])
    try:
        yield
        gc.freeze()
    finally:
        gc.set_threshold(*usual)


def tune_interpreter() -> None:
    """Tune memory and threads for a long-running process. Called once everything is created."""
    # Otherwise the collector scans millions of short-lived objects that reference counting frees.
    gc.freeze()
    gc.set_threshold(200_000, 20, 50)
    keep_freed_blocks()
    # The loop's maximum wait for the interpreter lock while another thread is busy; the default of 5 ms is noticeable.
    sys.setswitchinterval(0.0005)
