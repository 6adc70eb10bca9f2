"""Decides which open files are closed, and why. It works on the open descriptors, so it needs no scan.

Closing loses nothing that could still be read: a file is closed when its end was read and acknowledged. Only a deleted
file may be given up earlier, because its open descriptor keeps its space on disk: by `close.reader.after_interval` and
`close.removed.max_bytes`. What is given up is counted and logged.
"""

import heapq
import logging
from collections.abc import Callable, Container, Iterable, Mapping
from itertools import count

from log_shipper.config.shipper.model import CloseConfig
from log_shipper.registry.state import REMOVED
from log_shipper.runtime.logs.folding import EACH
from log_shipper.shipper.source.base import SourceContext, each
from log_shipper.shipper.source.discovery.spec import InputSpec
from log_shipper.shipper.source.discovery.watch import Watcher
from log_shipper.shipper.source.lifecycle.open_files import OpenFiles
from log_shipper.shipper.source.reading.harvester import Harvester

logger = logging.getLogger(__name__)

NEVER = float("inf")
SOON = 0.02  # seconds between two checks of files that are about to be closed
SPARE_TIMES = 1000  # of closed files that may be in the heap, and a fourth more


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
    """Used by the reading thread only. `wanted` returns how many files of each input wait to be opened."""

    def __init__(
        self,
        open_files: OpenFiles,
        watcher: Watcher,
        context: SourceContext,
        wanted: Callable[[], Mapping[str, int]],
        on_closed: Callable[[Harvester, str], None],
    ) -> None:
        self._open_files = open_files
        self._idle = open_files.idle
        self._removed = open_files.removed
        self._rules: dict[str, CloseConfig] = {}
        self._watcher = watcher
        self._clock = context.clock
        self._metrics = context.metrics
        self._wanted = wanted
        self._on_closed = on_closed
        self._once = context.once
        self._progressed = context.pulse.beat
        self._pipeline = context.pipeline
        self._timed: list[tuple[float, int, Harvester]] = []  # a heap: when to check which file
        self._max_timed = SPARE_TIMES
        self._number = count()  # harvesters cannot be compared
        self._refused: dict[Harvester, None] = {}  # could not be closed when they were to be
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
        if rules.reader.on_eof or harvester.content.compressed or self._once:
            self._idle.expect(harvester)

    def step(self) -> None:
        now = self._clock.monotonic()
        if now >= self._next_round:
            self._next_round = now + self._interval
            unwatched = [
                h for h in self._open_files.running.values() if not (h.is_removed or self._watcher.is_watched(h.key))
            ]
            for harvester in each(unwatched, self._progressed):
                self._open_files.look_for_removal(harvester)  # no event shows it
            refused, self._refused = self._refused, {}
            for harvester in refused:
                if harvester.is_open:
                    self._idle.expect(harvester)
        while self._timed and self._timed[0][0] <= now:
            self._take_turn(heapq.heappop(self._timed)[2], now)
            self._progressed()
        if now >= self._next_check and self._has_work:
            self._next_check = now + SOON
            for harvester in each(self._idle.take_changed(), self._progressed):
                self._decide(harvester, now)
            self._make_room(now)
        if now >= self._removed.next_look:
            self._keep_budgets(self._removed.look())

    def _make_room(self, now: float) -> None:
        """Close idle files for those that wait to be opened."""
        for input_id, wanted in self._wanted().items():
            idle = self._idle.take_idle(input_id)
            while wanted and (harvester := next(idle, None)) is not None:
                wanted -= not self._decide(harvester, now, wanted=True)
                self._progressed()

    @property
    def _has_work(self) -> bool:
        return self._idle.any_changed or bool(self._wanted())

    @property
    def next_step(self) -> float:
        """Monotonic time at which `step` has something to do."""
        timed = self._timed[0][0] if self._timed else NEVER
        soon = self._next_check if self._has_work else NEVER
        return min(self._next_round, timed, self._removed.next_look, soon)

    def _take_turn(self, harvester: Harvester, now: float) -> None:
        if self._open_files.running.get(harvester.key) is not harvester:
            return
        rules = self._rules_of(harvester)
        due = harvester.activity.read_at + rules.on_state_change.inactive
        if is_over_time(harvester, rules, now):
            self._idle.expect(harvester)
        elif due > now:
            self._schedule(harvester, due)
        elif self._decide(harvester, now):
            self._schedule(harvester, now + rules.on_state_change.check_interval)

    def _decide(self, harvester: Harvester, now: float, *, wanted: bool = False) -> bool:
        """Close the file if an option requires it; True if it stays open. `wanted`: another file waits for its
        place."""
        if self._open_files.running.get(harvester.key) is not harvester:
            return False
        rules = self._rules_of(harvester)
        why = why_close(harvester, rules, now, wanted=wanted)
        if why is not None:
            if self._close(harvester, why):
                return False
            self._refused[harvester] = None
        if harvester.is_removed and is_over_time(harvester, rules, now):
            self._give_up(harvester, "close.reader.after_interval")
            return False
        return True

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

    def _keep_budgets(self, grown: Iterable[str]) -> None:
        """Give up deleted files: all of those on a file system that is full, and those beyond the budget of an input,
        where they take more space than before."""
        for harvester in self._removed.on_devices(flooded) if (flooded := self._pipeline.flooded) else ():
            self._give_up(harvester, "queue.disk.watermark.flood")
        for input_id in grown:
            self._keep_budget(input_id)

    def _keep_budget(self, input_id: str) -> None:
        budget = self._rules[input_id].removed.max_bytes
        for harvester in self._removed.beyond(input_id, budget) if budget else ():
            self._give_up(harvester, "close.removed.max_bytes")

    def stop(self) -> None:
        """Count and log what is lost of deleted files because the agent is stopped: only their open descriptors reached
        it. What was sent and is not acknowledged may have been delivered."""
        for harvester in [removed for removed in self._removed if removed.is_proven]:
            position, size = harvester.state.position, max(harvester.content.size, harvester.offset)
            self._open_files.end(harvester, REMOVED)
            self._open_files.note_reported(harvester)
            if size > position:
                self._metrics.bytes_lost += size - position
                logger.warning(
                    "%s (file id %s) was removed before all of it was acknowledged, and the agent stops: %d bytes, "
                    "from offset %d to %d, are lost",
                    harvester.state.path,
                    harvester.state.id,
                    size - position,
                    position,
                    size,
                    extra=EACH,
                )

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
        self._open_files.end(harvester, REMOVED)

    def _rules_of(self, harvester: Harvester) -> CloseConfig:
        return self._rules[harvester.source.input_id]

    def _schedule(self, harvester: Harvester, when: float) -> None:
        if len(self._timed) > self._max_timed:  # some are of files that were closed, which would take memory
            self._timed = [item for item in self._timed if item[2].is_open]
            heapq.heapify(self._timed)
            self._max_timed = len(self._timed) * 5 // 4 + SPARE_TIMES
        heapq.heappush(self._timed, (when, next(self._number), harvester))
