"""Close open files, as `next_state` (transitions.py) decides. It works on open descriptors, so it needs no scan.

Closing loses nothing: a file is closed when it is read to its end and acknowledged, or is opened again at once
(`close.reader.after_interval`). Only a deleted file cannot be: it is closed before its end by that option,
`close.removed.max_bytes` and `queue.disk.watermark.flood`, because its open descriptor keeps its disk space. Such a
loss is counted and logged.
"""

import heapq
import logging
import os
from collections.abc import Callable, Container, Iterable, Mapping
from itertools import count

from log_shipper.runtime.logs.folding import EACH
from log_shipper.shipper.inputs.base import SourceContext, with_progress
from log_shipper.shipper.inputs.files.discovery.spec import InputSpec
from log_shipper.shipper.inputs.files.discovery.watch import Watcher
from log_shipper.shipper.inputs.files.lifecycle.open_files import OpenFiles
from log_shipper.shipper.inputs.files.lifecycle.transitions import (
    Effect,
    FileEvent,
    FileObservation,
    Next,
    To,
    is_over_time,
    next_state,
)
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.rotation_links import is_read_on
from log_shipper.shipper.inputs.files.reading.sighting import PathState
from log_shipper.shipper.options.model import CloseConfig

logger = logging.getLogger(__name__)

NEVER = float("inf")
SOON = 0.02  # seconds between two checks of files that are about to be closed
SPARE_TIMES = 1000  # closed files that the heap may contain, plus a quarter


