"""How full the file systems of the queue and the registry are, by three watermarks, as in Elasticsearch.

At `low` a warning is logged. At `high` the queue stops growing. At `flood` deleted files are closed, because the kernel
keeps their space until then. Each ends a little below where it began, to avoid flapping.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

logger = logging.getLogger(__name__)

OK, LOW, HIGH, FLOOD = range(4)
NAMES = ("ok", "low", "high", "flood")
EVERY = 1.0  # seconds; each check is a call that a network file system answers
MARGIN = 0.01  # of the size: the margin below a watermark at which it ends

_EFFECTS = (
    "",
    "free some space: at the next watermark the queue stops growing",
    "the queue stops growing, and its inputs wait; free some space",
    "the queue stops growing, and deleted files are closed even if unread, to free their space; free some space",
)


@dataclass(frozen=True, slots=True)
class Space:
    """The free bytes of a file system, and its size; `device` as in stat(2)."""

    free: int
    size: int
    device: int = 0


def measured(path: Path) -> Space:
    """Return the space of a file system. Raises OSError."""
    status = os.statvfs(path)
    return Space(status.f_bavail * status.f_frsize, status.f_blocks * status.f_frsize, os.stat(path).st_dev)


@dataclass(frozen=True, slots=True)
class WatermarkLevels:
    """Shares of the size that may be used, between 0 and 1; or, negative, bytes that must stay free."""

    low: float = 0.85
    high: float = 0.90
    flood: float = 0.95

    def level(self, space: Space, margin: float = 0.0) -> int:
        """Return the highest watermark reached; `margin`: a share of the size that counts as used."""
        free = space.free - margin * space.size
        reached = [free < _min_free(mark, space) for mark in (self.low, self.high, self.flood)]
        return 3 - reached[::-1].index(True) if True in reached else OK


def _min_free(mark: float, space: Space) -> float:
    return -mark if mark < 0 else (1 - mark) * space.size


class Watermarks:
    """Checked by the writer's thread, as a check may block. Readable from any thread: `levels` by path, and
    `devices_over_flood_mark`."""

    def __init__(
        self,
        paths: Sequence[Path],
        marks: WatermarkLevels,
        clock: Callable[[], float],
        measure: Callable[[Path], Space] = measured,
    ) -> None:
        self.levels: dict[Path, int] = dict.fromkeys(paths, OK)
        self.devices_over_flood_mark: frozenset[int] = frozenset()
        self._marks = marks
        self._clock = clock
        self._measure = measure
        self._due = float("-inf")

    @property
    def level(self) -> int:
        """Return the worst level."""
        return max(self.levels.values())

    def may_grow(self) -> bool:
        """Return True if the queue may use more disk. Checks the file systems from time to time."""
        if self._clock() >= self._due:
            self._due = self._clock() + EVERY
            self._look()
        return self.level < HIGH

    def _look(self) -> None:
        flooded = set()
        levels = dict(self.levels)
        for path, before in self.levels.items():
            try:
                space = self._measure(path)
            except OSError:  # reported by the writes there
                continue
            level = self._marks.level(space)
            if level < before:
                level = min(self._marks.level(space, MARGIN), before)
            if level != before:
                _report(path, level, before, space)
            levels[path] = level
            if level == FLOOD:
                flooded.add(space.device)
        self.levels, self.devices_over_flood_mark = levels, frozenset(flooded)


def _report(path: Path, level: int, before: int, space: Space) -> None:
    used = 100 - 100 * space.free / space.size if space.size else 100.0
    if level == OK:
        logger.info("the file system of %s has space again: %.1f %% used", path, used)
        return
    logger.log(
        logging.WARNING if level > before else logging.INFO,
        "the file system of %s %s the %s watermark: %.1f %% used, %d MiB free; %s",
        path,
        "reached" if level > before else "is back at",
        NAMES[level],
        used,
        space.free >> 20,
        _EFFECTS[level],
    )
