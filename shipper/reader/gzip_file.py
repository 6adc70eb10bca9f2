"""Reads the content of a gzip file from an offset in the decompressed bytes.

A member is verified (crc, length) when its end is read, after its content was returned, as always with streams. So
damage is reported after all readable content.

Such a file has no random access. To resume at an offset, all earlier content is decompressed and discarded, a slice per
call, because other files wait for the same thread.
"""

import os
import zlib

from log_shipper.shipper.errors import ShipperError, Truncated
from log_shipper.shipper.reader.log_file import FIRST_READ, READ_LINES, READ_SIZE, LogFile, Pread

MAGIC = b"\x1f\x8b\x08"
GZIP_WBITS = 31  # zlib: gzip header and trailer, largest window
# zlib copies the rest of its input in each call: with many small members nearly all of it.
FEED_SIZE = 32 * 1024
SKIP_SIZE = 1024 * 1024
# The cost limit per call, in decompressed bytes and fed pieces: some milliseconds.
EFFORT = 4 * 1024 * 1024

HEAD_WITHIN = 1024 * 1024  # maximum compressed bytes before the head of the content

REASONS = {
    "incorrect header check": "not a gzip file; compression: auto reads plain files too",
    "incorrect data check": "the content does not match its checksum (crc)",
    "incorrect length check": "the content does not have the length in the trailer",
}


class CompressionError(ShipperError):
    """Raised when the file is damaged at `raw_offset`, in compressed bytes. Earlier content was returned."""

    def __init__(self, raw_offset: int, reason: str) -> None:
        super().__init__(f"gzip data damaged at compressed byte {raw_offset}: {reason}; `gzip -t` checks the file")
        self.raw_offset = raw_offset


class GzipFile:
    """Reads forward from `offset` as `LogFile` does, at most `READ_SIZE` bytes at a time.

    One byte is read ahead, so the last bytes are known to be the last when they are returned, if the trailer exists by
    then. `busy`: the last `next` returned early; call it again soon.
    """

    start = 0

    def __init__(self, fd: int, offset: int, cuts: tuple[int, ...] = (), pread: Pread | None = None) -> None:
        self.fd = fd
        self.offset = offset
        self.busy = False
        self._cuts = sorted({cut for cut in cuts if cut > offset})
        self._members = _Members(LogFile(fd, 0, pread=pread))
        self._skip = offset  # bytes of content still to discard
        self._ahead = b""
        self._read_size = FIRST_READ
        self._reported_end = 0  # the number of members at the last reported end

    @property
    def complete(self) -> bool:
        """Return True if the last member and its trailer were read, and nothing follows. False again when the file
        grows."""
        return self._members.complete

    @property
    def raw_offset(self) -> int:
        """Return the number of decompressed input bytes."""
        return self._members.raw_offset

    def at_end(self) -> bool:
        return False  # only another read shows it

    def next(self) -> bytes:
        """Return the next bytes; empty at the end for now, and when `busy`. Raises Truncated, CompressionError,
        OSError."""
        size = self._read_size
        if self._cuts:
            size = min(size, self._cuts[0] - self.offset)
        try:
            self._decompress(size + 1)
        except (OSError, ShipperError):
            if not self._ahead:
                raise  # otherwise the bytes before it are returned first, and the next call meets the same error
        data, self._ahead = self._ahead[:size], self._ahead[size:]
        if data:
            self.offset += len(data)
            line_size = len(data) // (data.count(b"\n") + 1) + 1
            self._read_size = min(READ_SIZE, line_size * READ_LINES)
        return data

    def head(self, length: int) -> bytes:
        return head(self.fd, length)

    @property
    def cuts(self) -> tuple[int, ...]:
        return tuple(self._cuts)

    def cut_here(self) -> None:
        self._cuts.insert(0, self.offset)

    def pop_cut(self) -> bool:
        """Return True, once per place, if the bytes read so far end at a cut, or at the end of the content."""
        at_cut = bool(self._cuts) and self._cuts[0] == self.offset
        if at_cut:
            del self._cuts[0]
        # The end is reached while more bytes are requested, so `_ahead` is empty by then.
        at_end = self._members.ended and self._reported_end != self._members.count
        if at_end:
            self._reported_end = self._members.count
        return at_cut or at_end

    def require_complete(self) -> None:
        """Check a file that will not grow any more. Raises CompressionError if its end is missing."""
        if not self.complete:
            raise CompressionError(self.raw_offset, "the file ends within the gzip data")

    def _decompress(self, wanted: int) -> None:
        """Extend `_ahead` to `wanted` bytes, as far as the file and the cost limit allow."""
        effort = 0
        self.busy = False
        while self._skip or len(self._ahead) < wanted:
            if effort >= EFFORT:
                self.busy = True
                return
            content = self._members.step(min(self._skip, SKIP_SIZE) or wanted - len(self._ahead))
            if content is None:
                break
            effort += len(content) + FEED_SIZE
            if self._skip:
                self._skip -= len(content)
            else:
                self._ahead += content
        if self._skip and self.complete:
            raise Truncated(self.offset - self._skip)


