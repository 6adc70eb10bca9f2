"""`delete.enabled`: removes a file once all of it is acknowledged, saved, and as old as `delete.grace_period` says."""

import heapq
import logging
import os
from dataclasses import dataclass
from itertools import count

from config.model import DeleteConfig
from registry.registrar import Registrar, Saved
from registry.state import FileState
from shipper.clock import Clock
from shipper.source.content import Plain
from shipper.source.harvester import Harvester

logger = logging.getLogger(__name__)

RETRY_AFTER = 60.0
AFTER = ("compression", "close.reader.on_eof", "close.on_state_change.inactive")


@dataclass(slots=True)
class _Doomed:
    state: FileState
    grace: float
    saved: Saved | None = None


class Deletions:
    """Used by the reading thread only. `rules` by input id."""

    def __init__(self, registrar: Registrar, clock: Clock, rules: dict[str, DeleteConfig]) -> None:
        self.rules = rules
        self._registrar = registrar
        self._clock = clock
        self._due: list[tuple[float, int, _Doomed]] = []
        self._number = count()
        self.removed = 0

    def closed(self, harvester: Harvester, why: str) -> None:
        """`why`: the option that closed it."""
        if why in AFTER:
            self.rested(harvester.source.input_id, harvester.state)

    def rested(self, input_id: str, state: FileState) -> None:
        """Read to its end, perhaps by an agent before this one, which was stopped within the grace period."""
        delete = self.rules[input_id]
        if delete.enabled:
            self.plan(state, delete.grace_period)

    def plan(self, state: FileState, grace: float) -> None:
        """A file that was closed at its end. Whether it still is at its end is looked at when its time has come."""
        self._put(_Doomed(state, grace), grace)

    def step(self) -> None:
        while self._due and self._due[0][0] <= self._clock.monotonic():
            self._take_turn(heapq.heappop(self._due)[2])

    @property
    def next_step(self) -> float:
        return self._due[0][0] if self._due else float("inf")

    def _take_turn(self, doomed: _Doomed) -> None:
        state = doomed.state
        if not _is_read(state):
            return  # somebody removed or moved it, or it has news: then it is planned anew when it is closed again
        if doomed.saved is None:
            # The position must be on disk first: else a crash could forget what became of the file.
            doomed.saved = self._registrar.save([state])
        if not doomed.saved.done:
            self._put(doomed, 0.05)
            return
        try:
            os.unlink(state.path)
        except OSError as error:
            logger.warning(
                "%s: cannot be deleted (delete.enabled): %s; trying again in %d s",
                state.path, error.strerror, RETRY_AFTER,
            )  # fmt: skip
            self._put(doomed, RETRY_AFTER)
            return
        self.removed += 1
        logger.info("%s (file id %s): all of it is acknowledged; deleted", state.path, state.id)

    def _put(self, doomed: _Doomed, after: float) -> None:
        heapq.heappush(self._due, (self._clock.monotonic() + after, next(self._number), doomed))


def _is_read(state: FileState) -> bool:
    """Whether the file at the path holds what was read, and nothing besides."""
    try:
        fd = os.open(state.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        status = os.fstat(fd)
        if (status.st_dev, status.st_ino) != (state.device, state.inode):
            return False
        if state.compressed:
            return status.st_size == state.compressed
        return _ends_at(fd, state.position, status.st_size) and Plain(fd).holds(state)
    except OSError:
        return False
    finally:
        os.close(fd)


def _ends_at(fd: int, position: int, size: int) -> bool:
    """Behind it may be NULs, which are no content."""
    return size == position or (size > position and Plain(fd).size <= position)
