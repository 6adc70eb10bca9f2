r"""The bytes of a segment: a header, and frames, each of which is one batch.

    header   b"shqsegm1", version, seed, number of the next event, checksum
    frame    b"\xf5shq", checksum of the rest of the header, length and kind of the payload, checksum of the payload,
             sequence number, synced, events and message bytes of the batch, number of its first event; payload

All integers are little-endian; checksums are xxh3 with the seed of the queue, so that no log text can contain a valid
frame.

Events are numbered in the order of writing, over all segments of a queue and all processes. So two frames show how many
events were between them, whatever happened to the bytes and files in between. Events before `synced` were on disk
(fsync) when the frame was written: if one of them is missing, it is lost by damage. Events missing behind the `synced`
of all frames may belong to frames that a crash left and nobody relied on: a torn tail.

A frame stands alone: damage to one does not affect others. After damage, the next frame is found by its magic bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xxhash import xxh3_64_intdigest

VERSION = 2
MAGIC = b"shqsegm1"
FRAME_MAGIC = b"\xf5shq"
PLAIN = 0
ZSTD = 1

_HEADER = struct.Struct("<8sIQQ")
_SUM = struct.Struct("<Q")
_FRAME = struct.Struct("<IIQQQIQQ")  # after the magic bytes and the checksum
HEADER_SIZE = _HEADER.size + _SUM.size
FRAME_SIZE = len(FRAME_MAGIC) + _SUM.size + _FRAME.size
_WINDOW = 256 * 1024  # bytes that are read at once

# Returns the bytes of a segment from an offset on, at most so many. Raises OSError.
ReadAt = Callable[[int, int], bytes]


class DamagedHeader(Exception):
    """Raised when a segment does not begin with a header."""


class ForeignFormat(Exception):
    """Raised for a segment in the format of another release; its text names the version."""


@dataclass(frozen=True, slots=True)
class SegmentHeader:
    """`number`: of the next event when the segment was begun. All earlier events were on disk."""

    seed: int
    number: int

    def written(self) -> bytes:
        head = _HEADER.pack(MAGIC, VERSION, self.seed, self.number)
        return head + _SUM.pack(xxh3_64_intdigest(head))


def read_header(data: bytes) -> SegmentHeader:
    """Return the header at the start of these bytes. Raises DamagedHeader, ForeignFormat."""
    head = data[: _HEADER.size]
    if len(data) < HEADER_SIZE or not head.startswith(MAGIC):
        raise DamagedHeader
    if _SUM.unpack_from(data, _HEADER.size)[0] != xxh3_64_intdigest(head):
        raise DamagedHeader
    _, version, seed, number = _HEADER.unpack(head)
    if version != VERSION:
        raise ForeignFormat(f"version {version}")
    return SegmentHeader(seed, number)


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame header. `offset`: where the frame begins in its segment; `raw_bytes`: of the messages as read; `number`:
    of its first event."""

    offset: int
    length: int  # of the payload
    kind: int
    checksum: int
    sequence: int
    synced: int
    events: int
    raw_bytes: int
    number: int

    @property
    def end(self) -> int:
        return self.offset + FRAME_SIZE + self.length

    @property
    def following(self) -> int:
        """Return the number of the first event after the frame."""
        return self.number + self.events


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes of a segment that are not a frame."""

    offset: int
    end: int


@dataclass(frozen=True, slots=True)
class Payload:
    """The payload of a frame; `content` as stored, compressed if `kind` says so."""

    sequence: int
    events: int
    raw_bytes: int
    kind: int
    content: bytes

    @property
    def size(self) -> int:
        """Return the size of the frame, in bytes."""
        return FRAME_SIZE + len(self.content)

    def written(self, seed: int, synced: int, number: int) -> bytes:
        checksum = xxh3_64_intdigest(self.content, seed)
        rest = _FRAME.pack(
            len(self.content), self.kind, checksum, self.sequence, synced, self.events, self.raw_bytes, number
        )
        return FRAME_MAGIC + _SUM.pack(xxh3_64_intdigest(rest, seed)) + rest + self.content


def read_frame(data: bytes, offset: int, seed: int) -> Frame | None:
    """Return the frame whose header these bytes are, at `offset` of a segment; None if they are not one."""
    if len(data) < FRAME_SIZE or not data.startswith(FRAME_MAGIC):
        return None
    rest = data[FRAME_SIZE - _FRAME.size : FRAME_SIZE]
    if _SUM.unpack_from(data, len(FRAME_MAGIC))[0] != xxh3_64_intdigest(rest, seed):
        return None
    return Frame(offset, *_FRAME.unpack(rest))


def is_whole(frame: Frame, content: bytes, seed: int) -> bool:
    """Return True if this is the payload of the frame."""
    return len(content) == frame.length and xxh3_64_intdigest(content, seed) == frame.checksum


class FrameScan:
    """Reads the frames of a segment in order, from an offset up to `end`. `offset`: where the next one is expected."""

    def __init__(self, read_at: ReadAt, seed: int, offset: int, end: int) -> None:
        self.offset = offset
        self._read_at = read_at
        self._seed = seed
        self.end = end
        self._window = b""
        self._window_at = 0

    def __iter__(self) -> Iterator[tuple[Frame, bytes] | Damage]:
        """Yield each frame with its payload, and each damage. Raises OSError; the scan may continue afterwards."""
        while self.offset < self.end:
            yield self.next()

    def next(self) -> tuple[Frame, bytes] | Damage:
        """Return the next frame, or the damage in its place. Raises OSError."""
        start = self.offset
        frame = self._frame_at(start)
        if frame is not None:
            content = self._bytes(frame.offset + FRAME_SIZE, frame.length)
            self.offset = frame.end
            if is_whole(frame, content, self._seed):
                return frame, content
            return Damage(start, frame.end)  # its header is right, so the next frame is where it says
        following = self._next_frame(start + 1)
        self.offset = self.end if following is None else following.offset
        return Damage(start, self.offset)

    def _next_frame(self, offset: int) -> Frame | None:
        """Return the first frame from an offset on; None if there is none."""
        while offset < self.end:
            data = self._bytes(offset, _WINDOW)
            place = data.find(FRAME_MAGIC)
            while place >= 0:
                if (frame := self._frame_at(offset + place)) is not None:
                    return frame
                place = data.find(FRAME_MAGIC, place + 1)
            if len(data) < _WINDOW:
                return None
            offset += len(data) - len(FRAME_MAGIC) + 1  # the magic bytes may span two windows
        return None

    def _frame_at(self, offset: int) -> Frame | None:
        frame = read_frame(self._bytes(offset, FRAME_SIZE), offset, self._seed)
        return frame if frame is not None and frame.end <= self.end else None

    def _bytes(self, offset: int, size: int) -> bytes:
        """Return these bytes of the segment, fewer at its end. They are read in windows: frames may be small."""
        size = min(size, self.end - offset)
        first = offset - self._window_at
        if first < 0 or first + size > len(self._window):
            self._window = self._read_at(offset, max(size, min(_WINDOW, self.end - offset)))
            self._window_at, first = offset, 0
        return self._window[first : first + size]
