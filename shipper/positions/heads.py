"""Find files by Filebeat's fingerprints and by inode, for the file of a position."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from log_shipper.shipper.errors import ShipperError
from log_shipper.shipper.reader.gzip_file import head, is_gzip

SHA256_HEX = 64


@dataclass(frozen=True, slots=True)
class Fingerprinting:
    """Filebeat's prospector.scanner.fingerprint, in bytes."""

    offset: int = 0
    length: int = 1024


class PositionRefused(ShipperError):
    """Raised for a position that cannot be taken over. `harmless`: no line is sent twice because of it, as the file is
    missing, or its position is known already."""

    def __init__(self, reason: str, words: str = "", *, harmless: bool = False) -> None:
        self.reason = reason
        self.harmless = harmless
        super().__init__(f"{reason}: {words}" if words else reason)


@contextmanager
def opened(path: str) -> Iterator[int]:
    """Open a regular file. Raises PositionRefused for all errors, including an OSError within the block."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise PositionRefused("file missing", harmless=True) from error
    except OSError as error:
        raise PositionRefused("unreadable", str(error)) from error
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise PositionRefused("unreadable", "not a regular file")
        yield fd
    except OSError as error:
        raise PositionRefused("unreadable", error.strerror or str(error)) from error
    finally:
        os.close(fd)


class ListedDirectory:
    """The regular files in a directory, listed once: a registry may have thousands of positions in one."""

    def __init__(self, path: str, heads: Heads) -> None:
        self._heads = heads
        self._problem = ""
        self.by_inode: dict[int, list[tuple[str, int]]] = {}  # path and device
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    self._add(entry)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            self._problem = str(error)

    def _add(self, entry: os.DirEntry[str]) -> None:
        try:
            if entry.is_file():
                status = entry.stat()
                self.by_inode.setdefault(status.st_ino, []).append((entry.path, status.st_dev))
        except FileNotFoundError:
            pass  # removed since the listing
        except OSError as error:
            self._problem = str(error)

    @property
    def problem(self) -> str:
        """Return the reason why a file could not be read so far; empty if all could."""
        problems = map(self._heads.problems.get, self._paths())
        return self._problem or next(filter(None, problems), "")

    @cached_property
    def by_hash(self) -> dict[str, list[str]]:
        """Return the paths by Filebeat's fingerprint."""
        paths: dict[str, list[str]] = {}
        for path in self._paths():
            for part in self._heads.head_of(path):
                if len(part) == self._heads.length:
                    paths.setdefault(hashlib.sha256(part).hexdigest(), []).append(path)
        return paths

    def with_head(self, value: str) -> set[str]:
        """Return the paths of the files with the fingerprint `value`."""
        paths = set(self.by_hash.get(value, ()))
        if paths or len(value) == SHA256_HEX:
            return paths
        return {path for path in self._paths() if self._heads.match(path, value)}

    def _paths(self) -> Iterator[str]:
        return (path for files in self.by_inode.values() for path, _ in files)


class Heads:
    """The part of each file that Filebeat's fingerprint covers. The fingerprint is its hash or, if the file was
    shorter, its bytes in hexadecimal."""

    def __init__(self, fingerprinting: Fingerprinting) -> None:
        self.length = fingerprinting.length
        self._offset = fingerprinting.offset
        self.problems: dict[str, str] = {}  # by path: why it could not be read

    def head_of(self, path: str) -> list[bytes]:
        """Return this part of the file's bytes, and of a .gz also of the decompressed bytes; empty if the file cannot
        be read."""
        try:
            with opened(path) as fd:
                return [self.part(fd, zipped=False), *([self.part(fd, zipped=True)] if is_gzip(fd) else [])]
        except PositionRefused as refusal:
            if not refusal.harmless:
                self.problems[path] = f"{path}: {refusal}"
            return []

    def part(self, fd: int, *, zipped: bool) -> bytes:
        if zipped:
            return head(fd, self._offset + self.length)[self._offset :]
        return os.pread(fd, self.length, self._offset)

    def match(self, path: str, value: str) -> bool:
        return any(self.has_fingerprint(part, value) for part in self.head_of(path))

    def has_fingerprint(self, part: bytes, value: str) -> bool:
        if len(part) == self.length and hashlib.sha256(part).hexdigest() == value:
            return True
        return bool(value) and part.hex().startswith(value)