class Closer:
    """The closing of files. Used by the reading thread only. `wanted` returns how many files of each input wait to be
    opened."""

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
        self._timed: list[tuple[float, int, Harvester]] = []  # a heap of files by the time of their next check
        self._max_timed = SPARE_TIMES
        self._number = count()  # harvesters cannot be compared
        self._refused: dict[Harvester, None] = {}  # could not be closed when they should have been
        self._next_check = 0.0
        self._next_round = NEVER
        self._interval = NEVER

    def update_rules(self, specs: Iterable[InputSpec]) -> None:
        self._rules |= {spec.id: spec.config.close for spec in specs}
        self._interval = min((rules.on_state_change.check_interval for rules in self._rules.values()), default=NEVER)
        self._next_round = min(self._next_round, self._clock.monotonic() + self._interval)

    def keep(self, input_ids: Container[str]) -> None:
        self._rules = {input_id: rules for input_id, rules in self._rules.items() if input_id in input_ids}

    def opened(self, harvester: Harvester) -> None:
        rules = self._rules_of(harvester)
        if rules.on_state_change.inactive:
            self._schedule(harvester, harvester.schedule.read_at + rules.on_state_change.inactive)
        if rules.reader.after_interval:
            self._schedule(harvester, harvester.opened_at + rules.reader.after_interval)
        if rules.reader.on_eof or harvester.content.compressed or self._once:
            harvester.is_leaving = True
            if harvester.finished:  # at its end already; any other file is read first
                self._idle.expect(harvester)

    def step(self) -> None:
        now = self._clock.monotonic()
        if now >= self._next_round:
            self._next_round = now + self._interval
            unwatched = [
                h for h in self._open_files.running.values() if not (h.is_removed or self._watcher.is_watched(h.key))
            ]
            for harvester in with_progress(unwatched, self._progressed):
                self._open_files.look_for_removal(harvester)  # no event shows it
            refused, self._refused = self._refused, {}
            for harvester in refused:
                if harvester.is_open:
                    self._idle.look_again(harvester)
                    self._idle.add(harvester)
        while self._timed and self._timed[0][0] <= now:
            self._take_turn(heapq.heappop(self._timed)[2], now)
            self._progressed()
        if now >= self._next_check and self._has_work:
            self._next_check = now + SOON
            for harvester in with_progress(self._idle.take_changed(), self._progressed):
                self._decide(harvester, now)
            self._make_room(now)
        if now >= self._removed.next_look:
            self._keep_budgets(self._removed.check_sizes())

    def _make_room(self, now: float) -> None:
        """Close idle files in favour of those that wait to be opened."""
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
        """Monotonic time of the next step."""
        timed = self._timed[0][0] if self._timed else NEVER
        soon = self._next_check if self._has_work else NEVER
        return min(self._next_round, timed, self._removed.next_look, soon)

    def _take_turn(self, harvester: Harvester, now: float) -> None:
        if self._open_files.running.get(harvester.key) is not harvester:
            return
        rules = self._rules_of(harvester)
        due = harvester.schedule.read_at + rules.on_state_change.inactive
        if is_over_time(rules, now - harvester.opened_at):
            self._idle.expect(harvester)
        elif due > now:
            self._schedule(harvester, due)
        elif self._decide(harvester, now):
            self._schedule(harvester, now + rules.on_state_change.check_interval)

    def _decide(self, harvester: Harvester, now: float, *, wanted: bool = False) -> bool:
        """Close the file if an option requires it. Return True if it stays open. `wanted`: another file waits for its
        place."""
        if not (harvester.settled or harvester.is_removed):
            return True  # as in the table; mostly it is asked once before all is acknowledged
        seen = self._look(harvester, now, wanted=wanted)
        decided = next_state(seen)
        if decided.to is not To.READING:
            try:
                status = self._look_closely(harvester, seen)
            except OSError:
                self._open_files.wake(harvester)  # its read reports it
                return True
            decided = next_state(seen)
            if decided.to is not To.READING:
                self._close(harvester, decided, status)
                return False
        if Effect.WAKE in decided.effects:
            self._open_files.wake(harvester)
        if decided.why:
            self._refused[harvester] = None
        return True

    def _look(self, harvester: Harvester, now: float, *, wanted: bool) -> FileObservation:
        deadline = harvester.message_deadline
        return FileObservation(
            rules=self._rules_of(harvester),
            idle_for=now - harvester.schedule.read_at,
            open_for=now - harvester.opened_at,
            at_end=harvester.at_end,
            is_over=harvester.over,
            awaits_timeout=(harvester.at_end or harvester.is_continued) and deadline is not None,
            is_settled=harvester.settled,
            is_finished=harvester.finished,
            is_complete=harvester.is_complete,
            is_compressed=harvester.content.compressed,
            has_left_its_path=harvester.has_left_its_path,
            moved_for=now - harvester.moved_at if harvester.path_state is PathState.MOVED else NEVER,
            is_removed=harvester.is_removed,
            is_read_on=is_read_on(harvester),
            wanted=wanted,
        )

    def _look_closely(self, harvester: Harvester, seen: FileObservation) -> os.stat_result:
        """Inspect a file that is about to be closed. It is watched first, so that no later write is missed."""
        if not seen.is_removed:
            self._open_files.watch(harvester)
        status = harvester.status()
        sighting = None if harvester.is_outside else harvester.sighting
        seen.is_touched = sighting is not None and sighting.shows_touch(status)
        may_grow = not seen.is_compressed and (seen.at_end or seen.is_removed)
        seen.has_grown = may_grow and harvester.has_changed(status)
        seen.has_rest = status.st_size - harvester.padding > harvester.read_to
        return status

    def _close(self, harvester: Harvester, decided: Next, status: os.stat_result) -> None:
        if Effect.COUNT in decided.effects:
            self._give_up(harvester, decided)
            return
        if Effect.COUNT_LINE in decided.effects:
            self._warn_of_incomplete(harvester, status.st_size - harvester.padding - harvester.state.position)
        self._open_files.leave(harvester, decided, status)
        if decided.ended is None:
            logger.debug("%s: closed (%s)", harvester.state.path, decided.why)
            self._on_closed(harvester, decided.why)

    def _warn_of_incomplete(self, harvester: Harvester, lost: int) -> None:
        if lost > 0:
            self._metrics.bytes_lost += lost
            logger.warning(
                f"{harvester.state.path} (file id {harvester.state.id}) was removed; its last {lost} bytes, from "
                f"offset {harvester.state.position}, are an incomplete message and are lost",
                extra=EACH,
            )

    def _keep_budgets(self, grown: Iterable[str]) -> None:
        """Close deleted files before their end: all on a file system that is full, and those beyond the budget of an
        input whose deleted files have grown."""
        flooded = self._pipeline.devices_over_flood_mark
        for harvester in self._removed.on_devices(flooded) if flooded else ():
            self._give_up(harvester, next_state(FileEvent.OVER_BUDGET)._replace(why="queue.disk.watermark.flood"))
        for input_id in grown:
            self._keep_budget(input_id)

    def _keep_budget(self, input_id: str) -> None:
        budget = self._rules[input_id].removed.max_bytes
        for harvester in self._removed.beyond(input_id, budget) if budget else ():
            self._give_up(harvester, next_state(FileEvent.OVER_BUDGET)._replace(why="close.removed.max_bytes"))

    def stop(self) -> None:
        """Count and log the loss of deleted files at a stop: only their open descriptors reach them. Data in flight may
        have been delivered."""
        for harvester in list(self._removed):
            unproven = harvester.unproven
            if unproven is not None and harvester.content.compressed:
                continue  # its position in the compressed bytes is not known yet
            position, size = harvester.state.position, self._size_of(harvester)
            lost = harvester.bytes_behind(position, size)
            self._open_files.leave(harvester, next_state(FileEvent.STOPPED_REMOVED))
            if unproven is None:
                self._open_files.note_reported(harvester)
            else:
                self._open_files.note_counted(unproven)
            if lost:
                self._metrics.bytes_lost += lost
                logger.warning(
                    f"{harvester.state.path} (file id {harvester.state.id}) was removed before all of it was "
                    f"acknowledged, and the agent is stopping: {_bytes_of(harvester, lost, position, size)} are lost",
                    extra=EACH,
                )

    def _give_up(self, harvester: Harvester, decided: Next) -> None:
        size = self._size_of(harvester)
        lost = harvester.bytes_behind(harvester.offset, size)
        self._metrics.bytes_lost += lost
        logger.warning(
            f"{harvester.state.path} (file id {harvester.state.id}) was removed and is closed before its end "
            f"({decided.why}): {_bytes_of(harvester, lost, harvester.offset, size)} were not read; its disk space is "
            "released",
            extra=EACH,
        )
        unproven = harvester.unproven
        self._open_files.leave(harvester, decided)
        if unproven is not None:
            self._open_files.note_counted(unproven)

    def _size_of(self, harvester: Harvester) -> int:
        """Return the size of a deleted file on disk, or that up to which it was read if it is shorter now. What was cut
        off before it is proven is lost, too."""
        size = self._removed.size_of(harvester)
        if harvester.content.compressed:
            return size
        return max(size, harvester.offset if harvester.is_proven else harvester.size)

    def _rules_of(self, harvester: Harvester) -> CloseConfig:
        return self._rules[harvester.source.input_id]

    def _schedule(self, harvester: Harvester, when: float) -> None:
        if len(self._timed) > self._max_timed:  # some belong to closed files, which would take memory
            self._timed = [item for item in self._timed if item[2].is_open]
            heapq.heapify(self._timed)
            self._max_timed = len(self._timed) * 5 // 4 + SPARE_TIMES
        heapq.heappush(self._timed, (when, next(self._number), harvester))


def _bytes_of(harvester: Harvester, lost: int, position: int, size: int) -> str:
    if harvester.content.compressed:
        return f"about {lost} of its {size} compressed bytes"
    return f"{lost} bytes, from offset {position} to {size},"
