"""A disk that does not take what is written, as far as a process can have one without a mount."""

from collections.abc import Iterator
from contextlib import contextmanager
from resource import RLIMIT_FSIZE, getrlimit, setrlimit


@contextmanager
def no_larger_files_than(size: int) -> Iterator[None]:
    """Files of this process, and of those that it starts, get no longer than so many bytes: an OSError, like ENOSPC."""
    before = getrlimit(RLIMIT_FSIZE)
    setrlimit(RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        setrlimit(RLIMIT_FSIZE, before)
