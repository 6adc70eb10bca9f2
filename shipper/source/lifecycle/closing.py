"""Decides which open files are closed, and why. It works on the open descriptors, so it needs no scan.

Closing loses nothing that could still be read: a file is closed when its end was read and acknowledged. Only a deleted
file may be given up earlier, because its open descriptor keeps its space on disk: by `close.reader.after_interval` and
`close.removed.max_bytes`. What is given up is counted and logged.
"""

import heapq
import logging
from collections.abc import Callable, Container, Iterable
from itertools import count

from config.shipper.model import CloseConfig
from logs.folding import EACH
from registry.state import REMOVED
from shipper.source.base import SourceContext, each
from shipper.source.discovery.spec import InputSpec
from shipper.source.discovery.watch import Watcher
from shipper.source.lifecycle.open_files import OpenFiles
from shipper.source.reading.harvester import Harvester

logger = logging.getLogger(__name__)

NEVER = float("inf")
SOON = 0.02  # seconds between two checks of files that are about to be closed


def why_close(harvester: Harvester, rules: CloseConfig, now: float, *, wanted: bool) -> str | None:
    """Return the option by which the file is to be closed now, or None. A pure function. `wanted`: another file waits
    for its place."""
    change = rules.on_state_change
    if harvester.finished and harvester.settled:
        return "--once"
    # At its end, nothing else would end the pending message before the file grows again.
    ends_message = harvester.at_end and harvester.message_deadline is not None
    if harvester.settled and is_over_time(harvester, rules, now) and not ends_message:
        return "close.reader.after_interval"
    if not harvester.over:
        return None
    if harvester.is_complete:
        return "compression"
    if harvester.is_removed and change.removed:
        return "close.on_state_change.removed"
    if harvester.has_left_path and change.renamed:
        return "close.on_state_change.renamed"
    if rules.reader.on_eof:
        return "close.reader.on_eof"
    if 0 < change.inactive <= now - harvester.activity.read_at:
        return "close.on_state_change.inactive"
    return "harvester_limit" if wanted else None


def is_over_time(harvester: Harvester, rules: CloseConfig, now: float) -> bool:
    return 0 < rules.reader.after_interval <= now - harvester.opened_at


