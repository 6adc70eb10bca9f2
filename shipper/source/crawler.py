"""Finds the files of the inputs, opens them, and ends what is over: `plan` and `Closer` decide, this carries it out."""

from registry.registrar import Registrar
from registry.state import TRUNCATED
from shipper.clock import Clock
from shipper.errors import Disproved, Truncated
from shipper.event import Batch
from shipper.metrics import Metrics
from shipper.reader.gzip_file import CompressionError
from shipper.source.discovery.problems import Problems
from shipper.source.discovery.scanner import FileKey
from shipper.source.discovery.survey import Survey, Wanted
from shipper.source.discovery.watch import Watcher
from shipper.source.identity.copy_detector import Copies
from shipper.source.identity.entries import Entries
from shipper.source.identity.resolver import Opener
from shipper.source.lifecycle.cleaning import Cleaning
from shipper.source.lifecycle.closing import Closer
from shipper.source.lifecycle.deletion import Deletions
from shipper.source.lifecycle.ignoring import Ignoring
from shipper.source.lifecycle.input_swap import Exchange
from shipper.source.lifecycle.intake import Intake
from shipper.source.lifecycle.open_files import Fleet
from shipper.source.lifecycle.plan import MOVED, RENAMED, plan
from shipper.source.lifecycle.renaming import end_renamed
from shipper.source.lifecycle.starting import Launcher, Places
from shipper.source.lifecycle.truncation import last_message
from shipper.source.lifecycle.unwatched import wake_unwatched
from shipper.source.reading.factory import Input
from shipper.source.reading.harvester import Harvester
from shipper.source.reading.scheduler import Scheduler
from shipper.source.reading.succession import Succession


