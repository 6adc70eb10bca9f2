"""Root may read everything: tests of refusals put those powers aside."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

VERSION_3 = 0x20080522
READ_POWERS = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
OWNER_POWER = 1 << 3  # CAP_FOWNER: what only a file's owner may do


@contextmanager
def without_powers() -> Iterator[None]:
    """This thread has the rights of the owner of its files, and no more. Who is not root has no more anyway."""
    libc = ctypes.CDLL(None)
    header = (ctypes.c_uint32 * 2)(VERSION_3, 0)
    powers = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then the same of capabilities above 31
    assert libc.capget(header, powers) == 0
    fewer = (ctypes.c_uint32 * 6)(*powers)
    fewer[0] &= ~(READ_POWERS | OWNER_POWER)
    assert libc.capset(header, fewer) == 0
    try:
        yield
    finally:
        assert libc.capset(header, powers) == 0
