"""How many file descriptors this process may still open, for tests of what happens without a free one."""

import gc
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def few_descriptors() -> Iterator[Callable[[int], None]]:
    """Yield a function that leaves only so many, from then on."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)

    def leave(count: int) -> None:
        gc.collect()  # what earlier tests left behind would be closed in the midst of this one, and free some
        probe = os.dup(0)
        os.close(probe)
        resource.setrlimit(resource.RLIMIT_NOFILE, (probe + count, before[1]))

    try:
        yield leave
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
