"""Root may read everything: tests of refusals drop the capabilities that allow it."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

VERSION_3 = 0x20080522
READ_CAPABILITIES = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
OWNER_CAPABILITY = 1 << 3  # CAP_FOWNER: what only a file's owner may do
NETWORK_CAPABILITIES = 1 << 10 | 1 << 12  # CAP_NET_BIND_SERVICE, CAP_NET_ADMIN

# The beginning of a command line: the program then runs without the first two.
UNPRIVILEGED = (
    ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all") if os.geteuid() == 0 else ()
)


@contextmanager
def without_capabilities() -> Iterator[None]:
    """Leave the thread only the rights of the owner of its files, as any user but root has them."""
    libc = ctypes.CDLL(None)
    header = (ctypes.c_uint32 * 2)(VERSION_3, 0)
    before = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then the same of capabilities above 31
    assert libc.capget(header, before) == 0
    fewer = (ctypes.c_uint32 * 6)(*before)
    fewer[0] &= ~(READ_CAPABILITIES | OWNER_CAPABILITY | NETWORK_CAPABILITIES)
    assert libc.capset(header, fewer) == 0
    try:
        yield
    finally:
        assert libc.capset(header, before) == 0
