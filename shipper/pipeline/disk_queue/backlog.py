"""The batches that are only on disk, and are read back in order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from log_shipper.shipper.event import Batch
from log_shipper.shipper.pipeline.disk_queue.content import BatchDecoder, expanded
from log_shipper.shipper.pipeline.disk_queue.entry import QueuedBatch
from log_shipper.shipper.pipeline.disk_queue.files import SegmentFiles
from log_shipper.shipper.pipeline.disk_queue.frames import Damage, Frame, FrameScan
from log_shipper.shipper.pipeline.disk_queue.lost import Gaps, Lost
from log_shipper.shipper.pipeline.disk_queue.segment import Segment
from log_shipper.shipper.pipeline.disk_queue.segments import WaitingFrames
from log_shipper.shipper.pipeline.disk_queue.store import SegmentStore


class Backlog:
    """Used by the reading thread. `frames`, `events` and `bytes` (of messages) count data that is only on disk: all
    frames from the first of them to the newest. `lost` counts unreadable data."""

    def __init__(self, files: SegmentFiles, store: SegmentStore, waiting: WaitingFrames, lost: Lost) -> None:
        self.frames = waiting.frames
        self.events = waiting.events
        self.bytes = waiting.bytes
        self.events_read = 0
        self.lost = lost
        self._files = files
        self._store = store
        self._decoder = BatchDecoder()
        self._segment = waiting.segment
        self._offset = waiting.offset
        self._scan: FrameScan | None = None
        self._gaps = Gaps(lost, waiting.number)
        self._min_sequence = 0  # the minimum sequence number of the next frame
        self._last = waiting.last  # the sequence number of the last frame, and the number of the first event after it
        self._following = waiting.following

    def add(self, entry: QueuedBatch) -> None:
        """Add a batch that is on disk and not kept in memory."""
        place = entry.place
        assert place is not None, "it is on disk"
        if not self.frames:
            self._segment, self._offset, self._scan = place.segment, place.offset, None
            self._gaps = Gaps(self.lost, place.number)
        self.frames += 1
        self.events += entry.batch.events
        self.bytes += entry.batch.size
        self._last, self._following = entry.sequence, place.following

    def next(self, resolve: Callable[[], None]) -> tuple[Frame, Batch] | None:
        """Return the next batch with its frame; None if none is left. Damaged data is counted as lost and skipped.
        Raises OSError."""
        while self.frames:
            item = self._next_item()
            if item is None:
                self._give_up()
            elif isinstance(item, Damage):
                assert self._segment is not None, "a segment is read"
                self._gaps.damaged(self._segment, item)
            else:
                frame, content = item
                if frame.sequence < self._min_sequence:
                    continue  # of a duplicated segment: it was not counted
                if frame.sequence > self._last:
                    self._give_up()  # still in memory
                    break
                self._min_sequence = frame.sequence + 1
                self.events -= self._gaps.passed(frame, 0, frame.number)
                self._remove(frame)
                try:
                    batch = self._decoder.batch(expanded(frame.kind, content), resolve)
                except ValueError as error:
                    self._report_undecodable(frame, error)
                else:
                    return frame, batch
        return None

    def _next_item(self) -> tuple[Frame, bytes] | Damage | None:
        while self._segment is not None:
            segment = self._segment
            if self._offset < segment.end:
                # The segment may have grown; a scan has a fixed end.
                if self._scan is None or self._scan.offset != self._offset or self._scan.end != segment.end:
                    read_at = partial(self._files.read_at, segment.path)
                    self._scan = FrameScan(read_at, segment.seed, self._offset, segment.end)
                try:
                    item = self._scan.next()
                except FileNotFoundError:  # removed by someone: later data must not wait forever
                    start, self._offset, self._scan = self._offset, segment.end, None
                    return Damage(start, segment.end)
                self._offset = self._scan.offset
                return item
            self._segment = self._segment_after(segment)
            if self._segment is not None:
                self._offset, self._scan = self._segment.start, None
        return None

    def _remove(self, frame: Frame) -> None:
        self.events -= frame.events
        self.bytes -= frame.raw_bytes
        self.events_read += frame.events
        self.frames -= 1
        if frame.sequence == self._last:
            self._empty()

    def _give_up(self) -> None:
        """Give up the remaining frames: they are damaged or missing."""
        self._gaps.close(0, self._following)
        self._empty()

    def _empty(self) -> None:
        self.frames = self.events = self.bytes = 0
        self._files.stop_reading()

    def _report_undecodable(self, frame: Frame, error: ValueError) -> None:
        segment = self._segment
        assert segment is not None, "a segment is read"
        place = f"{segment.path} from byte {frame.offset} to {frame.end} cannot be decoded ({error})"
        self.lost.add(frame.number, frame.following, [place])

    def _segment_after(self, segment: Segment) -> Segment | None:
        segments = tuple(self._store.segments)
        following = segments.index(segment) + 1 if segment in segments else 0
        return segments[following] if following < len(segments) else None
