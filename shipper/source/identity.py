"""Which life of a file is this: device and inode, confirmed by the bytes at its head and before the position."""

import hashlib
import os

from registry.state import FileState
from shipper.reader.log_file import TAIL_SIZE

HEAD_SIZE = 1024


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def fingerprint(fd: int, length: int = HEAD_SIZE) -> tuple[int, str]:
    """Length and hash of the head of a file, at most `length` bytes of it. Raises OSError."""
    head = os.pread(fd, length, 0)
    return len(head), digest(head)


def tail_hash(fd: int, position: int) -> str:
    """Hash of the up to 256 bytes before `position`. Raises OSError."""
    start = max(position - TAIL_SIZE, 0)
    return digest(os.pread(fd, position - start, start))


def same_life(fd: int, state: FileState) -> bool:
    """Whether the open file still holds the bytes that the registry's entry remembers. Raises OSError.

    Head and tail are both compared: the head tells a reused inode, the bytes before the position a file that was
    truncated and has grown again behind an equal header.
    """
    if os.fstat(fd).st_size < state.position:
        return False
    if fingerprint(fd, state.fingerprint[0]) != state.fingerprint and state.fingerprint[0]:
        return False
    return not state.tail_hash or tail_hash(fd, state.position) == state.tail_hash
