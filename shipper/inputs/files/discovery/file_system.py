"""Return the type of a file's file system, which decides what its watches are worth.

Python's os.fstatvfs leaves the type out, so the C library's fstatfs is used.
"""

import ctypes
from collections.abc import Callable

NFS = 0x6969  # linux/magic.h, as all types
# On these, writes of other hosts, or of the process behind the file system, give no event (inotify(7)).
WRITTEN_ELSEWHERE = {
    NFS,
    0x517B,  # SMB
    0xFE534D42,  # SMB 2
    0xFF534D42,  # CIFS
    0x65735546,  # FUSE, virtiofs
    0x01021997,  # 9p
    0x00C36400,  # Ceph
    0x5346414F,  # OpenAFS
    0x6B414653,  # kAFS
    0x01161970,  # GFS2
    0x7461636F,  # OCFS2
    0x0BD00BD0,  # Lustre
    0x47504653,  # GPFS
    0x786F4256,  # VirtualBox
    0xBACBACBC,  # VMware
}

FileSystemOf = Callable[[int], int]  # of an open file

_SIZE = 512  # more than any struct statfs; the type is its first word

_libc = ctypes.CDLL(None, use_errno=True)


def file_system_of(fd: int) -> int:
    """Return the type of the file system of an open file, as in statfs(2); 0 if it cannot be read. Raises nothing."""
    buffer = ctypes.create_string_buffer(_SIZE)
    if _libc.fstatfs(fd, buffer) != 0:
        return 0
    return ctypes.c_long.from_buffer(buffer).value & 0xFFFFFFFF  # some types are negative where a word has 32 bits
