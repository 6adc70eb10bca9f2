"""The segments of a directory as they are found at a start, whatever ended the process before."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from shipper.errors import StartError
from shipper.pipeline.disk_queue.files import SegmentFiles, fsync_file
from shipper.pipeline.disk_queue.frames import (
    HEADER_SIZE,
    Damage,
    DamagedHeader,
    Frame,
    FrameScan,
    SegmentHeader,
    TooNewSegment,
    read_header,
)

logger = logging.getLogger(__name__)

_NAME = re.compile(r"(\d{1,18})\.seg")


@dataclass(slots=True)
class Segment:
    """A file of frames. Bytes from `start` up to `end` are frames that are on disk; `last` is the sequence number of
    the last one, -1 without any. The writer's thread changes it, any thread may read it."""

    number: int
    path: Path
    start: int = HEADER_SIZE
    end: int = HEADER_SIZE
    last: int = -1
    frames: int = 0
    events: int = 0
    seed: int = 0  # of its checksums


@dataclass(slots=True)
class Lost:
    """What was lost by damage to what was on disk; `events` only as far as it is known. `known`: segment and offset of
    each damage."""

    bytes: int = 0
    events: int = 0
    known: set[tuple[int, int]] = field(default_factory=set)

    def add(self, segment: Segment, damage: Damage) -> None:
        """Count damage, once, and log it."""
        place = (segment.number, damage.offset)
        if place in self.known:
            return
        self.known.add(place)
        self.bytes += damage.end - damage.offset
        self.events += damage.events or 0
        logger.error(
            "the queue's segment %s is damaged from byte %d to %d, or these bytes are missing: %s; what is before and "
            "behind is delivered. Look at the disk: the kernel's log has more about it",
            segment.path,
            damage.offset,
            damage.end,
            _lost_in_words(damage.events),
        )


def _lost_in_words(events: int | None) -> str:
    if events == 0:
        return "no event was there"
    many = "events, it is not known how many," if events is None else f"{events} events"
    return f"{many} that waited there are lost"


@dataclass(frozen=True, slots=True)
class Waiting:
    """The frames that are to be delivered: where the first one is, and what they are together."""

    segment: int = 0
    offset: int = 0
    frames: int = 0
    events: int = 0
    bytes: int = 0

    def then(self, segment: Segment, frame: Frame) -> Waiting:
        number, offset = (self.segment, self.offset) if self.frames else (segment.number, frame.offset)
        return Waiting(number, offset, self.frames + 1, self.events + frame.events, self.bytes + frame.raw_bytes)


Look = Callable[[Frame, bytes], None]


def nothing_more(frame: Frame, content: bytes) -> None:
    """Look at nothing more of a frame."""


class LoadedSegments:
    """`next_sequence`: the first sequence number that no frame has."""

    def __init__(self, position: int, look: Look) -> None:
        self.segments: list[Segment] = []
        self.waiting = Waiting()
        self.next_sequence = position
        self.lost = Lost()
        self._position = position
        self._least = 0  # the lowest sequence number that the next frame may have
        self._look = look
        self._damages: list[tuple[Segment, Damage]] = []  # the next frame shows whether that was delivered

    def take(self, segment: Segment, scan: FrameScan) -> None:
        """Add a segment with its frames. Raises OSError."""
        self.segments.append(segment)
        repeated = 0
        for item in scan:
            if isinstance(item, Damage):
                self._damages.append((segment, item))
                continue
            frame, content = item
            if frame.sequence < self._least:
                repeated += 1
                continue
            self._least = frame.sequence + 1
            self._decide(is_lost=frame.sequence > self._position, before=(segment, frame))
            segment.last, segment.frames = frame.sequence, segment.frames + 1
            segment.events = frame.events_before + frame.events
            if frame.sequence >= self._position:
                self.waiting = self.waiting.then(segment, frame)
            self._look(frame, content)
        self.next_sequence = max(self.next_sequence, segment.last + 1)
        if repeated:
            logger.warning(
                "the queue's segment %s has %d batches that are in a segment before it, as a copy has; they are not "
                "sent twice",
                segment.path,
                repeated,
            )

    def miss(self, segment: Segment) -> None:
        """Note that there is no such file although it was written. What it had may have been delivered."""
        self._damages.append((segment, Damage(segment.start, segment.end, None)))

    def finish(self) -> None:
        """Note that there is no other segment."""
        self._decide(is_lost=True)

    def _decide(self, *, is_lost: bool, before: tuple[Segment, Frame] | None = None) -> None:
        """Count the damage that was met, if `is_lost`. `before`: the frame that it is before."""
        damages, self._damages = self._damages, []
        if not is_lost:
            return
        for segment, damage in damages:
            if damage.events is None and len(damages) == 1 and before is not None and before[0] is segment:
                damage = replace(damage, events=before[1].events_before - segment.events)
            self.lost.add(segment, damage)


