"""Finds the files of the inputs and decides which harvesters run.

`plan` decides, from a listing and from what is known, without touching a file; the crawler carries it out.
"""

import logging
import os
from dataclasses import dataclass, replace

from registry.registrar import Registrar
from shipper.clock import Clock
from shipper.errors import Truncated
from shipper.metrics import Metrics
from shipper.source.discover import FileKey, Found, Listing, scan
from shipper.source.entries import Entries
from shipper.source.harvester import Harvester
from shipper.source.input import Input
from shipper.source.scheduler import Scheduler
from shipper.source.watch import Watcher

logger = logging.getLogger(__name__)

# A directory where files come and go all the time must not keep the loop busy with scans: after one, the next that an
# event asks for waits ten times as long as it took, and this at least.
SHORTEST_PAUSE = 0.02  # seconds
NEVER = float("inf")

Settled = dict[FileKey, tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a scan leads to: files to open, and those of running harvesters that have a new path."""

    open: list[Found]
    renamed: list[Found]


def plan(listing: Listing, running: dict[FileKey, Harvester], settled: Settled) -> Plan:
    """`settled`: size and time of change of files that were closed at their end; they are opened when one differs."""
    to_open = []
    renamed = []
    for key, found in listing.files.items():
        if key in running:
            if running[key].state.path != found.path:
                renamed.append(found)
        elif settled.get(key) != (found.size, found.modified):
            to_open.append(found)
    return Plan(to_open, renamed)


class Crawler:
    """Used by the reading thread only. `problems` has what is wrong with a path now, in words."""

    def __init__(
        self, inputs: list[Input], registrar: Registrar, scheduler: Scheduler, watcher: Watcher, clock: Clock,
        metrics: Metrics, *, once: bool = False,
    ) -> None:  # fmt: skip
        self._registrar = registrar
        self._scheduler = scheduler
        self._watcher = watcher
        self._clock = clock
        self._metrics = metrics
        self._once = once
        self._entries = Entries(registrar, clock, metrics)
        self._settled: Settled = {}
        self._due = dict.fromkeys(inputs, 0.0)
        self._paused_until = 0.0
        self._looked = False
        self.running: dict[FileKey, Harvester] = {}
        self.problems: dict[str, str] = {}

    def step(self) -> None:
        """Take the watcher's hints, and scan the inputs whose time has come. Raises nothing about files."""
        while self._watcher.changed:
            harvester = self.running.get(self._watcher.changed.popleft())
            if harvester is not None:
                self._scheduler.wake(harvester)
        now = self._clock.monotonic()
        asked = self._watcher.stale and now >= self._paused_until
        if asked:
            self._watcher.stale = False
        due = [source for source, at in self._due.items() if asked or at <= now]
        for source in due:
            self._due[source] = NEVER if self._once else now + source.check_interval
            self._scan(source)
        if due and not self._looked:
            self._looked = True
            self._entries.tell_of_missing()
        if due:
            ended = self._clock.monotonic()
            self._paused_until = ended + max(SHORTEST_PAUSE, 10 * (ended - now))

    @property
    def scanned(self) -> bool:
        """With `once`: every input was scanned, and that was all there is to find."""
        return self._once and self.next_scan == NEVER

    @property
    def next_scan(self) -> float:
        """Monotonic time of the next scan that is due."""
        due = min(self._due.values(), default=NEVER)
        return min(due, self._paused_until) if self._watcher.stale else due

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
            "%s (file id %s) was truncated or rewritten: it has %d bytes now, %d were read; up to %d bytes from offset "
            "%d on may be lost; it is read again from its start as a new file",
            harvester.state.path, harvester.state.id, error.size, harvester.offset, lost, harvester.offset,
        )  # fmt: skip
        self.close(harvester, ended="truncated")
        self._watcher.stale = True

    def failed(self, harvester: Harvester, error: OSError) -> None:
        """A read was refused. The next scan tries again; with `once` there is none, and the file stays unfinished."""
        self._tell(harvester.state.path, f"cannot be read at offset {harvester.offset}: {error.strerror}")
        if self._once:
            self.close(harvester)

    def close(self, harvester: Harvester, ended: str | None = None) -> None:
        """Stop reading a file. Batches of it that are under way still move its position when they resolve."""
        if ended is not None:
            harvester.update(ended=ended)
        else:
            status = os.fstat(harvester.fd)
            if status.st_size > harvester.state.size_seen:
                harvester.update(size_seen=status.st_size)  # should it go before it is read on, this much is missed
            self._entries.keep(harvester.state)
            self._settled[harvester.key] = (harvester.read_to, status.st_mtime)
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
        for directory in listing.directories if not self._once else ():
            self._watcher.watch_directory(directory)
        for path, problem in listing.problems.items():
            self._tell(path, problem)
        decided = plan(listing, self.running, self._settled)
        for found in decided.renamed:
            self.running[found.key].update(path=found.path)
        for harvester in [h for h in self.running.values() if h.source.input_id == source.id]:
            self._look_after(harvester, source.close_inactive)
        self._start([self._open(source, found) for found in decided.open])

    def _start(self, opened: list[Harvester | None]) -> None:
        """New ids must be on disk before the first record is sent, and with `once` the cuts at the files' ends; one
        fsync serves all of them. What the registry had at the start need not wait: a full disk does not stop it.
        """
        fresh = []
        for harvester in filter(None, opened):
            if self._once or harvester.state.id not in self._registrar.states:
                fresh.append(harvester)
            else:
                self._registrar.note(harvester.state)
                self._scheduler.wake(harvester)
        if fresh:
            saved = self._registrar.save([harvester.state for harvester in fresh])
            for harvester in fresh:
                self._scheduler.hold(saved, harvester)

    def _look_after(self, harvester: Harvester, close_inactive: float) -> None:
        """The slow round: a write whose event was lost is found here, and a file that is over is closed."""
        status = os.fstat(harvester.fd)
        if status.st_size != harvester.read_to:
            # It was at its end when it was read last; what came since must be read before it may be closed.
            if not self._once:
                harvester.size = max(harvester.size, status.st_size)
                self._scheduler.wake(harvester)
        elif harvester.over and status.st_nlink == 0:
            self._close_removed(harvester, status.st_size)
        elif harvester.over and self._clock.monotonic() - harvester.read_at > close_inactive:
            self.close(harvester)

    def _close_removed(self, harvester: Harvester, size: int) -> None:
        lost = size - harvester.state.position
        if lost > 0:
            self._metrics.bytes_lost += lost
            logger.warning(
                "%s (file id %s) was removed; its last %d bytes, from offset %d on, were no complete message: lost",
                harvester.state.path, harvester.state.id, lost, harvester.state.position,
            )  # fmt: skip
        self.close(harvester, ended="removed")

    def _open(self, source: Input, found: Found) -> Harvester | None:
        try:
            fd = os.open(found.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            if not isinstance(error, FileNotFoundError):
                self._tell(found.path, f"cannot be opened: {error.strerror}")
            return None
        status = os.fstat(fd)
        if (status.st_dev, status.st_ino) != found.key:
            os.close(fd)  # another file took the path since it was listed; the next scan meets it
            self._watcher.stale = True
            return None
        try:
            state = self._entries.claim(fd, found, status.st_size, source.id)
        except OSError as error:
            os.close(fd)
            self._tell(found.path, f"cannot be read: {error.strerror}")
            return None
        self.problems.pop(found.path, None)
        if self._once and status.st_size > state.position:
            # What is unterminated there is sent as it is; a second reading must end a message at the same place.
            state = replace(state, cuts=(*state.cuts, status.st_size))
        harvester = source.open(fd, state, once=self._once)
        self.running[found.key] = harvester
        self._settled.pop(found.key, None)
        self._metrics.harvesters_started += 1
        return harvester

    def _tell(self, path: str, problem: str) -> None:
        """Say what is wrong with a path once, not at every scan."""
        if self.problems.get(path) != problem:
            self.problems[path] = problem
            logger.warning("%s: %s", path, problem)
