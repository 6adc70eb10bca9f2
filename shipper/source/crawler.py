"""Finds the files of the inputs and decides which harvesters run.

`plan` decides, from a listing and from what is known, without touching a file; the crawler carries it out. What the
registry remembers of a file is confirmed by its bytes before reading goes on at its position.
"""

import logging
import os
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace

from registry.registrar import Registrar
from registry.state import FileState
from shipper.clock import Clock
from shipper.errors import Truncated
from shipper.metrics import Metrics
from shipper.source.discover import FileKey, Found, Listing, scan
from shipper.source.harvester import Harvester
from shipper.source.identity import same_life
from shipper.source.input import Input
from shipper.source.scheduler import Scheduler
from shipper.source.watch import Watcher

logger = logging.getLogger(__name__)

Open = Callable[[Input, int, FileState], Harvester]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a scan leads to: files to open, running harvesters to wake, and those whose file has a new path."""

    open: list[Found]
    wake: list[FileKey]
    renamed: list[Found]


def plan(listing: Listing, running: dict[FileKey, Harvester], settled: dict[FileKey, tuple[int, float]]) -> Plan:
    """`settled` has size and time of change of files that were closed at their end: they are opened when one differs."""
    to_open = []
    renamed = []
    for key, found in listing.files.items():
        if key in running:
            if running[key].state.path != found.path:
                renamed.append(found)
        elif settled.get(key) != (found.size, found.modified):
            to_open.append(found)
    return Plan(to_open, [key for key in listing.files if key in running], renamed)


class Crawler:
    """Used by the reading thread only."""

    def __init__(
        self, inputs: list[Input], registrar: Registrar, scheduler: Scheduler, watcher: Watcher, clock: Clock,
        metrics: Metrics, *, once: bool = False,
    ) -> None:  # fmt: skip
        self._inputs = inputs
        self._registrar = registrar
        self._scheduler = scheduler
        self._watcher = watcher
        self._clock = clock
        self._metrics = metrics
        self._once = once
        self._known = {(s.device, s.inode): s for s in registrar.states.values() if s.ended is None}
        self._settled: dict[FileKey, tuple[int, float]] = {}
        self._due = dict.fromkeys(inputs, 0.0)
        self._told: dict[str, str] = {}
        self.running: dict[FileKey, Harvester] = {}
        self.problems: dict[str, str] = {}

    def step(self) -> None:
        """Take the watcher's hints, and scan the inputs whose time has come. Raises nothing about files."""
        while self._watcher.changed:
            harvester = self.running.get(self._watcher.changed.popleft())
            if harvester is not None:
                self._scheduler.wake(harvester)
        now = self._clock.monotonic()
        everything, self._watcher.stale = self._watcher.stale, False
        for source, due in self._due.items():
            if due <= now or everything:
                self._due[source] = float("inf") if self._once else now + source.check_interval
                self._scan(source)

    @property
    def scanned(self) -> bool:
        """Every input was scanned, and with `once` that was all there is to find."""
        return self._once and self.next_scan == float("inf")

    @property
    def next_scan(self) -> float:
        """Monotonic time of the next scan that is due."""
        return min(self._due.values(), default=float("inf"))

    @property
    def bytes_behind(self) -> int:
        """Bytes of the running files that are not acknowledged yet, by the sizes seen last."""
        return sum(max(h.size - h.state.position, 0) for h in self.running.values())

    def truncated(self, harvester: Harvester, error: Truncated) -> None:
        """The file's life has ended; what it holds now is a new file, read from its start."""
        lost = max(harvester.size - harvester.offset, 0)
        self._metrics.files_truncated += 1
        self._metrics.bytes_lost += lost
        logger.warning(
            "%s (file id %s) was truncated or rewritten: it has %d bytes now, %d were read; up to %d bytes from offset %d on "
            "may be lost; it is read again from its start as a new file",
            harvester.state.path, harvester.state.id, error.size, harvester.offset, lost, harvester.offset,
        )  # fmt: skip
        self.close(harvester, ended="truncated")
        self._watcher.stale = True

    def close(self, harvester: Harvester, ended: str | None = None) -> None:
        """Stop reading a file. Batches of it that are under way still move its position when they resolve."""
        status = os.fstat(harvester.fd)
        if ended is not None:
            harvester.update(ended=ended)
            self._known.pop(harvester.key, None)
        else:
            self._known[harvester.key] = harvester.state
            self._settled[harvester.key] = (status.st_size, status.st_mtime)
        self._scheduler.forget(harvester)
        self._watcher.unwatch_file(harvester.key)
        del self.running[harvester.key]
        harvester.close()
        self._metrics.harvesters_closed += 1

    def stop(self) -> None:
        for harvester in list(self.running.values()):
            self.close(harvester)

    def _scan(self, source: Input) -> None:
        listing = scan(source.paths)
        for directory in listing.directories:
            self._watcher.watch_directory(directory)
        for path, problem in listing.problems.items():
            self._tell(path, problem)
        decided = plan(listing, self.running, self._settled)
        for found in decided.renamed:
            self.running[found.key].update(path=found.path)
        for key in decided.wake:
            self._look_after(self.running[key], listing.files[key])
        opened = [harvester for found in decided.open if (harvester := self._open(source, found)) is not None]
        if opened:
            saved = self._registrar.save([harvester.state for harvester in opened])
            for harvester in opened:
                self._scheduler.hold(saved, harvester)
        self._close_idle(source)

    def _look_after(self, harvester: Harvester, found: Found) -> None:
        """The slow stat round: a write whose event was lost is found here."""
        if found.size != harvester.offset and not self._once:
            harvester.size = found.size
            self._scheduler.wake(harvester)

    def _close_idle(self, source: Input) -> None:
        now = self._clock.monotonic()
        for harvester in [h for h in self.running.values() if h.source.input_id == source.id and h.settled]:
            if os.fstat(harvester.fd).st_nlink == 0 and harvester.at_end:
                self._give_up_removed(harvester)
            elif harvester.at_end and now - harvester.read_at > source.close_inactive:
                self.close(harvester)

    def _give_up_removed(self, harvester: Harvester) -> None:
        lost = os.fstat(harvester.fd).st_size - harvester.state.position
        if lost > 0:
            self._metrics.bytes_lost += lost
            logger.warning(
                "%s (file id %s) was removed; its last %d bytes, from offset %d on, were no complete message and are lost",
                harvester.state.path, harvester.state.id, lost, harvester.state.position,
            )  # fmt: skip
        self.close(harvester, ended="removed")

    def _open(self, source: Input, found: Found) -> Harvester | None:
        try:
            fd = os.open(found.path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                self._tell(found.path, f"cannot be opened: {error.strerror}")
            return None
        status = os.fstat(fd)
        if (status.st_dev, status.st_ino) != found.key:
            os.close(fd)  # another file took the path since it was listed; the next scan meets it
            self._watcher.stale = True
            return None
        self._told.pop(found.path, None)
        harvester = source.open(fd, self._state_of(source, fd, found, status.st_size), once=self._once)
        self.running[found.key] = harvester
        self._settled.pop(found.key, None)
        self._metrics.harvesters_started += 1
        return harvester

    def _state_of(self, source: Input, fd: int, found: Found, size: int) -> FileState:
        """The registry's entry where the bytes confirm it, else the first state of a new life."""
        known = self._known.get(found.key)
        if known is not None and same_life(fd, known):
            state = replace(known, path=found.path, size_seen=size, input=source.id)
        else:
            if known is not None:
                self._end_unseen(known)
            state = FileState(
                id=uuid.uuid4().hex, path=found.path, device=found.key[0], inode=found.key[1], size_seen=size,
                updated=self._clock.time(), input=source.id,
            )  # fmt: skip
            logger.info("new file %s (file id %s, %d bytes)", found.path, state.id, size)
        if self._once and size > state.position:
            state = replace(state, cuts=(*state.cuts, size))
        return state

    def _end_unseen(self, known: FileState) -> None:
        """A file was replaced or truncated while nobody read it: its entry stays, but matches no file any more."""
        lost = max(known.size_seen - known.position, 0)
        self._metrics.bytes_lost += lost
        logger.warning(
            "%s (file id %s) does not hold what was read of it before: truncated, rewritten, or its inode was used again; up to "
            "%d bytes from offset %d on may be lost; what is there now is read as a new file",
            known.path, known.id, lost, known.position,
        )  # fmt: skip
        self._registrar.note(replace(known, ended="truncated", updated=self._clock.time()))

    def _tell(self, path: str, problem: str) -> None:
        """Say what is wrong with a path once, not at every scan."""
        self.problems[path] = problem
        if self._told.get(path) != problem:
            self._told[path] = problem
            logger.warning("%s: %s", path, problem)
