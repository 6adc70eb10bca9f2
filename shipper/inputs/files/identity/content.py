"""Read the content of an open file: its plain bytes, or the decompressed bytes of a gzip file."""

import errno
import os
from typing import Protocol

from log_shipper.config.text.encodings import padding_unit
from log_shipper.registry.state import FileState
from log_shipper.shipper.errors import Disproved, Truncated
from log_shipper.shipper.inputs.files.identity.fingerprint import HEAD_SIZE, digest, fingerprint, tail_hash
from log_shipper.shipper.inputs.files.identity.padding import FIRST_WINDOW, Padding, content_size, is_filled_to
from log_shipper.shipper.inputs.files.identity.prefix import Prefix, ProofTrail
from log_shipper.shipper.options.model import InputConfig
from log_shipper.shipper.reader.base import RawFile
from log_shipper.shipper.reader.gzip_file import MAGIC, GzipFile, ends_before, head, is_gzip
from log_shipper.shipper.reader.log_file import TAIL_SIZE, LogFile, read_fully


def close_descriptor(fd: int) -> None:
    """Close a descriptor. Its file system may report an earlier error then; the descriptor is free all the same."""
    try:
        os.close(fd)
    except OSError as error:
        if error.errno == errno.EBADF:  # an error of this program, which would close another file's next time
            raise


Look = tuple[int, int, int]  # size, and times of modification and change in nanoseconds


def look_of(status: os.stat_result) -> Look:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


class Content(Protocol):
    """The content of an open file. Offsets count bytes of content. Every method may raise OSError."""

    fd: int
    compressed: bool

    @property
    def size(self) -> int:
        """The size of the file on disk, without padding (NULs at its end)."""

    def fingerprint(self, length: int | None = None) -> tuple[int, str]:
        """Return length and hash of the first `length` bytes, or of fewer if there are not as many; without `length`,
        of as much of the head as an entry remembers."""

    def tail_hash(self, position: int) -> str:
        """Return the hash of up to 256 bytes before `position`; empty if they cannot be read."""

    def matches(self, state: FileState) -> bool:
        """Return True if the file may have the bytes that the entry remembers: a quick check, not a proof."""

    def ends_before(self, length: int) -> bool:
        """Return True if the content is shorter than `length` and cannot grow."""

    def reader(self, offset: int, cuts: tuple[int, ...], trail: ProofTrail, fd: int | None = None) -> RawFile:
        """Return the reader of the content. `fd`: another descriptor of the file to read from."""


class PlainFile(LogFile):
    """A plain file. After a pause it may have been truncated and grown past the offset again, with equal bytes before
    it (repeated lines), so the head is compared too. `unit` as in padding.py. `may_be_gzip`: the first bytes, which it
    did not have when it was opened, may show that it is a gzip file."""

    def __init__(
        self,
        fd: int,
        offset: int,
        cuts: tuple[int, ...] = (),
        trail: ProofTrail | None = None,
        unit: int = 1,
        *,
        may_be_gzip: bool = False,
    ) -> None:
        super().__init__(fd, offset, cuts)
        self._may_be_gzip = may_be_gzip and offset < len(MAGIC)
        self.unit = unit
        self._padding = Padding(unit)
        self._trail = trail or ProofTrail(None)
        self._head = fingerprint(fd, min(offset, HEAD_SIZE))
        self._paused = True
        self.line_end = offset, self._tail  # where the last whole line ended, and the bytes before it, as read

    def next(self) -> bytes:
        offset, tail = self.offset, self._tail
        data = self._without_padding(super().next(), offset, tail)
        if self._paused and not self._has_its_head:
            self.offset, self._tail = offset, tail  # nothing of it was passed on
            raise Truncated(os.fstat(self.fd).st_size)
        if data and self._may_be_gzip:
            if is_gzip(self.fd):
                self.offset, self._tail = offset, tail
                raise Disproved(os.fstat(self.fd).st_size)
            self._may_be_gzip = self.offset < len(MAGIC)
        if data:
            self._trail.add(data)
            if self._head[0] < HEAD_SIZE:
                self._head = fingerprint(self.fd, min(self.offset, HEAD_SIZE))
            if data.endswith(b"\n") and not self.offset % max(self.unit, 1):
                self.line_end = self.offset, self._tail
            elif whole := self._last_line_end(data, offset, tail):
                self.line_end = offset + whole, (tail + data[max(whole - TAIL_SIZE, 0) : whole])[-TAIL_SIZE:]
        self._paused = not data
        return data

    def _last_line_end(self, data: bytes, offset: int, tail: bytes) -> int:
        """Return how many of these bytes, at `offset` and after `tail`, come up to the end of their last line; 0 if
        there is none. In UTF-16 the byte that ends a line may be the first of its character."""
        end = data.rfind(b"\n") + 1
        if self.unit > 1 and (end or tail.endswith(b"\n")):
            end += -(offset + end) % self.unit
        return end if end <= len(data) else 0

    def at_end(self) -> bool:
        """Note the end of the file. The next read comes after a pause."""
        self._paused = super().at_end()
        return self._paused

    def pause(self) -> None:
        """Note that the file has changed: the next read compares its head."""
        self._paused = True

    def _without_padding(self, data: bytes, offset: int, tail: bytes) -> bytes:
        end = self._padding.content(self.fd, data, offset)
        self.busy = self._padding.busy
        if end < len(data):
            data = data[:end]
            self.offset, self._tail = offset + end, (tail + data)[-TAIL_SIZE:]
        return data

    @property
    def padding(self) -> int:
        """The number of NULs at the end of the file; 0 if its end was not reached."""
        return max(self._padding.end - self.offset, 0)

    @property
    def leading_nuls(self) -> int:
        """The number of NULs at the start of the file, if a read has met no other bytes. They belong to no text."""
        return self._padding.leading

    @property
    def has_filled_padding(self) -> bool:
        """Return True if content was written into the padding since it was read. Raises OSError."""
        return self.padding > 0 and any(os.pread(self.fd, FIRST_WINDOW, self.offset))

    def expect(self, data: bytes) -> None:
        """Expect `data` before the offset, as read by another descriptor: the file may have been rewritten since."""
        self._tail = data[-TAIL_SIZE:]
        self._head = len(data[:HEAD_SIZE]), digest(data[:HEAD_SIZE])
        self.line_end = self.offset, self._tail

    @property
    def is_as_read(self) -> bool:
        """Return True if the file still has its head and the bytes read last. Raises OSError."""
        tail = read_fully(self.fd, len(self._tail), self.offset - len(self._tail))
        return tail == self._tail and self._has_its_head

    @property
    def _has_its_head(self) -> bool:
        return fingerprint(self.fd, self._head[0]) == self._head


