"""Loads the segments of a directory at a start, however the previous process ended, and whatever happened since."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.pipeline.disk_queue.files import SegmentFiles, fsync_file
from log_shipper.shipper.pipeline.disk_queue.frames import (
    HEADER_SIZE,
    Damage,
    DamagedHeader,
    ForeignFormat,
    Frame,
    FrameScan,
    read_header,
)
from log_shipper.shipper.pipeline.disk_queue.lost import Gaps, Lost
from log_shipper.shipper.pipeline.disk_queue.options import QueueProgress
from log_shipper.shipper.pipeline.disk_queue.segment import Segment

logger = logging.getLogger(__name__)

_NAME = re.compile(r"(\d{1,18})\.seg")


@dataclass(frozen=True, slots=True)
class WaitingFrames:
    """The undelivered frames: where the first one is, their totals, and the last one. `number` and `following`: of the
    first event, and of the first one after the last."""

    segment: Segment | None = None
    offset: int = 0
    frames: int = 0
    events: int = 0
    bytes: int = 0
    number: int = 0
    following: int = 0
    last: int = -1

    def then(self, segment: Segment, frame: Frame) -> WaitingFrames:
        first = self if self.frames else WaitingFrames(segment, frame.offset, number=frame.number)
        return WaitingFrames(
            first.segment,
            first.offset,
            self.frames + 1,
            self.events + frame.events,
            self.bytes + frame.raw_bytes,
            first.number,
            frame.following,
            frame.sequence,
        )


Look = Callable[[Frame, bytes], None]


def ignore_frame(frame: Frame, content: bytes) -> None:
    """Do nothing with a frame."""


class LoadedSegments:
    """`next_sequence`: the first unused sequence number; `written`: the number of the next event."""

    def __init__(self, progress: QueueProgress | None, synced: int, look: Look) -> None:
        self.segments: list[Segment] = []
        self.waiting = WaitingFrames()
        self.lost = Lost()
        self._position = 0 if progress is None else progress.position
        self._delivered = None if progress is None else progress.delivered  # None until the first frame
        self._synced = synced
        self._gaps = Gaps(self.lost)
        self._min_sequence = 0  # the minimum sequence number of the next frame
        self._look = look

    @property
    def next_sequence(self) -> int:
        return max(self._position, self._min_sequence)

    @property
    def written(self) -> int:
        return max(self._synced, self._gaps.expected)

    @property
    def progress(self) -> QueueProgress:
        """Return the progress of the queue; lost events count as delivered."""
        return QueueProgress(self._position, self.waiting.number if self.waiting.frames else self.written, self.written)

    def add(self, segment: Segment, scan: FrameScan) -> int | None:
        """Add a segment with its frames. Return where its torn tail begins; None if it has none.

        After the events known to have been on disk, the first gap ends the data that a crash left: nothing relied on
        frames behind it, and their sources send them again with the missing ones. Raises OSError.
        """
        self.segments.append(segment)
        if self._delivered is None:
            self._delivered = segment.first
        self._gaps.enter(segment)
        repeated, whole, is_torn = 0, segment.start, False
        for item in scan:
            if isinstance(item, Damage):
                self._gaps.damaged(segment, item)
                continue
            frame, content = item
            if frame.sequence < self._min_sequence:
                repeated += 1
            elif frame.number > max(self._gaps.expected, self._synced):
                is_torn = True
                break
            else:
                self._add(segment, frame)
                self._look(frame, content)
            whole = frame.end
        if repeated:
            logger.warning(
                "queue segment %s duplicates %d batches of an earlier segment (restored from a backup?): "
                "they are skipped",
                segment.path,
                repeated,
            )
        if self._gaps.expected < self._synced:
            return whole if is_torn else None
        self._gaps.forget()
        return None if whole == segment.end else whole

    def _add(self, segment: Segment, frame: Frame) -> None:
        is_delivered = frame.sequence < self._position
        if self._delivered is None:
            self._delivered = frame.number
        if is_delivered:
            self._delivered = max(self._delivered, frame.following)
        self._gaps.passed(frame, self._delivered, self._synced)
        self._min_sequence = frame.sequence + 1
        segment.last, segment.frames = frame.sequence, segment.frames + 1
        if not is_delivered:
            self.waiting = self.waiting.then(segment, frame)

    def finish(self) -> None:
        """Note that there is no further segment."""
        if self._delivered is not None:
            self._gaps.close(self._delivered, self._synced)
        if self._gaps.harmless:
            logger.warning(
                "the queue on disk is damaged: %s. No undelivered event is known to be lost", self._gaps.harmless
            )


def load(
    files: SegmentFiles, directory: Path, seed: int, progress: QueueProgress | None, look: Look = ignore_frame
) -> LoadedSegments:
    """Return the segments of a directory. `progress`: the registry's entry of the queue; None if there is none, and
    then nothing was delivered. `look` is called with each frame, including delivered ones, and its payload.

    Frames that a crash left and no one relied on are cut off; all others are then on disk. Raises OSError, StartError.
    """
    segments, synced = _in_order(files, directory, seed)
    loaded = LoadedSegments(progress, max(synced, 0 if progress is None else progress.written), look)
    for segment in segments:
        torn = loaded.add(segment, _scan(files, segment))
        if torn is not None:
            _report_torn(segment, torn)
            segment.end = torn
        if torn is not None or segment is segments[-1]:
            # A killed process may have written it to the page cache only.
            fsync_file(files, segment.path, torn)
    loaded.finish()
    files.stop_reading()
    if segments:
        files.fsync_dir(directory)
    return loaded


def _in_order(files: SegmentFiles, directory: Path, seed: int) -> tuple[list[Segment], int]:
    """Return the segments in the order of their frames, whatever their names, and the number of events that were on
    disk at the last write. Raises OSError, StartError."""
    sizes = files.sizes(directory)
    numbered = sorted((int(matched[1]), name) for name in sizes if (matched := _NAME.fullmatch(name)))
    keyed, first, last = list[tuple[int, Segment]](), -1, None
    for number, name in numbered:
        segment = _segment(files, number, directory / name, sizes[name], seed)
        frame = next((item[0] for item in _scan(files, segment) if not isinstance(item, Damage)), None)
        if frame is not None:
            first = frame.sequence
            if last is None or first >= last[0]:
                last = first, segment
        keyed.append((first, segment))  # one without frames stays after the previous one
    keyed.sort(key=lambda item: item[0])
    frames = () if last is None else _scan(files, last[1])
    synced = [item[0].synced for item in frames if not isinstance(item, Damage)]
    return [segment for _, segment in keyed], max((*synced, *(segment.first or 0 for _, segment in keyed)), default=0)


def _scan(files: SegmentFiles, segment: Segment) -> FrameScan:
    return FrameScan(partial(files.read_at, segment.path), segment.seed, segment.start, segment.end)


def _segment(files: SegmentFiles, number: int, path: Path, size: int, seed: int) -> Segment:
    """Return the segment of a file. Raises OSError, StartError."""
    try:
        header = read_header(files.read_at(path, 0, HEADER_SIZE))
        return Segment(number, path, end=size, first=header.number, seed=header.seed)
    except DamagedHeader:
        return Segment(number, path, 0, size, seed=seed)
    except ForeignFormat as error:
        raise StartError(
            f"queue.disk.path: {path} has the format of another release ({error}). Run that release until the "
            "queue is empty, or move the directory away: the events in it are then lost"
        ) from error


def _report_torn(segment: Segment, torn: int) -> None:
    logger.warning(
        "queue segment %s: the last %d bytes are an incomplete write left by a crash, and are cut off. No "
        "acknowledged event is lost",
        segment.path,
        segment.end - torn,
    )
