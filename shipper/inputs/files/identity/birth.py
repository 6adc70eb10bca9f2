"""Read the birth time of a file, which shows that an inode was reused.

Python has no statx before 3.15, so the C library's is used.
"""

import ctypes
import struct

_EMPTY_PATH = 0x1000  # AT_EMPTY_PATH: of the descriptor itself
_BIRTH = 0x800  # STATX_BTIME
_SIZE = 256
_AT = 0x50  # of stx_btime in the struct: seconds, nanoseconds

_libc = ctypes.CDLL(None, use_errno=True)


def birth_time(fd: int) -> int:
    """Return the birth time in nanoseconds since 1970; 0 if the file system or the C library has none. Raises
    nothing."""
    try:
        statx = _libc.statx
    except AttributeError:
        return 0
    buffer = ctypes.create_string_buffer(_SIZE)
    if statx(fd, b"", _EMPTY_PATH, _BIRTH, buffer) != 0:
        return 0
    (mask,) = struct.unpack_from("I", buffer)
    seconds, nanoseconds = struct.unpack_from("qI", buffer, _AT)
    return seconds * 10**9 + nanoseconds if mask & _BIRTH else 0