class Plain:
    """The content of a plain file. `unit` as in padding.py; `opened` is its status when it was opened; `may_be_gzip` as
    in PlainFile."""

    compressed = False
    __slots__ = ("_unit", "fd", "may_be_gzip", "opened")

    def __init__(self, fd: int, unit: int = 1, opened: Look | None = None, *, may_be_gzip: bool = False) -> None:
        self.fd = fd
        self._unit = unit
        self.opened = opened
        self.may_be_gzip = may_be_gzip

    @property
    def size(self) -> int:
        size = content_size(self.fd, self._unit) if self._unit else None
        return os.fstat(self.fd).st_size if size is None else size

    def fingerprint(self, length: int | None = None) -> tuple[int, str]:
        if length is not None:
            return fingerprint(self.fd, length)
        head = read_fully(self.fd, HEAD_SIZE, 0)
        if head.endswith(b"\0"):
            head = head[: self.size]  # without the padding
        return len(head), digest(head)

    def is_filled_to(self, size: int) -> bool:
        """Return True unless padding ends at `size` (padding.py). Raises OSError."""
        return is_filled_to(self.fd, size, self._unit)

    def tail_hash(self, position: int) -> str:
        return tail_hash(self.fd, position)

    def matches(self, state: FileState) -> bool:
        """Compare head and tail: the head reveals a reused inode, the tail a file that was truncated and has grown
        again after an equal header."""
        if os.fstat(self.fd).st_size < state.position or state.compressed:
            return False
        if state.fingerprint[0] and self.fingerprint(state.fingerprint[0]) != state.fingerprint:
            return False
        return not state.tail_hash or self.tail_hash(state.position) == state.tail_hash

    def ends_before(self, length: int) -> bool:
        return False

    def reader(self, offset: int, cuts: tuple[int, ...], trail: ProofTrail, fd: int | None = None) -> PlainFile:
        fd = self.fd if fd is None else fd
        return PlainFile(fd, offset, cuts, trail, self._unit, may_be_gzip=self.may_be_gzip)


class ZippedFile(GzipFile):
    def __init__(self, fd: int, offset: int, cuts: tuple[int, ...], trail: ProofTrail) -> None:
        super().__init__(fd, offset, cuts)
        self._trail = trail

    def next(self) -> bytes:
        data = super().next()
        self._trail.add(data)
        return data


