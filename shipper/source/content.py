"""What an open file holds, whatever its wrapping: plain bytes, or a gzip file's decompressed ones."""

import os
from typing import Protocol

from registry.state import FileState
from shipper.reader.base import RawFile
from shipper.reader.gzip_file import GzipFile, head, is_gzip, tail_digest
from shipper.reader.log_file import TAIL_SIZE, LogFile
from shipper.source.identity import HEAD_SIZE, digest, fingerprint, tail_hash


class Content(Protocol):
    """An open file's content; offsets are those of its lines. Every method may raise OSError."""

    fd: int
    compressed: bool

    def fingerprint(self, length: int = HEAD_SIZE) -> tuple[int, str]:
        """Length and hash of the head, at most `length` bytes of it."""

    def tail_hash(self, position: int) -> str:
        """Hash of the up to 256 bytes before `position`; empty where that cannot be had."""

    def holds(self, state: FileState) -> bool:
        """Whether the bytes that the registry's entry remembers are here, as far as that is told at once."""

    def agrees_at_position(self, state: FileState) -> bool:
        """Whether also those before the entry's position are, whatever it costs to find out."""

    def reader(self, offset: int, cuts: tuple[int, ...]) -> RawFile: ...


class Plain:
    compressed = False
    __slots__ = ("fd",)

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def fingerprint(self, length: int = HEAD_SIZE) -> tuple[int, str]:
        return fingerprint(self.fd, length)

    def tail_hash(self, position: int) -> str:
        return tail_hash(self.fd, position)

    def holds(self, state: FileState) -> bool:
        """Head and tail are both compared: the head tells a reused inode, the bytes before the position a file that
        was truncated and has grown again behind an equal header."""
        if os.fstat(self.fd).st_size < state.position or state.compressed:
            return False
        if state.fingerprint[0] and self.fingerprint(state.fingerprint[0]) != state.fingerprint:
            return False
        return not state.tail_hash or self.tail_hash(state.position) == state.tail_hash

    def agrees_at_position(self, state: FileState) -> bool:
        return self.holds(state)

    def reader(self, offset: int, cuts: tuple[int, ...]) -> LogFile:
        return LogFile(self.fd, offset, cuts)


class Zipped:
    """Offsets count decompressed bytes. There is no tail hash: that would be decompressing everything before it. What
    a .gz file holds does not change once it is complete, so inode and head tell it well enough."""

    compressed = True
    __slots__ = ("fd",)

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def fingerprint(self, length: int = HEAD_SIZE) -> tuple[int, str]:
        first = head(self.fd, length)
        return len(first), digest(first)

    def tail_hash(self, position: int) -> str:
        return ""

    def holds(self, state: FileState) -> bool:
        return not state.fingerprint[0] or self.fingerprint(state.fingerprint[0]) == state.fingerprint

    def agrees_at_position(self, state: FileState) -> bool:
        if not state.tail_hash:
            return True
        tail = tail_digest(self.fd, state.position, TAIL_SIZE)
        return tail is not None and digest(tail) == state.tail_hash

    def reader(self, offset: int, cuts: tuple[int, ...]) -> GzipFile:
        return GzipFile(self.fd, offset, cuts)


def content_of(fd: int, compression: str) -> Content:
    """`compression`: none, gzip or auto, as the input's option says. Raises OSError."""
    if compression == "gzip" or (compression == "auto" and is_gzip(fd)):
        return Zipped(fd)
    return Plain(fd)