class Closer:
    """Used by the reading thread only. `wanted` returns True for an input of which files wait to be opened."""

    def __init__(
        self,
        open_files: OpenFiles,
        watcher: Watcher,
        context: SourceContext,
        wanted: Callable[[str], bool],
        on_closed: Callable[[Harvester, str], None],
    ) -> None:
        self._open_files = open_files
        self._rules: dict[str, CloseConfig] = {}
        self._watcher = watcher
        self._clock = context.clock
        self._metrics = context.metrics
        self._wanted = wanted
        self._on_closed = on_closed
        self._once = context.once
        self._progressed = context.progressed
        self._flooded = context.flooded
        self._timed: list[tuple[float, int, Harvester]] = []  # a heap: when to check which file
        self._number = count()  # harvesters cannot be compared
        self._attended: dict[Harvester, None] = {}
        self._next_check = 0.0
        self._next_round = NEVER
        self._interval = NEVER

    def learn(self, specs: Iterable[InputSpec]) -> None:
        self._rules |= {spec.id: spec.config.close for spec in specs}
        self._interval = min((rules.on_state_change.check_interval for rules in self._rules.values()), default=NEVER)
        self._next_round = min(self._next_round, self._clock.monotonic() + self._interval)

    def keep(self, input_ids: Container[str]) -> None:
        self._rules = {input_id: rules for input_id, rules in self._rules.items() if input_id in input_ids}

    def opened(self, harvester: Harvester) -> None:
        rules = self._rules_of(harvester)
        if rules.on_state_change.inactive:
            self._schedule(harvester, harvester.activity.read_at + rules.on_state_change.inactive)
        if rules.reader.after_interval:
            self._schedule(harvester, harvester.opened_at + rules.reader.after_interval)
        if self._is_special(harvester, rules) or self._wanted(harvester.source.input_id):
            self.attend(harvester)

    def attend(self, harvester: Harvester) -> None:
        """Check the file often: it may soon be closed."""
        self._attended[harvester] = None

    def step(self) -> None:
        now = self._clock.monotonic()
        if now >= self._next_round:
            self._next_round = now + self._interval
            unwatched = [h for h in self._open_files.running.values() if not self._watcher.is_watched(h.key)]
            for harvester in each(unwatched, self._progressed):
                self.look_for_removal(harvester)  # no event shows it
        while self._timed and self._timed[0][0] <= now:
            self._take_turn(heapq.heappop(self._timed)[2], now)
            self._progressed()
        if self._attended and now >= self._next_check:
            self._next_check = now + SOON
            for harvester in each(list(self._attended), self._progressed):
                self._decide(harvester, now)
            self._keep_budget()

    @property
    def next_step(self) -> float:
        """Monotonic time at which `step` has something to do."""
        timed = self._timed[0][0] if self._timed else NEVER
        return min(self._next_round, timed, max(self._next_check, self._clock.monotonic()) if self._attended else NEVER)

    def left_paths(self, harvester: Harvester) -> None:
        """Note that a survey did not find the file: it was renamed, or removed."""
        harvester.left_paths()
        self.look_for_removal(harvester)

    def look_for_removal(self, harvester: Harvester) -> None:
        """Check whether the file was removed, after a hint of the watch or a scan: its descriptor shows it for sure."""
        harvester.look_for_removal()
        if harvester.has_left_path:
            self.attend(harvester)

    def _take_turn(self, harvester: Harvester, now: float) -> None:
        if self._open_files.running.get(harvester.key) is not harvester:
            return
        rules = self._rules_of(harvester)
        due = harvester.activity.read_at + rules.on_state_change.inactive
        if is_over_time(harvester, rules, now):
            self.attend(harvester)
        elif due > now:
            self._schedule(harvester, due)
        elif self._decide(harvester, now):
            self._schedule(harvester, now + rules.on_state_change.check_interval)

    def _decide(self, harvester: Harvester, now: float) -> bool:
        """Close the file if an option requires it; True if it stays open."""
        if self._open_files.running.get(harvester.key) is not harvester:
            self._attended.pop(harvester, None)
            return False
        rules = self._rules_of(harvester)
        wanted = self._wanted(harvester.source.input_id)
        why = why_close(harvester, rules, now, wanted=wanted)
        if why is not None and self._close(harvester, why):
            self._attended.pop(harvester, None)
            return False
        if harvester.is_removed and is_over_time(harvester, rules, now):
            self._give_up(harvester, "close.reader.after_interval")
            return False
        if not (self._is_special(harvester, rules) or wanted or is_over_time(harvester, rules, now)):
            self._attended.pop(harvester, None)
        return True

    def _is_special(self, harvester: Harvester, rules: CloseConfig) -> bool:
        """True if the file is to be closed as soon as nothing of it is in flight."""
        return bool(harvester.has_left_path or rules.reader.on_eof or harvester.content.compressed or self._once)

    def _close(self, harvester: Harvester, why: str) -> bool:
        if harvester.is_removed:
            return self._close_removed(harvester, why)
        if not self._open_files.close(harvester):
            return False
        logger.debug("%s: closed (%s)", harvester.state.path, why)
        self._on_closed(harvester, why)
        return True

    def _close_removed(self, harvester: Harvester, why: str) -> bool:
        size = harvester.status().st_size - harvester.padding
        if harvester.content.compressed:
            if not harvester.is_complete:
                self._give_up(harvester, why)
                return True
        else:
            if size > harvester.read_to and why == "close.reader.after_interval":
                self._give_up(harvester, why)
                return True
            if harvester.has_changed(harvester.status()):
                self._open_files.wake(harvester)  # its writer still has it open, or truncated it before it was deleted
                return False
            self._warn_of_incomplete(harvester, size - harvester.state.position)
        self._open_files.end(harvester, REMOVED)
        return True

    def _warn_of_incomplete(self, harvester: Harvester, lost: int) -> None:
        if lost > 0:
            self._metrics.bytes_lost += lost
            logger.warning(
                "%s (file id %s) was removed; its last %d bytes, from offset %d on, were not a complete message and "
                "are lost",
                harvester.state.path,
                harvester.state.id,
                lost,
                harvester.state.position,
                extra=EACH,
            )

    def _keep_budget(self) -> None:
        """Give up deleted files, those opened first, until the others fit into their input's budget; all of those on a
        file system that is full."""
        kept: dict[str, int] = {}
        flooded = self._flooded()
        for harvester in sorted(self._attended, key=lambda attended: -attended.opened_at):
            if harvester.is_removed and self._open_files.running.get(harvester.key) is harvester:
                input_id, size = harvester.source.input_id, harvester.status().st_size
                if flooded and harvester.status().st_dev in flooded:
                    self._give_up(harvester, "queue.disk.watermark.flood")
                    continue
                kept[input_id] = kept.get(input_id, 0) + size
                if 0 < self._rules_of(harvester).removed.max_bytes < kept[input_id]:
                    kept[input_id] -= size
                    self._give_up(harvester, "close.removed.max_bytes")

    def _give_up(self, harvester: Harvester, option: str) -> None:
        size = harvester.content.size
        lost = max(size - harvester.offset, 0)
        self._metrics.bytes_lost += lost
        logger.warning(
            "%s (file id %s) was removed and is given up (%s): %d bytes, from offset %d to %d, were not read; its "
            "space on disk is free now",
            harvester.state.path,
            harvester.state.id,
            option,
            lost,
            harvester.offset,
            size,
            extra=EACH,
        )
        self._attended.pop(harvester, None)
        self._open_files.end(harvester, REMOVED)

    def _rules_of(self, harvester: Harvester) -> CloseConfig:
        return self._rules[harvester.source.input_id]

    def _schedule(self, harvester: Harvester, when: float) -> None:
        heapq.heappush(self._timed, (when, next(self._number), harvester))