class Crawler:
    """Used by the reading thread only."""

    def __init__(
        self, inputs: list[Input], registrar: Registrar, scheduler: Scheduler, watcher: Watcher, clock: Clock,
        metrics: Metrics, *, once: bool = False, first_start: float = 0.0, most_open: int = 2**31,
    ) -> None:  # fmt: skip
        """`first_start`: unix time at which the agent ran first; `most_open`: files that may be open at once."""
        self._inputs = {source.id: source for source in inputs}
        self._scheduler = scheduler
        self._watcher = watcher
        self._clock = clock
        self._metrics = metrics
        self._once = once
        self.problems = Problems()
        self._succession = Succession()
        self._survey = Survey(inputs, watcher, clock, self.problems, once=once)
        self._entries = Entries(registrar, clock, metrics, self._inputs)
        self.fleet = Fleet(self._entries, scheduler, watcher, metrics, self._survey.found, self._shut)
        self._copies = Copies(clock, self.fleet.ending, self.fleet.state_of, self.fleet.rewritten)
        self._opener = Opener(self._entries, self._copies, self.problems.of_file, self.running, once=once)
        self._deletions = Deletions(registrar, clock, metrics, {each.id: each.config.delete for each in inputs})
        limits = {each.id: each.config.harvester_limit for each in inputs}
        self._places = Places(self.fleet, limits, most_open, self._copies.held)
        rules = {each.id: each.config.close for each in inputs}
        self._closer = Closer(
            self.fleet, rules, watcher, clock, metrics, self._places.is_wanted, self._deletions.closed, once=once
        )
        launcher = Launcher(
            self.fleet, self._closer, self._succession, Ignoring(clock, first_start), registrar, scheduler, once=once
        )  # fmt: skip
        self._intake = Intake(
            self._inputs, self._survey, self._entries, self._copies, self._opener, self._places, launcher, watcher,
            self.problems.of_read, once=once,
        )  # fmt: skip
        self._deletions.read_on = self._intake.take_removed
        self._exchange = Exchange(
            self._inputs, self._survey, self.fleet, scheduler, self._places, self._closer, self._deletions,
            self._copies, self.problems,
        )  # fmt: skip
        self._cleaning = Cleaning(self._entries, registrar, clock, self._inputs)

    @property
    def running(self) -> dict[FileKey, Harvester]:
        return self.fleet.running

    @property
    def scanned(self) -> bool:
        """With `once`: all files that there are were opened."""
        return self._survey.done and not self._places.any_wanted

    @property
    def next_step(self) -> float:
        """Monotonic time at which `step` has something to do by itself."""
        return min(
            self._survey.next_step, self._closer.next_step, self._copies.next_look, self._deletions.next_step,
            self._cleaning.next_step,
        )  # fmt: skip

    @property
    def waiting(self) -> tuple[int, int]:
        return self._places.waiting

    @property
    def bytes_behind(self) -> int:
        """Bytes of the running files that are not acknowledged yet, by the sizes seen last."""
        return sum(max(h.size - h.state.position, 0) for h in self.running.values())

    def step(self) -> None:
        """Take the watcher's hints, scan what is due, open and close files. Raises nothing about files."""
        changed = self._take_hints()
        settled = self.fleet.step()
        if self._exchange.step():
            self._watcher.stale = True  # a survey tells who has them now
        if self._survey.step():
            self._after_survey()
        elif changed or settled or self._copies.next_look <= self._clock.monotonic():
            self._open(self._with_news(changed))
        self._closer.step()
        if self._places.any_wanted:
            self._intake.fill_places()
        self._deletions.step()
        self._cleaning.step()

    def replace_inputs(self, inputs: list[Input]) -> None:
        """Read these from now on. What was made from the same configuration is given as the same object."""
        self._exchange.replace(inputs)
        self._after_survey()

    def stop(self) -> None:
        self.fleet.stop()
        self._copies.close()

    def truncated(self, harvester: Harvester, error: Truncated) -> Batch | None:
        """The file's life has ended; what it holds now is a new file, read from its start. Returns the message that
        was under way, as far as it was read, unless a copy of the file has the rest."""
        if isinstance(error, Disproved):
            self._is_another(harvester)
            return None
        self._metrics.files_truncated += 1
        if self._watcher.stale and not self._once:
            self._scheduler.wake(harvester)  # so that it is looked at as an original that was rewritten
            self._survey.make_haste()  # a copy may have been made just before
            self._after_survey()
        batch = last_message(harvester, error, self._copies, self._metrics)
        self._opener.reborn.add(harvester.key)
        self.fleet.end(harvester, TRUNCATED)
        self._watcher.stale = True
        return batch

    def _is_another(self, harvester: Harvester) -> None:
        """It does not hold what was shipped of the file for which it was taken."""
        source, unproven = self._inputs.get(harvester.source.input_id), harvester.unproven
        try:
            path, fd = harvester.state.path, harvester.fd
            opened = self._opener.again(path, fd, source, unproven) if source is not None else None
        except OSError as error:
            self.failed(harvester, error)
            return
        self.fleet.put_down(harvester, until_news=False)
        if opened is not None and unproven is not None:  # else nobody asks for it any more
            self._intake.take_again(opened, unproven)

    def failed(self, harvester: Harvester, error: OSError) -> None:
        """A read was refused: the next scan tries again. With `once` there is none, and the file stays unfinished."""
        self.problems.of_read(harvester.state.path, f"cannot be read at offset {harvester.offset}: {error.strerror}")
        self.fleet.put_down(harvester, until_news=False)

    def damaged(self, harvester: Harvester, error: CompressionError) -> None:
        """Its compressed data end here; all before was read."""
        self.problems.of_file(harvester.state.path, str(error))
        self.fleet.put_down(harvester, until_news=True)

    def waits_for(self, harvester: Harvester) -> Harvester | None:
        """The file that must be read first, because a message of it may go on in this one."""
        return self._succession.waits_for(harvester)

    def at_end(self, harvester: Harvester) -> None:
        """All that the file holds now was read: a message under way may go on in the next file, or that one need not
        wait any longer."""
        self.problems.of_read(harvester.state.path, None)
        self._wake(self._succession.at_end(harvester))

    def parted(self, harvester: Harvester) -> None:
        """A message that went on in the next file has ended."""
        self._wake(self._succession.forget(harvester))

    def _shut(self, harvester: Harvester) -> None:
        self._wake(self._succession.closed(harvester))

    def _wake(self, harvester: Harvester | None) -> None:
        if harvester is not None:
            self._scheduler.wake(harvester)

    def _take_hints(self) -> list[FileKey]:
        """Wakes the open files that have news; the others that have."""
        changed = []
        while self._watcher.changed:
            key = self._watcher.changed.popleft()
            harvester = self.running.get(key)
            if harvester is not None:
                self._scheduler.wake(harvester)
            elif key in self.fleet.closed or key in self._copies.held:
                changed.append(key)
        self._survey.look_again(changed)
        return changed

    def _with_news(self, changed: list[FileKey]) -> list[Wanted]:
        found = {key: self._survey.found[key] for key in changed if key in self._survey.found}
        return plan(found, self.running, self.fleet.closed, self._held).open

    @property
    def _held(self) -> set[FileKey]:
        return {*self._copies.held, *self.fleet.draining_keys, *self._exchange.held}

    def _after_survey(self) -> None:
        found = self._survey.found
        self.fleet.forget_missing(found)
        self._opener.forget_missing(found)
        self._survey.look_again([key for key in self.fleet.closed if not self._watcher.is_watched(key)])
        end_renamed(found, self.fleet, self._entries)
        decided = plan(found, self.running, self.fleet.closed, self._held)
        went = [*(harvester for harvester, _ in decided.renamed), *decided.gone]
        self._intake.former = {harvester.state.path: harvester.key for harvester in went}
        for harvester, file in decided.renamed:
            self._succession.renamed(harvester, harvester.state.path)
            harvester.gone = RENAMED
            harvester.update(path=file.path)
            self._closer.attend(harvester)
        moved = self._entries.renamed(found)
        self._intake.former |= {state.path: (state.device, state.inode) for state in moved}
        for harvester in decided.gone if not self._once else ():
            harvester.gone = harvester.gone or MOVED
            self._closer.look_for_removal(harvester)
        if not self._once:
            wake_unwatched(self.running.values(), self._watcher, self._scheduler, all_of_them=self._survey.was_afresh)
            for harvester in self._succession.waited_for:
                self._scheduler.wake(harvester)
        self._entries.lose_missing(found, self._survey.present, self.problems.excuses, once=self._once)
        self._places.clear()
        self._open(decided.open)
        for state in moved:
            self._entries.note_path(state, found[state.device, state.inode][1].path)

    def _open(self, wanted: list[Wanted]) -> None:
        self._intake.open(wanted)
        if self._places.any_wanted:
            for harvester in self.running.values():
                self._closer.attend(harvester)  # each that is at its end makes room
