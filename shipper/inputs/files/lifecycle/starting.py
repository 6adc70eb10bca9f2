"""Start the reading of files: as many as may be open, each at the position of its entry.

No file is read before its id is saved.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping
from itertools import islice

from log_shipper.registry.state import MISSING, TRUNCATED, FileState, with_changes
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.base import SourceContext, with_progress
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, FileKey, InputSpec, key_of
from log_shipper.shipper.inputs.files.identity.opened_file import EntryMatch, OpenedFile
from log_shipper.shipper.inputs.files.identity.proving import must_be_proven
from log_shipper.shipper.inputs.files.lifecycle.closing import Closer
from log_shipper.shipper.inputs.files.lifecycle.files import Files, Waiting
from log_shipper.shipper.inputs.files.lifecycle.open_files import OpenFiles
from log_shipper.shipper.inputs.files.lifecycle.transitions import Effect, Next, Opened, To, next_state
from log_shipper.shipper.inputs.files.lifecycle.unopened import was_replaced
from log_shipper.shipper.inputs.files.reading.batch_reader import BatchReader
from log_shipper.shipper.inputs.files.reading.factory import ActiveInputs
from log_shipper.shipper.inputs.files.reading.harvester import Harvester

MAX_LOOKS = 20  # at waiting files in a survey; the full scan every 5 minutes looks at all
TICK = 0.02  # file systems keep time in ticks of up to 10 ms: data written just after the start can look older

Refused = tuple[OpenedFile, EntryMatch, OSError]


class OpenLimits:
    """The limits on open files: the `harvester_limit` of each input, and the descriptors of the process. Other files
    wait, and are opened as soon as one is closed."""

    def __init__(self, files: Files, most: int, inherited: Callable[[FileState], FileState]) -> None:
        """`inherited` returns the entry of a file with the input that has it now."""
        self._limits: dict[str, int] = {}  # by input id
        self._behind: dict[FileKey, Candidate] = {}  # the new content of files that have ended and are draining
        self._turn: deque[FileKey] = deque()  # of the waiting files to be looked at
        self._undecided: list[Candidate] = []  # which the next survey shows to be lost or not
        self._files = files
        self._most = most
        self._inherited = inherited

    def update_rules(self, specs: Iterable[InputSpec]) -> None:
        now = {spec.id: spec for spec in specs}
        self._limits |= {input_id: spec.config.harvester_limit for input_id, spec in now.items()}
        forgotten = self._forget(lambda waiting: now.get(waiting.candidate.spec.id) is not waiting.candidate.spec)
        for candidate in forgotten:  # it may have been deleted by now
            if (spec := now.get(candidate.spec.id)) is not None and spec.matches(candidate.file.path):
                self._undecided.append(candidate)

    def keep(self, input_ids: Container[str]) -> None:
        self._limits = {input_id: limit for input_id, limit in self._limits.items() if input_id in input_ids}

    def forget_others(self, input_ids: Container[str]) -> None:
        """Forget the waiting files of all other inputs."""
        self._forget(lambda waiting: waiting.candidate.spec.id not in input_ids)

    def _forget(self, is_over: Callable[[Waiting], bool]) -> list[Candidate]:
        over = [item for of_input in self._files.waiting.values() for item in of_input.items() if is_over(item[1])]
        for key, waiting in over:
            self._files.change(key, waiting.was)
        return [waiting.candidate for _, waiting in over]

    def renew(
        self,
        candidates: Mapping[FileKey, Candidate],
        vanished: Iterable[Candidate] = (),
        is_inaccessible: Callable[[str], bool] = lambda path: False,
    ) -> list[Candidate]:
        """Take the waiting files of a survey; return those that it did not find, or with other content, and so for
        those that `vanished` before they were opened; inaccessible ones later. The work per file is repeated at each
        survey, for up to a hundred thousand files."""
        missing = [
            candidate
            for candidate in (*self._undecided, *vanished)
            if candidate.spec.id in self._limits
            and ((found := candidates.get(candidate.key)) is None or was_replaced(candidate.file, found.file))
        ]
        for of_input in list(self._files.waiting.values()):
            for key, waiting in list(of_input.items()):
                if key not in candidates:
                    missing.append(waiting.candidate)
                    self._files.change(key, waiting.was)
                elif (now := candidates[key].file) is not waiting.candidate.file:
                    if was_replaced(waiting.candidate.file, now):
                        missing.append(waiting.candidate)
                    self._files.renew_waiting(key, candidates[key])
        missing += self._renew_behind(candidates)
        lost: list[Candidate] = []
        self._undecided = []
        for candidate in missing:
            (self._undecided if is_inaccessible(candidate.file.path) else lost).append(candidate)
        return lost

    def take_files_to_inspect(self) -> list[FileKey]:
        """Return the files that are inspected at each survey: if one is deleted, only the last size that was seen can
        be counted. Waiting files have their turn."""
        if not self._turn:
            self._turn.extend(key for of_input in self._files.waiting.values() for key in of_input)
        return [*self._draining(), *(self._turn.popleft() for _ in range(min(len(self._turn), MAX_LOOKS)))]

    def note_growth(self, keys: Iterable[FileKey], candidates: Mapping[FileKey, Candidate]) -> None:
        """Note the new size of those of the files that wait; a survey notices that one is shorter."""
        for key in keys:
            waiting, now = self._files.state(key), candidates.get(key)
            if isinstance(waiting, Waiting) and now is not None and now.file.size > waiting.candidate.file.size:
                self._files.renew_waiting(key, now)

    def _renew_behind(self, candidates: Mapping[FileKey, Candidate]) -> list[Candidate]:
        """Return the content of draining files that was replaced before it could be opened. Follow the size of those
        that have not ended: the unread bytes of one that is deleted are counted."""
        ended = []
        for key, harvester in self._draining().items():
            if harvester.state.ended is not None:
                ended.append(key)
            elif key in candidates and not (harvester.content.compressed or harvester.padding):
                harvester.size = max(harvester.size, candidates[key].file.size)
        before = self._behind
        self._behind = {key: candidates[key] for key in ended if key in candidates}
        missing = []
        for key in before.keys() & set(ended):
            now = self._behind.get(key)
            if now is None or was_replaced(before[key].file, now.file):
                missing.append(before[key])
        return missing

    def _draining(self) -> dict[FileKey, Harvester]:
        """Return the draining files, by their key under the input that reads them next."""
        harvesters = [draining.harvester for draining in self._files.draining.values()]
        return {key_of(self._inherited(harvester.state)): harvester for harvester in harvesters}

    def admit(self, wanted: Iterable[Candidate]) -> list[Candidate]:
        """Add these to the waiting files; return those that may be opened now."""
        for candidate in wanted:
            self._files.change(candidate.key, Waiting(candidate, self._files.closed_as(candidate.key)))
        admitted: list[Candidate] = []
        free = self._most - len(self._files.running) - len(self._files.suspects)
        for input_id, of_input in list(self._files.waiting.items()):
            limit = self._limits.get(input_id) or self._most
            places = max(min(limit - self._files.running_of[input_id], free - len(admitted)), 0)
            for key, waiting in list(islice(of_input.items(), places)):
                admitted.append(waiting.candidate)
                self._files.change(key, waiting.was)
        return admitted

    @property
    def wanted(self) -> Mapping[str, int]:
        """The number of waiting files of each input."""
        return {input_id: len(files) for input_id, files in self._files.waiting.items()}

    @property
    def waiting(self) -> tuple[int, int]:
        """The number of waiting files, and their bytes on disk. Any thread may call it."""
        return sum(map(len, list(self._files.waiting.values()))), self._files.bytes_waiting

    @property
    def any_wanted(self) -> bool:
        return bool(self._files.waiting)


class IgnoreRules:
    """The files too old to be read: ignore_older, ignore_inactive. `first_start`: unix time of the agent's first
    start."""

    def __init__(self, clock: Clock, first_start: float) -> None:
        self._clock = clock
        self._since = {"since_first_start": first_start, "since_last_start": clock.time()}

    def skips(self, spec: InputSpec, scanned: ScannedFile) -> bool:
        """Return True if the file's current content is not read; later additions are."""
        config = spec.config
        if 0 < config.ignore_older < self._clock.time() - scanned.modified:
            return True
        return config.ignore_inactive != "" and scanned.modified + TICK < self._since[config.ignore_inactive]


