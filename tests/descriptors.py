"""The file descriptors of this process: those that are open, and how many it may still open.

What earlier tests left behind is collected first. Otherwise that happens in the midst of a test, whenever the collector
runs, and closes some.
"""

import gc
import os
import resource
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MANY = 300


def open_descriptors() -> set[str]:
    """Return those that are open, and the one of this look."""
    return set(os.listdir("/proc/self/fd"))


def open_files(leave_out: Collection[int] = ()) -> Iterator[tuple[int, int]]:
    """Yield the device and the inode of what is open, but for these descriptors. Pipes and sockets have inodes, too."""
    for descriptor in map(int, open_descriptors()):
        if descriptor not in leave_out:
            with suppress(OSError):  # that of the look, or one that another thread has closed
                status = os.fstat(descriptor)
                yield status.st_dev, status.st_ino


def collect_descriptors() -> None:
    """Close what tests have left to the collector, where it is much: that comes rarely in so large a process, and
    select() takes no descriptor from 1,024 on."""
    if len(open_descriptors()) > MANY:
        gc.collect()


def descriptors_before() -> set[str]:
    """Return those that are open, as a test begins that will compare. There may be less afterwards: a thread of an
    earlier test may close some meanwhile."""
    gc.collect()
    return open_descriptors()


def open_below(directory: Path) -> list[str]:
    """Return the target of each descriptor of a file in this directory: threads of earlier tests open others."""
    gc.collect()
    targets = []
    for descriptor in open_descriptors():
        with suppress(OSError):  # as in open_files()
            targets.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    return sorted(target for target in targets if target.startswith(f"{directory}/"))


def fall_to(most: int) -> bool:
    """Return whether no more than so many are open, at some moment within 10 s. A test of sockets asks this, because a
    thread of an earlier test may open some meanwhile, but does not keep them."""
    deadline = time.monotonic() + 10
    while len(open_descriptors()) > most:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@contextmanager
def few_descriptors() -> Iterator[Callable[[int | None], None]]:
    """Yield a function that leaves only so many, from then on; None for as many as before."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    fillers: list[int] = []

    def leave(count: int | None) -> None:
        gc.collect()
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        while fillers:
            os.close(fillers.pop())
        if count is None:
            return
        highest = max(map(int, open_descriptors()))
        # Fill the numbers that were closed, so that only the last ones below the limit are free.
        while (filler := os.dup(0)) <= highest:
            fillers.append(filler)
        os.close(filler)
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1 + count, before[1]))

    try:
        yield leave
    finally:
        leave(None)