class _Members:
    """The members of a gzip file, one after the other, in steps of bounded memory."""

    def __init__(self, file: LogFile) -> None:
        self.count = 0  # members whose trailer was read
        self.complete = False
        self.ended = False  # complete, or followed by other data
        self._file = file
        self._raw = memoryview(b"")  # read and not yet decompressed
        self._member: zlib._Decompress | None = None
        self._has_output = False
        self._damage = ""

    @property
    def raw_offset(self) -> int:
        return self._file.offset - len(self._raw)

    def step(self, limit: int) -> bytes | None:
        """Return at most `limit` bytes, perhaps none; None at the end of the file for now."""
        if self._damage:
            raise CompressionError(self.raw_offset, self._damage)
        if not self._raw and not self._has_output and not self._read():
            return None
        if self._member is None and not self._begin_member():
            return b""
        return self._inflate(limit)

    def _read(self) -> bool:
        self._raw = memoryview(self._file.next())
        if not self._raw and self._member is None and self.count:
            self.complete = self.ended = True
        return bool(self._raw)

    def _begin_member(self) -> bool:
        """Begin a member; later ones may follow zero padding, as on tapes and block devices."""
        if self.count:
            if self._raw[0] == 0:
                zeros = bytes(self._raw[:FEED_SIZE])
                self._raw = self._raw[len(zeros) - len(zeros.lstrip(b"\0")) :]
                return False
            if self._raw[0] != MAGIC[0]:
                self._damage = "other data follows the gzip data"
                self.complete, self.ended = False, True
                return False
        self.complete = self.ended = False
        self._member = zlib.decompressobj(GZIP_WBITS)
        return True

    def _inflate(self, limit: int) -> bytes:
        assert self._member is not None
        fed = self._raw[:FEED_SIZE]
        before = self._member.copy()
        try:
            content = self._member.decompress(fed, limit)
        except zlib.error as error:
            reason = str(error).rpartition(": ")[2]
            self._damage = REASONS.get(reason, reason)
            return self._salvage(before)
        ended = self._member.eof
        left = self._member.unused_data if ended else self._member.unconsumed_tail
        self._raw = self._raw[len(fed) - len(left) :]
        # Full output: zlib may have more without further input.
        self._has_output = not ended and len(content) == limit
        if ended:
            self._member = None
            self.count += 1
        return content

    def _salvage(self, member: "zlib._Decompress") -> bytes:
        """Return the content before the damaged byte, found by halving: a failing zlib call returns nothing."""
        content = b""
        size = FEED_SIZE
        while size := size // 2:
            trial = member.copy()
            try:
                content += trial.decompress(self._raw[:size])
            except zlib.error:
                continue
            member = trial
            self._raw = self._raw[size:]
        return content


def is_gzip(fd: int) -> bool:
    """Return True if the file begins like a gzip file. Raises OSError."""
    return os.pread(fd, len(MAGIC), 0) == MAGIC


def head(fd: int, length: int) -> bytes:
    """Return the first `length` bytes of the content, fewer if they cannot be read. Raises OSError."""
    return _read(GzipFile(fd, 0), length)


def ends_before(fd: int, length: int) -> bool:
    """Return True if the file is complete and its content shorter than `length`. Raises OSError."""
    file = GzipFile(fd, 0)
    return len(_read(file, length)) < length and file.complete


def _read(file: GzipFile, length: int) -> bytes:
    """Return up to `length` bytes; fewer if the file begins with megabytes without content: zeros, or empty members."""
    content = b""
    try:
        while len(content) < length and file.raw_offset < HEAD_WITHIN and ((data := file.next()) or file.busy):
            content += data
    except (CompressionError, Truncated):
        pass  # all readable content was read
    return content[:length]