def load(files: SegmentFiles, directory: Path, seed: int, position: int, look: Look = nothing_more) -> LoadedSegments:
    """Return the segments of a directory. Frames before the sequence number `position` were delivered. `look` is called
    with each frame, those too, and its payload.

    What a crash left of frames that no one relied on is cut off; what is then there is on disk. Raises OSError,
    StartError.
    """
    loaded = LoadedSegments(position, look)
    sizes = files.sizes(directory)
    numbered = {int(matched[1]): directory / name for name in sizes if (matched := _NAME.fullmatch(name))}
    headers = {number: _header(files, path) for number, path in numbered.items()}
    for number, path in sorted(numbered.items()):
        header, following = headers[number], headers.get(number + 1)
        size, read_at = sizes[path.name], partial(files.read_at, path)
        segment = Segment(number, path, 0 if header is None else HEADER_SIZE, size)
        segment.seed = seed if header is None else header.seed
        if header is not None and header.previous_end and loaded.segments and number - 1 not in numbered:
            missing = number - 1
            loaded.miss(Segment(missing, directory / f"{missing:04}.seg", end=header.previous_end))
        if following is not None and following.previous_end:
            # Behind it is what a write left that failed. What a shorter file has not any more counts as damage.
            segment.end = following.previous_end
        else:
            _cut_torn_tail(files, segment, FrameScan(read_at, segment.seed, segment.start, size))
        loaded.take(segment, FrameScan(read_at, segment.seed, segment.start, segment.end))
    loaded.finish()
    files.stop_reading()
    if numbered:
        files.fsync_dir(directory)
    return loaded


def _header(files: SegmentFiles, path: Path) -> SegmentHeader | None:
    """Return the header of a segment; None if it is damaged. Raises OSError, StartError."""
    try:
        return read_header(files.read_at(path, 0, HEADER_SIZE))
    except DamagedHeader:
        return None
    except TooNewSegment as error:
        raise StartError(
            f"queue.disk.path: {path} was written by a later release ({error}), which this one cannot read; run that "
            "release until the queue is empty, or move the directory away and lose what waits in it"
        ) from error


def _cut_torn_tail(files: SegmentFiles, segment: Segment, scan: FrameScan) -> None:
    """Cut off what begins with damage behind all that is known to have been on disk: a crash may have left it. And put
    what stays on disk: a process that was killed leaves bytes that only the page cache has."""
    if not segment.end:
        logger.warning("the queue's segment %s is empty, as a crash leaves one that was just begun", segment.path)
    synced, damages = 0, list[Damage]()
    for item in scan:
        if isinstance(item, Damage):
            damages.append(item)
        else:
            synced = max(synced, item[0].synced)
    torn = next((damage.offset for damage in damages if damage.offset >= synced), None)
    if torn is not None:
        logger.warning(
            "the queue's segment %s: its last %d bytes are not whole, as a crash leaves them, and are cut off; nothing "
            "relied on them",
            segment.path,
            segment.end - torn,
        )
        segment.end = torn
    fsync_file(files, segment.path, torn)
