"""Run the inputs of files: find, open, read and close files, following the table in lifecycle/transitions.py."""

import logging
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from log_shipper.shipper.errors import Truncated
from log_shipper.shipper.event import Batch
from log_shipper.shipper.inputs.base import SourceContext, SourceStatus, with_progress
from log_shipper.shipper.inputs.files.discovery.problems import FileProblems
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, FileKey, key_of
from log_shipper.shipper.inputs.files.discovery.survey import Survey
from log_shipper.shipper.inputs.files.discovery.watch import Watcher
from log_shipper.shipper.inputs.files.identity.entries import RegistryEntries
from log_shipper.shipper.inputs.files.identity.opened_file import OpenedFile
from log_shipper.shipper.inputs.files.identity.possibly_lost import report_truncation
from log_shipper.shipper.inputs.files.lifecycle.cleaning import Cleaning
from log_shipper.shipper.inputs.files.lifecycle.closing import Closer
from log_shipper.shipper.inputs.files.lifecycle.copy_detector import CopyDetector
from log_shipper.shipper.inputs.files.lifecycle.deletion import Deletions
from log_shipper.shipper.inputs.files.lifecycle.input_swap import InputSwap
from log_shipper.shipper.inputs.files.lifecycle.intake import FileIntake
from log_shipper.shipper.inputs.files.lifecycle.last_reading import LastReading
from log_shipper.shipper.inputs.files.lifecycle.open_files import OpenFiles
from log_shipper.shipper.inputs.files.lifecycle.resolver import FileResolver
from log_shipper.shipper.inputs.files.lifecycle.starting import HarvesterStarter, IgnoreRules, OpenLimits
from log_shipper.shipper.inputs.files.lifecycle.touches import TouchedFiles
from log_shipper.shipper.inputs.files.lifecycle.transitions import Effect, Failed, find_moved, next_state, to_open
from log_shipper.shipper.inputs.files.lifecycle.unopened import report_unopened
from log_shipper.shipper.inputs.files.reading.batch_reader import BatchReader, ReadError, ReadHooks
from log_shipper.shipper.inputs.files.reading.factory import ActiveInputs, Input
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.pending_bytes import PendingBytes
from log_shipper.shipper.inputs.files.reading.scheduler import Scheduler
from log_shipper.shipper.inputs.files.reading.waiting_sizes import WaitingSizes, look_at_waiting
from log_shipper.shipper.inputs.observation import Observation
from log_shipper.shipper.reader.gzip_file import CompressionError

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CrawlerOptions:
    """`first_start`: unix time of the agent's first start; `read_interval` and `pending_bytes`: the options of these
    names; `max_open_files`: maximum number of open files."""

    first_start: float = 0.0
    read_interval: float = 0.023
    pending_bytes: int = 2**31
    max_open_files: int = 2**31


