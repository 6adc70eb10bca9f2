"""Find the file of a foreign position, and make its registry entry if the file's current content confirms the
position."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace

from log_shipper.registry.state import FileState
from log_shipper.shipper.errors import ShipperError
from log_shipper.shipper.inputs.files.discovery.scanner import Inode
from log_shipper.shipper.inputs.files.identity.content import content_of
from log_shipper.shipper.inputs.files.identity.fingerprint import fingerprint, tail_hash
from log_shipper.shipper.positions.filebeat import FilebeatPosition
from log_shipper.shipper.positions.heads import Fingerprinting, Heads, ListedDirectory, PositionRefused, opened
from log_shipper.shipper.reader.gzip_file import GzipFile, is_gzip

# The last byte of a line end: LF and CR, also in UTF-16 (0), and the last bytes of NEL, LS and PS in UTF-8.
LINE_ENDS = b"\n\r\0\x85\xa8\xa9"


class Locator:
    def __init__(self, fingerprinting: Fingerprinting) -> None:
        self._heads = Heads(fingerprinting)
        self._directories: dict[str, ListedDirectory] = {}

    def entry(self, position: FilebeatPosition) -> FileState:
        """Return a new entry for the position. Raises PositionRefused."""
        path = self._path(position)
        with opened(path) as fd:
            zipped = position.identity == "fingerprint" and is_gzip(fd)
            if zipped and self._heads.has_fingerprint(self._heads.part(fd, zipped=True), position.value):
                return _zipped_entry(fd, path, position)
            return _plain_entry(fd, path, position)

    def _beside(self, path: str) -> Iterator[ListedDirectory]:
        """Yield the directory of `path`, and that of the file that it links to: rotated files stay there."""
        for place in dict.fromkeys((os.path.dirname(path), os.path.dirname(os.path.realpath(path)))):
            if place not in self._directories:
                self._directories[place] = ListedDirectory(place, self._heads)
            yield self._directories[place]

    def _path(self, position: FilebeatPosition) -> str:
        match position.identity:
            case "path":
                return position.source
            case "fingerprint":
                return self._by_fingerprint(position)
        return self._by_inode(position)

    def _by_inode(self, position: FilebeatPosition) -> str:
        status = _status(position.source)
        if status is not None and _is(position, status.st_dev, status.st_ino):
            return position.source
        assert position.inode is not None
        for directory in self._beside(position.source):
            for path, device in directory.by_inode.get(position.inode, ()):
                if _is(position, device, position.inode):
                    return path
        if status is not None and status.st_ino == position.inode:
            words = f"its device number was {position.device} and is {status.st_dev} now: a reboot, or another disk"
            raise PositionRefused("another device", words)
        self._refuse_unknown(position)
        if status is not None:
            words = (
                f"the path has inode {status.st_ino} now, not {position.inode}, which is not in the directory either"
            )
            raise PositionRefused("another file", words, harmless=True)
        raise PositionRefused("file missing", harmless=True)

    def _by_fingerprint(self, position: FilebeatPosition) -> str:
        if self._heads.match(position.source, position.value):
            return position.source
        paths = {path for directory in self._beside(position.source) for path in directory.with_head(position.value)}
        files = {_key(path): path for path in sorted(paths)}  # links to one file are one
        if len(files) > 1:
            raise PositionRefused("ambiguous", f"several files have this fingerprint: {', '.join(files.values())}")
        if files:
            return files.popitem()[1]
        self._refuse_unknown(position)
        if _status(position.source) is not None:
            words = "no file at the path or in its directory has this fingerprint"
            raise PositionRefused("another file", words, harmless=True)
        raise PositionRefused("file missing", harmless=True)

    def _refuse_unknown(self, position: FilebeatPosition) -> None:
        """Raise PositionRefused if a file that could not be read may be the one."""
        problems = (
            self._heads.problems.get(position.source),
            *(directory.problem for directory in self._beside(position.source)),
        )
        if words := next(filter(None, problems), None):
            raise PositionRefused("unreadable", words)


def _key(path: str) -> Inode:
    with opened(path) as fd:
        status = os.fstat(fd)
    return status.st_dev, status.st_ino


def _is(position: FilebeatPosition, device: int, inode: int) -> bool:
    return inode == position.inode and position.device in (None, device)


def _status(path: str) -> os.stat_result | None:
    """Return the status, None if there is no file. Raises PositionRefused."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise PositionRefused("unreadable", str(error)) from error


def _plain_entry(fd: int, path: str, position: FilebeatPosition) -> FileState:
    if is_gzip(fd):
        raise PositionRefused(
            "compressed",
            "Filebeat read this .gz file without decompressing it, so the position does not refer to the text",
        )
    size, offset = os.fstat(fd).st_size, position.offset
    if size < offset:
        raise PositionRefused(
            "shorter than the position", f"{size} bytes, the position is {offset}: the file was truncated"
        )
    if 0 < offset < size and os.pread(fd, 1, offset - 1) not in LINE_ENDS:
        raise PositionRefused(
            "rewritten", f"no line ends at position {offset}: these are not the bytes that Filebeat read"
        )
    return replace(_entry(fd, path, offset, size), fingerprint=fingerprint(fd), tail_hash=tail_hash(fd, offset))


def _zipped_entry(fd: int, path: str, position: FilebeatPosition) -> FileState:
    """Return the entry of a gzip file; Filebeat counts decompressed bytes, as the shipper does."""
    reader = GzipFile(fd, 0)
    try:
        while reader.next() or reader.busy:
            pass
    except ShipperError as error:
        raise PositionRefused("unreadable", str(error)) from error
    size = reader.offset
    if size < position.offset:
        raise PositionRefused(
            "shorter than the position", f"{size} decompressed bytes, the position is {position.offset}"
        )
    content = content_of(fd, "gzip")
    compressed = os.fstat(fd).st_size if reader.complete and size == position.offset else 0
    return replace(
        _entry(fd, path, position.offset, size),
        fingerprint=content.fingerprint(),
        tail_hash=content.tail_hash(position.offset),
        compressed=compressed,
    )


def _entry(fd: int, path: str, offset: int, size: int) -> FileState:
    """Return an entry without knowledge of the content yet."""
    status = os.fstat(fd)
    return FileState(
        id=uuid.uuid4().hex,
        path=path,
        device=status.st_dev,
        inode=status.st_ino,
        position=offset,
        size_seen=size,
        updated=time.time(),
    )
