"""Finds missing events on disk by their numbers, and counts each once."""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from log_shipper.shipper.pipeline.disk_queue.frames import Damage, Frame
from log_shipper.shipper.pipeline.disk_queue.segment import Segment

logger = logging.getLogger(__name__)

MAX_PLACES = 5  # places named in a message
MAX_TEXT_LENGTH = 500


class Lost:
    """Counts events lost by damage on disk. `events`: the minimum number."""

    def __init__(self) -> None:
        self.events = 0
        self._starts: list[int] = []  # starts of the counted ranges, in order; ranges neither overlap nor touch
        self._ends: list[int] = []

    def add(self, start: int, end: int, places: Sequence[str], *, at_least: bool = False) -> int:
        """Count and log the events with these numbers. Return how many were not counted yet."""
        events = self._uncounted(start, end)
        if events:
            self.events += events
            more = len(places) - MAX_PLACES
            logger.error(
                "the queue on disk is damaged: %s%s. Lost: %s%d undelivered events; all others are "
                "delivered. Check the disk; the kernel log has details",
                "; ".join(places[:MAX_PLACES]),
                f"; and {more} more" if more > 0 else "",
                "at least " if at_least else "",
                events,
            )
        return events

    def _uncounted(self, start: int, end: int) -> int:
        if start >= end:
            return 0
        overlap = slice(bisect_left(self._ends, start), bisect_right(self._starts, end))
        starts, ends = self._starts[overlap], self._ends[overlap]
        counted = sum(min(ends[n], end) - max(starts[n], start) for n in range(len(starts)))
        self._starts[overlap] = [min(start, *starts)] if starts else [start]
        self._ends[overlap] = [max(end, *ends)] if ends else [end]
        return end - start - counted


class Gaps:
    """Finds gaps between frames that are read in order. `expected`: the number of the next event if nothing is missing;
    `harmless`: places of damage that lost no event."""

    def __init__(self, lost: Lost, expected: int = 0) -> None:
        self.expected = expected
        self.harmless = ""
        self._lost = lost
        self._places: list[str] = []  # damaged since the last frame
        self._missing: list[str] = []  # names of missing segments
        self._segment: Segment | None = None

    def enter(self, segment: Segment) -> None:
        """Note that reading continues with this segment."""
        if self._segment is not None and segment.number > self._segment.number + 1:
            first, last = self._segment.number + 1, segment.number - 1
            names = f"{first:04}.seg" if first == last else f"{first:04}.seg to {last:04}.seg"
            self._missing.append(f"{segment.path.parent}/{names} missing")
        self._segment = segment

    def damaged(self, segment: Segment, damage: Damage) -> None:
        """Note damaged bytes. The next frame shows whether events are lost."""
        self._places.append(f"{segment.path} from byte {damage.offset} to {damage.end}")

    def forget(self) -> None:
        """Forget the last damage: nothing relied on these bytes."""
        self._places = []

    def passed(self, frame: Frame, start: int, end: int) -> int:
        """Note a frame. Return the number of events lost before it, among the numbers from `start` up to `end`."""
        start, end = max(start, self.expected), min(end, frame.number)
        self.expected = max(self.expected, frame.following)
        places, missing, self._places, self._missing = self._places, self._missing, [], []
        if start < end:
            return self._lost.add(start, end, [*places, *missing])
        self.harmless = "; ".join(([self.harmless] if self.harmless else []) + places)[:MAX_TEXT_LENGTH]
        return 0

    def close(self, start: int, end: int) -> int:
        """Note that no frame follows up to the number `end`. Return the number of events lost from `start` on."""
        start, places = max(start, self.expected), self._places
        where = "all segments are missing" if self._segment is None else f"data after the end of {self._segment.path}"
        self.expected, self._places = max(self.expected, end), []
        return self._lost.add(start, end, places or [where], at_least=True)
