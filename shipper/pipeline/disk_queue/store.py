"""Writes the segments. Used by the writer's thread; other threads read `segments`, `bytes` and the counts.

A group of frames is durable (fsync) when `write` returns. A full segment is followed by a new one. A segment with a
failed write is never written to again: after a failed fsync the kernel takes lost bytes for written. The next segment
has the whole group, with the same numbers.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from log_shipper.runtime.disk import AppendedFile, write_all
from log_shipper.runtime.disk_errors import Misplaced
from log_shipper.runtime.monitor.histogram import Histogram
from log_shipper.shipper.pipeline.disk_queue.files import SegmentFiles, remove_quietly
from log_shipper.shipper.pipeline.disk_queue.frames import Payload, SegmentHeader
from log_shipper.shipper.pipeline.disk_queue.segment import Segment

FSYNC_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class FramePlace:
    """The location of a frame; the numbers of its first event, and of the first one after it."""

    segment: Segment
    offset: int
    number: int
    following: int


class SegmentStore:
    """`seed`: of the checksums; `segment_size`: bytes after which a new segment is begun; `written`: the number of the
    next event, all before it are on disk."""

    def __init__(
        self,
        files: SegmentFiles,
        directory: Path,
        seed: int,
        segment_size: int,
        segments: Iterable[Segment] = (),
        written: int = 0,
    ) -> None:
        self.segments = deque(segments)
        self.bytes = sum(segment.end for segment in self.segments)
        self.fsync = Histogram(FSYNC_SECONDS)
        self.directory = directory
        self._files = files
        self._seed = seed
        self._segment_size = segment_size
        self._written = written
        self._number = max((segment.number for segment in self.segments), default=0)
        self._file: AppendedFile | None = None  # the last segment, while it is open

    def write(self, payloads: Sequence[Payload]) -> list[FramePlace]:
        """Write frames, and return their places once they are on disk. Raises OSError and Misplaced; then none of them
        is there."""
        places = []
        if self._file is not None and self.segments[-1].end >= self._segment_size:
            self.end_segment()
        try:
            segment = self._open()
            assert self._file is not None, "a segment is open"
            offset, number = segment.end, self._written
            for payload in payloads:
                write_all(self._file, payload.written(self._seed, self._written, number))
                places.append(FramePlace(segment, offset, number, number + payload.events))
                offset, number = offset + payload.size, number + payload.events
            self._sync(self._file, is_new=not segment.frames)
        except (OSError, Misplaced):
            self._give_up()
            raise
        segment.end, self._written = offset, number
        segment.frames += len(payloads)
        segment.last = payloads[-1].sequence
        self.bytes += sum(payload.size for payload in payloads)
        return places

    def _open(self) -> Segment:
        """Return the segment to write to; a new one if none is open."""
        if self._file is not None:
            return self.segments[-1]
        number = self._number + 1
        segment = Segment(number, self.directory / f"{number:04}.seg", seed=self._seed)
        self._file = self._files.open(segment.path, fresh=True)
        self._number = number
        self.segments.append(segment)
        self.bytes += segment.end
        write_all(self._file, SegmentHeader(self._seed, self._written).written())
        return segment

    def _sync(self, file: AppendedFile, *, is_new: bool) -> None:
        began = time.perf_counter()
        file.fsync()
        if is_new:
            self._files.fsync_dir(self.directory)  # otherwise a power failure could remove the name of the fsynced file
        self.fsync.add(time.perf_counter() - began)

    def _give_up(self) -> None:
        """End the segment in which a write failed; it is removed if it has no frame."""
        if self._file is None:
            return
        segment = self.segments[-1]
        with suppress(OSError):
            self._file.truncate(segment.end)  # bytes after its end are not read either
        self.end_segment()
        if not segment.frames:
            self.segments.pop()
            self.bytes -= segment.end
            self._number -= 1
            remove_quietly(self._files, segment.path)

    def end_segment(self) -> None:
        """Stop writing to the last segment."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):  # for example on a network file system: all relied-on data was fsynced
                file.close()

    def remove_before(self, sequence: int, *, last: bool = False) -> bool:
        """Remove ended segments whose frames all have lower sequence numbers; with `last`, also the open one. Return
        whether one was removed. Raises OSError."""
        removed = False
        while self.segments and self.segments[0].last < sequence:
            segment = self.segments[0]
            if len(self.segments) == 1 and self._file is not None:
                if not last:
                    break
                self.end_segment()
            self._files.unlink(segment.path)
            self.segments.popleft()
            self.bytes -= segment.end
            removed = True
        if removed:
            self._files.fsync_dir(self.directory)
        return removed