class Zipped:
    """The content of a gzip file. There is no tail hash, which would need the decompression of everything before it."""

    compressed = True
    __slots__ = ("fd",)

    def __init__(self, fd: int) -> None:
        self.fd = fd

    @property
    def size(self) -> int:
        return os.fstat(self.fd).st_size

    def fingerprint(self, length: int | None = None) -> tuple[int, str]:
        first = head(self.fd, HEAD_SIZE if length is None else length)
        return len(first), digest(first)

    def tail_hash(self, position: int) -> str:
        return ""

    def matches(self, state: FileState) -> bool:
        return not state.fingerprint[0] or self.fingerprint(state.fingerprint[0]) == state.fingerprint

    def ends_before(self, length: int) -> bool:
        return ends_before(self.fd, length)

    def reader(self, offset: int, cuts: tuple[int, ...], trail: ProofTrail, fd: int | None = None) -> ZippedFile:
        return ZippedFile(self.fd if fd is None else fd, offset, cuts, trail)


def part_of(content: Content, offset: int, length: int) -> bytes:
    """Return the `length` bytes from `offset`, or fewer at the end. Raises OSError."""
    if content.compressed:
        return head(content.fd, offset + length)[offset:]
    return read_fully(content.fd, max(min(length, content.size - offset), 0), offset)


def content_of(fd: int, compression: str, path: str = "", unit: int = 1) -> Content:
    """Return the content of an open file. `compression`: the input's option: none, gzip or auto; `unit` as in
    padding.py. Raises OSError."""
    if compression == "gzip" or (compression == "auto" and (is_gzip(fd) or _may_become_gzip(fd, path))):
        return Zipped(fd)
    opened = look_of(os.fstat(fd))
    is_measured = unit > 0 and content_size(fd, unit) is not None
    # Any file is empty at first: gzip may write to a name that does not end with .gz, and rename the whole file.
    may_be_gzip = compression == "auto" and opened[0] < len(MAGIC)
    return Plain(fd, unit if is_measured else 0, opened, may_be_gzip=may_be_gzip)


def content_for(config: InputConfig, fd: int, path: str = "") -> Content:
    """Return the content of an open file of an input. Raises OSError."""
    return content_of(fd, config.compression, path, padding_unit(config.encoding, config.line_terminator))


def content_now(content: Content) -> Content:
    """Return the content of an open file of which nothing was read yet: its first bytes may have come since it was
    opened, and show that it is compressed. Raises OSError."""
    is_packed = isinstance(content, Plain) and content.may_be_gzip and is_gzip(content.fd)
    return Zipped(content.fd) if is_packed else content


def _may_become_gzip(fd: int, path: str) -> bool:
    """Return True if the file may be the start of a gzip file: gzip creates it empty, and all that follows would be
    sent as text."""
    return path.endswith(".gz") and MAGIC.startswith(os.pread(fd, len(MAGIC), 0))


def fingerprint_now(content: Content, file: RawFile, known: tuple[int, str]) -> tuple[int, str]:
    """Return the fingerprint of a file that may have grown since `known`. If it was truncated since it was read, return
    `known`: the new head is that of another file. Raises OSError."""
    # Only of what was read: the bytes after it may be half written (padding.py).
    length = min(file.offset, HEAD_SIZE) if isinstance(file, PlainFile) else None
    longer = content.fingerprint(length)
    return longer if longer[0] >= known[0] and is_as_read(file) else known


def size_at_least(content: Content, known: int) -> int:
    """Return a lower bound of the content's size: the file size, or the `known` previous one if that is not smaller or
    the file ends with NULs. Costs at most two system calls. Raises OSError."""
    size = os.fstat(content.fd).st_size
    is_content = size > known and (not isinstance(content, Plain) or content.is_filled_to(size))
    return size if is_content else known


def is_as_read(file: RawFile) -> bool:
    """Return True if the file still has the bytes that were read, judged by head and tail. Raises OSError."""
    return not isinstance(file, PlainFile) or file.is_as_read


def tail_at(content: Content, file: RawFile, position: int) -> str:
    """Return the hash of the bytes before `position`; if a line that was read ends there, of the bytes as read, for the
    same reason. Raises OSError."""
    if isinstance(file, PlainFile) and file.line_end[0] == position:
        return digest(file.line_end[1])
    return content.tail_hash(position)


def trail_from(content: Content, state: FileState) -> ProofTrail:
    """Return the trail of a file that resumes at its entry's position, without reading all before it. Raises
    OSError."""
    if not state.position:
        return ProofTrail(Prefix())
    if content.compressed or not state.proof:
        return ProofTrail(None)
    return ProofTrail(Prefix.resume(content.fd, state.proof, state.position))


def begins_as(content: Content, other: Content, size: int) -> bool:
    """Return True if the content begins with all of the other content of that size, judged by head and tail. Raises
    OSError."""
    head = other.fingerprint()
    if content.fingerprint(head[0]) != head:
        return False
    return content.compressed or other.compressed or content.tail_hash(size) == other.tail_hash(size)