class Crawler:
    """Used by the reading thread only."""

    def __init__(
        self,
        inputs: list[Input],
        watcher: Watcher,
        context: SourceContext,
        options: CrawlerOptions | None = None,
    ) -> None:
        options = options or CrawlerOptions()
        once, registrar, clock, metrics = context.once, context.registrar, context.clock, context.metrics
        self._inputs = ActiveInputs(inputs)
        specs = self._inputs.specs
        # With `once`, a file is read to its end before the next one, so that lines arrive oldest first.
        self.scheduler = scheduler = Scheduler(watcher, clock, options.read_interval, one_by_one=once)
        self._watcher, self._context = watcher, context
        self._clock, self._metrics, self._once = clock, metrics, once
        self.problems = FileProblems()
        entries = [state for state in registrar.states.values() if not state.kind]
        self._survey = Survey(specs.values(), watcher, self.problems, context)
        self._entries = RegistryEntries(entries, registrar, clock, metrics, specs)
        files = OpenFiles(self._entries, scheduler, watcher, context, self._survey.file, self._close_file)
        self.open_files, self.files, self.running = files, files.files, files.running
        pending = PendingBytes(options.pending_bytes, metrics, clock)
        hooks = ReadHooks(self.read_failed, self.reached_end)
        self._reading = BatchReader(scheduler, registrar, pending, self.running, context.pipeline.takes_more, hooks)
        self.read = self._reading.read
        self._copies = CopyDetector(clock, files, self.problems.report_read)
        self._resolver = FileResolver(files, self._entries, self._copies, self.problems.of_file, context)
        self._touches = TouchedFiles(self.open_files, self._survey, context)
        self._deletions = Deletions(registrar, clock, metrics, self._is_read_by_all)
        limits = self._open_limits = OpenLimits(self.files, options.max_open_files, self._entries.inherited)
        self._closer = Closer(files, watcher, context, lambda: limits.wanted, self._deletions.closed)
        for rule in (rules := (limits, self._deletions, self._closer)):
            rule.update_rules(specs.values())
        self._deletions.restore_names(entries)
        ignoring = IgnoreRules(clock, options.first_start)
        starter = HarvesterStarter(self._inputs, files, self._closer, self._reading, ignoring, context)
        self._intake = FileIntake(specs, self._survey, self._resolver, self._open_limits, starter, context)
        self._input_swap = InputSwap(self._inputs, self._survey, files, self._reading, self._resolver, rules)
        self._last_reading = LastReading(self.open_files, self._reading, clock)
        self._cleaning = Cleaning(self._entries, registrar, clock, specs)
        self._due = 0.0
        look = partial(look_at_waiting, self._reading.may_release, files.count_trimmed, self.read_failed)
        self._sizes = WaitingSizes(clock, look)

    @property
    def finished(self) -> bool:
        # The cheap checks come first: checking ten thousand files at every step took most of the time.
        if not self._survey.done or self._open_limits.any_wanted or self.scheduler.busy:
            return False
        return all(harvester.finished and harvester.settled for harvester in self.running.values())

    def next_wake(self, *, reading: bool) -> float:
        if self._may_be_due:  # reading does not change what was due later
            steps = self._closer.next_step, self._copies.next_check, self._deletions.next_step, self._cleaning.next_step
            self._due = min(self._survey.next_step, *steps)
        longest = max(min(self._due, self._survey.next_step) - self._clock.monotonic(), 0.0)
        return min(longest, self._reading.next_read) if reading else longest

    def status(self) -> SourceStatus:
        running = self.running.values()
        reading = [harvester for harvester in running if not harvester.finished]
        ends = ((harvester, max(harvester.size, harvester.read_to)) for harvester in running)  # of pending messages too
        waiting, bytes_waiting = self._open_limits.waiting
        return SourceStatus(
            files_open=len(running),
            reading=len(reading),
            unsettled=sum(harvester.finished and not harvester.settled for harvester in running),
            waiting=waiting,
            bytes_waiting=bytes_waiting,
            bytes_behind=sum(max(end - harvester.state.position, 0) for harvester, end in ends),
            is_size_known=not any(harvester.content.compressed for harvester in reading),
            problems=self.problems.now,
        )

    def observe(self) -> Observation:
        """Return the figures for the monitor. Any thread may call it: each copy is a single call that nothing
        interrupts."""
        waiting, bytes_waiting = self._open_limits.waiting
        return Observation(
            running=list(self.running.values()),
            draining=[draining.harvester for draining in self.files.draining.copy().values()],
            open_of_input=dict(self.files.running_of),
            waiting=waiting,
            bytes_waiting=bytes_waiting,
            problems=self.problems.unreadable,
            watches=self._watcher.watches,
            fallbacks=self._watcher.fallbacks,
            reads=self._reading.reads,
        )

    def step(self) -> None:
        """Handle the watcher's hints, run due scans, open and close files. Raises nothing about files."""
        changed = self._take_hints()
        self._sizes.check(self._reading.waiting(all_of_them=not self._context.pipeline.has_room))
        if not changed and not self._may_be_due:
            return
        self._due = 0.0  # at the end of the loop's step it is known again
        drained = self.open_files.step()
        self._survey.look_again(drained)
        if self._input_swap.step():
            self._survey.request_scan()  # shows which input has the entries now
        if self._survey.step():
            self._after_survey()
        elif changed or drained or self._copies.next_check <= self._clock.monotonic():
            self._open(self._with_new_data([*changed, *drained]))
        self._closer.step()
        if self._open_limits.any_wanted:
            self._intake.fill_places()
        self._deletions.step(self._intake.read_removed)
        self._cleaning.step()

    @property
    def _may_be_due(self) -> bool:
        """Return False if there is nothing to do but read: skip the step's checks for a single new line."""
        return bool(
            self._survey.next_step <= self._clock.monotonic()
            or self.open_files.any_to_look_at
            or self.open_files.idle.any_changed
            or self._input_swap.any_leaving
            or self._open_limits.any_wanted
            or self._due <= self._clock.monotonic()
        )

    def unread(self, input_ids: Collection[str]) -> set[str]:
        return set(self.files.unread(input_ids, self._survey.candidates))

    def shared(self) -> set[str]:
        """Return the ids of inputs whose files another input also reads."""
        candidates = self._survey.candidates
        readers = Counter(key[1:] for key in candidates)
        return {key[0] for key in candidates if readers[key[1:]] > 1}

    def replace_inputs(self, inputs: list[Input]) -> None:
        """Read these inputs from now on. An unchanged input is the same object."""
        self._input_swap.replace(inputs)
        self._after_survey()
        self._due = 0.0

    def read_to_end(self, longest: float) -> bool:
        """Implement ReadsToEnd (base.py)."""
        if self._last_reading.begins(self._inputs.specs.values(), longest):
            self._survey.scan_now(full=True)
            self._open_limits.forget_others(self._last_reading.inputs or ())
            self._after_survey()
        waits = self._input_swap.any_leaving or self.files.suspects or self._open_limits.any_wanted
        return self._last_reading.step(may_open_more=bool(waits) or self._survey.wants_scan)

    def stop(self) -> None:
        self._last_reading.report()
        self._closer.stop()
        draining = (draining.harvester for draining in self.files.draining.values())
        if any(not harvester.settled for harvester in (*self.running.values(), *draining)):
            logger.warning("stopped with unacknowledged events; they will be sent again after the next start")
        self.open_files.stop()
        self._metrics.bytes_lost += self._copies.close()

    def read_failed(self, harvester: Harvester, error: ReadError) -> Batch | None:
        """Return the pending message, unless it is read elsewhere."""
        decided, batch, again = next_state(Failed(error)), None, None
        if Effect.SCAN in decided.effects:
            self._look_for_copy(harvester)
            if not harvester.is_open:
                return None  # the scan has shown that it has ended
        if Effect.REPORT in decided.effects:
            self._report(harvester, error)
        if Effect.COUNT in decided.effects and isinstance(error, Truncated):
            batch = self._last_message(harvester, error)
        if Effect.IDENTIFY in decided.effects:
            again = self._reopened(harvester)
        if Effect.SCAN in decided.effects:
            self.files[harvester.key].is_fresh = True
            self._survey.request_scan([harvester.key])  # if it waits, its old size must not count as lost
        unproven = harvester.unproven_as_seen()
        self.open_files.leave(harvester, decided)
        if again is not None:  # else no input includes it any more
            self._intake.identify_again(again, unproven)
        return batch

    def _look_for_copy(self, harvester: Harvester) -> None:
        """Find the copy of a truncated file that may have been made just before the truncation."""
        self._metrics.files_truncated += 1
        if self._survey.wants_scan and not self._once:
            self.scheduler.wake(harvester)  # so that it is checked as a rewritten original
            self._survey.scan_now()
            self._after_survey()
            self._due = 0.0

    def _last_message(self, harvester: Harvester, error: Truncated) -> Batch | None:
        """Return the pending message as far as it was read, unless a copy of the file has the rest. Otherwise count and
        log the loss."""
        size = max(harvester.size, harvester.read_to)
        harvester.copied = self._copies.copied_to(harvester.state, harvester.key, size)
        batch, copied = None, min(harvester.copied, size)
        with suppress(OSError):  # what cannot be ended counts as unread
            batch = None if copied > harvester.offset else harvester.end_message()
        harvester.look_for_removal(harvester.state.path)
        unread, outside = range(harvester.offset, size), harvester.is_outside
        self._metrics.bytes_lost += report_truncation(harvester.state, error.size, unread, copied, is_outside=outside)
        return batch

    def _reopened(self, harvester: Harvester) -> OpenedFile | None:
        """Return the file to be identified again, because it is not what it was taken for."""
        spec = self._inputs.specs.get(harvester.source.input_id)
        try:
            return self._resolver.reopen(harvester.state.path, harvester.fd, spec, harvester.unproven) if spec else None
        except OSError as error:
            self._report(harvester, error)
            return None

    def _report(self, harvester: Harvester, error: ReadError) -> None:
        """Show why a file cannot be read. The next scan tries again; with `once`, the file stays unfinished."""
        path = harvester.state.path
        if isinstance(error, CompressionError):
            self.problems.of_file(path, str(error))
        elif isinstance(error, OSError):
            self.problems.report_read(path, f"cannot be read at offset {harvester.offset}: {error.strerror}")

    def reached_end(self, harvester: Harvester) -> None:
        """Note that the file was read to its current end."""
        self.problems.report_read(harvester.state.path, None)
        self.open_files.reached_end(harvester)

    def _is_read_by_all(self, input_id: str, scanned: ScannedFile) -> bool:
        return self.files.is_read_by_all(input_id, scanned, self._inputs.specs, self._survey.candidates)

    def _close_file(self, harvester: Harvester) -> None:
        self._reading.wake(self._reading.rotation_links.closed(harvester))

    def _take_hints(self) -> list[FileKey]:
        """Wake the open files with new data; return the other files with new data."""
        changed = []
        for key in self._watcher.take_changed():
            if (harvester := self.running.get(key)) is not None:
                self.scheduler.wake(harvester)
            elif self.files.state(key) is not None:
                changed.append(key)
        self._survey.look_again(changed)
        self._open_limits.note_growth(changed, self._survey.candidates)
        return changed

    def _with_new_data(self, changed: list[FileKey]) -> list[Candidate]:
        known = self._survey.candidates
        return self._input_swap.allowed(to_open({key: known[key] for key in changed if key in known}, self.files))

    def _after_survey(self) -> None:
        candidates = self._survey.candidates
        self.open_files.forget_missing(candidates)
        closed = self.files.to_open_again
        unwatched = [key for key in closed if not self._watcher.is_watched(key)] + self._watcher.partly_watched(closed)
        self._resolver.find_written_over(unwatched, candidates)
        self._survey.look_again({*unwatched, *self._touches.closed, *self._open_limits.take_files_to_inspect()})
        self._touches.step()
        self.open_files.end_renamed(candidates)
        wanted = self._input_swap.allowed(to_open(candidates, self.files))
        renamed, missing = find_moved(candidates, self.files)
        previous_paths = {(h.key[0], h.state.path): h.key for h in [*(h for h, _ in renamed), *missing]}
        for harvester, file in renamed:
            if self.open_files.was_truncated(harvester):
                continue  # ends with its previous path, by which its copy is recognised
            if file.path != harvester.state.path:
                self._reading.rotation_links.note_renamed(harvester, harvester.state.path, file.path)
            self.open_files.renamed(harvester, file.path)
        entries = self._entries.renamed(candidates)
        self._intake.surveyed(previous_paths | {(state.input, state.path): key_of(state) for state in entries})
        for harvester in with_progress(missing if not self._once else (), self._context.pulse.beat):
            if self.open_files.left_paths(harvester) and self._survey.may_continue(harvester.state.path):
                self._reading.rotation_links.note_left_paths(harvester)
        if not self._once:
            vanished, is_inaccessible = self._resolver.take_vanished(), self.problems.is_inaccessible
            if unopened := self._open_limits.renew(candidates, vanished, is_inaccessible):
                self._reading.rotation_links.note_missed()
                report_unopened(unopened, candidates, self.files.with_state, self._entries, self._metrics)
                self._resolver.check_replaced(unopened, candidates)
            self.open_files.wake_unwatched(all_of_them=self._survey.was_full_scan)
            for harvester in self._reading.rotation_links.waited_for:
                self.scheduler.wake(harvester)
        if self._context.inputs.knows_all:
            self._entries.expire_missing(
                candidates,
                self._survey.present,
                self.problems.is_inaccessible,
                self.files.identified,
                once=self._once,
            )
        self._survey.pause()
        self._open(wanted)
        for state in with_progress(entries, self._context.pulse.beat):
            self._resolver.note_path(state, candidates[key_of(state)])

    def _open(self, wanted: list[Candidate]) -> None:
        self._intake.open([candidate for candidate in wanted if self._last_reading.may_open(candidate)])
