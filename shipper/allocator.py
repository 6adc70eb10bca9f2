"""glibc's allocator, for a program that takes and frees the same large blocks all the time.

Unless told otherwise, it gives freed memory back to the system as soon as twice the largest block is free, and what is
read next takes it again, page by page. The most that the agent takes is the same.
"""

import ctypes
import os

# Of mallopt(3). To set one of them ends the automatic choice of the other, so both are set.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT = 16 * 1024**2  # freed bytes that stay with the process
LARGE = 4 * 1024**2  # blocks of which each is taken from the system, and given back when it is freed
OPTIONS = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


def keep_freed_blocks() -> None:
    """Does nothing where the environment has settings of its own, or with another C library."""
    if any(name in os.environ for name in OPTIONS):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_TRIM_THRESHOLD, KEPT)
        mallopt(M_MMAP_THRESHOLD, LARGE)