class HarvesterStarter:
    """Used by the reading thread only."""

    def __init__(
        self,
        inputs: ActiveInputs,
        open_files: OpenFiles,
        closer: Closer,
        reading: BatchReader,
        ignoring: IgnoreRules,
        context: SourceContext,
    ) -> None:
        self._inputs = inputs
        self._open_files = open_files
        self._closer = closer
        self._reading = reading
        self._rotation_links = reading.rotation_links
        self._ignoring = ignoring
        self._registrar = context.registrar
        self._once = context.once
        self._progressed = context.pulse.beat

    def start(
        self,
        claims: list[tuple[OpenedFile, EntryMatch]],
        *,
        fresh_inputs: Container[str] = (),
        others_wait: bool = False,
    ) -> list[Refused]:
        """Start reading these files; return those that could not be read and were left as they are. `fresh_inputs`:
        inputs without a known file so far. `others_wait`: more files would be opened if possible.

        New ids must be on disk before the first record is sent, and with `once` the cuts at the files' ends; one fsync
        serves all of them. Known files need not wait: a full disk does not stop them.
        """
        fresh: list[Harvester] = []
        known: list[Harvester] = []
        refused: list[Refused] = []
        for opened, claim in with_progress(claims, self._progressed):
            try:
                state, decided = self._decide(opened, claim, first=opened.spec.id in fresh_inputs)
                if decided.to is To.CLOSED:
                    self._rest(opened, claim, state, decided)
                else:
                    started = self._start(opened, claim, state)
                    (fresh if Effect.SAVE in decided.effects else known).append(started)
                    if Effect.NOTE in decided.effects:
                        self._registrar.note(started.state)
            except OSError as error:
                refused.append((opened, claim, error))
        if any(self._rotation_links.resumes(harvester) for harvester in known):
            running = {harvester.state.id: harvester for harvester in self._open_files.running.values()}
            self._rotation_links.resume(known, running)
        predecessors = self._rotation_links.on_new_files(fresh, known, others_wait=others_wait)
        for harvester in known:
            self._reading.wake(harvester)
        if fresh:
            saved = self._registrar.save([harvester.state for harvester in (*fresh, *predecessors)])
            for harvester in fresh:
                self._reading.await_save(saved, harvester)
        return refused

    def _decide(self, opened: OpenedFile, claim: EntryMatch, *, first: bool) -> tuple[FileState, Next]:
        """Return the state from which the file is read, and what happens to it next. Raises OSError."""
        state, was = claim.state, claim.was
        is_skipped = self._ignoring.skips(opened.spec, opened.scanned)
        if claim.is_new and (is_skipped or (first and opened.spec.config.tail_files)):
            state = _at_its_end(opened, state)
        is_proven = was is None or not must_be_proven(opened.content, was)
        seen = Opened(
            is_new=claim.is_new,
            is_skipped=is_skipped,
            # A file to be deleted is opened even if it is read, because the Closer plans the deletion.
            is_read=_is_read(opened, state) and not opened.spec.config.delete.enabled,
            is_proven=is_proven,
            needs_no_proof=is_proven or was is None or not was.proof,
            once=self._once,
        )
        return state, next_state(seen)

    def _rest(self, opened: OpenedFile, claim: EntryMatch, state: FileState, decided: Next) -> None:
        """Close a file that has nothing to read now."""
        if Effect.PUT_BACK in decided.effects and claim.was is not None:
            self._open_files.register_skipped(opened, claim.was)
        else:
            state = with_changes(state, changed=opened.scanned.changed)
            self._registrar.note(state)
            self._open_files.register_idle(opened, state)

    def _start(self, opened: OpenedFile, claim: EntryMatch, state: FileState) -> Harvester:
        """Return the file's harvester. Raises OSError."""
        was = claim.was
        if self._once and not opened.content.compressed:
            # An unterminated line at its end is sent as it is; a second reading must end a message at the same offset.
            cut = (opened.size,) if opened.size > state.position else ()
            state = with_changes(state, size_seen=opened.size, cuts=(*state.cuts, *cut))
        harvester = self._inputs.open(opened, state, self._open_files.settled, once=self._once, was=was)
        self._open_files.add(harvester)
        self._closer.opened(harvester)
        if not self._once:  # a suspected copy may have been deleted while it waited, which no survey shows again
            self._open_files.look_for_removal(harvester)
        # The successor of a file that was missing and reappeared was opened meanwhile.
        is_back = was is not None and was.ended == MISSING and was.inode == state.inode
        if claim.previous_path is not None and claim.previous_path != state.path and not is_back:
            truncated = key_of(was) if was is not None and was.ended == TRUNCATED else None
            self._rotation_links.note_renamed(harvester, claim.previous_path, state.path, truncated=truncated)
        return harvester


def _is_read(opened: OpenedFile, state: FileState) -> bool:
    """Return True if all of the file is acknowledged. An empty file is opened, so False."""
    if opened.content.compressed:
        return state.compressed == opened.size
    return opened.size == state.position > 0 and state.size_seen <= opened.size


def _at_its_end(opened: OpenedFile, state: FileState) -> FileState:
    if opened.content.compressed:
        return with_changes(state, compressed=opened.size)
    return with_changes(state, position=opened.size, tail_hash=opened.content.tail_hash(opened.size))
