"""The process's memory: what the garbage collector scans, and what is returned to the system.

glibc's allocator returns freed memory to the system as soon as twice the largest block is free, and the next read
requests it again, page by page. The agent takes and frees the same large blocks all the time; its highest use is the
same if they stay.
"""

import ctypes
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Of mallopt(3). Setting one of them ends the automatic choice of the other, so both are set.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT = 16 * 1024**2  # freed bytes that stay with the process
LARGE = 4 * 1024**2  # larger blocks are each taken from the system, and returned when freed
OPTIONS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed_blocks() -> None:
    """Let freed blocks stay with the process. Does nothing if the environment has settings of its own, or with another
    C library."""
    if any(name in os.environ for name in OPTIONS):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_TRIM_THRESHOLD, KEPT)
        mallopt(M_MMAP_THRESHOLD, LARGE)


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
