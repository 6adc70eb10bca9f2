"""Which life of a file is this: device and inode, confirmed by the bytes at its head and before the position."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from config.shipper.model import InputConfig
from registry.state import FileState
from shipper.reader.log_file import TAIL_SIZE
from shipper.source.discovery.scanner import FileKey, ScannedFile

HEAD_SIZE = 1024

BY_PATH = "path:"  # how a name begins that is a path

# What a file is known by: device and inode, or what `file_identity` makes of it.
Name = FileKey | str


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


def name_of_entry(state: FileState) -> Name:
    return state.key or (state.device, state.inode)


def name_of_file(
    config: InputConfig, scanned: ScannedFile, part: Callable[[int, int], bytes], ends_before: Callable[[int], bool]
) -> Name | None:
    """`part` gives bytes of the content, from an offset on; `ends_before` whether it ends before one, and cannot grow.
    None for a file that is too short to have a name yet. Raises OSError."""
    identity = config.file_identity
    match identity.name:
        case "path":
            return f"{BY_PATH}{scanned.path}"
        case "inode_marker":
            try:
                marker = Path(identity.marker).read_text(encoding="utf-8", errors="replace").strip()
            except OSError as error:
                why = f"{error.strerror}: {identity.marker}, the marker file of file_identity.inode_marker"
                raise OSError(error.errno, why) from error
            return f"inode_marker:{marker}:{scanned.key[1]}"
        case "fingerprint":
            taken = part(identity.offset, identity.length)
            is_all = len(taken) == identity.length or (taken and ends_before(identity.offset + identity.length))
            return f"fingerprint:{identity.offset}:{len(taken)}:{digest(taken)}" if is_all else None
    return scanned.key
