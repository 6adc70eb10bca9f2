"""Hold the journals of one path: one per sequence of numbers among its files.

A single position cannot cover several sequences: entries of a late host are before the last entry read, and journalctl,
which orders them by time, leaves them out. So each sequence has its own journalctl and position.

The path has an entry in the registry too. It says where the first listed sequences begin: a time, or the position up to
which all of them were read at once. Later ones begin with their first entry. Where the files cannot be listed, as with
a program with permissions of its own, everything is read at once, and that entry is the position.
"""

import hashlib
import logging
from dataclasses import replace

from log_shipper.registry.state import FileState
from log_shipper.shipper.inputs.base import SourceContext
from log_shipper.shipper.inputs.feed import FeedInput
from log_shipper.shipper.inputs.journald.arguments import FIRST, SINCE
from log_shipper.shipper.inputs.journald.entries import number_of
from log_shipper.shipper.inputs.journald.host import Host
from log_shipper.shipper.inputs.journald.journal import Journal
from log_shipper.shipper.inputs.journald.listing import JournalFile, JournalListing
from log_shipper.shipper.inputs.journald.options import JournaldConfig

logger = logging.getLogger(__name__)

KIND = "journald"
MAX_FOLLOWED = 128  # sequences of one path; beyond, each is read to its end again and again
MAX_CHILDREN = 256  # journalctl processes of one path at a time


class Sequences:
    """The journals of a path. Used by the reading thread only, except `journals` and `problems`, which any thread may
    read."""

    def __init__(
        self,
        path: str,
        feed_input: FeedInput,
        config: JournaldConfig,
        context: SourceContext,
        states: dict[str, FileState],
        host: Host,
    ) -> None:
        """Take `states`, the registry's entries of the input, by id."""
        self.journals: tuple[Journal, ...] = ()
        self._path = path
        self._input, self._config, self._context, self._host = feed_input, config, context, host
        self._states = states
        self._by_sequence: dict[str, Journal] = {}  # "": all of them
        self._ending: list[Journal] = []  # without files; not settled yet
        where = f"input {feed_input.id}, journal {path}"
        self._where, self._reported = where, ""
        self._listing = JournalListing(config, path, where, feed_input.clock, host)
        self._start = states.get(self._id("")) or self._note(self._new_state("", self._beginning))
        self._look()

    @property
    def problems(self) -> list[tuple[str, str]]:
        """Return what keeps journals, or parts of them, from being read, by name."""
        problems = [(f"journal {self._path}", words) for words in (self._listing.problem, self._units_problem)]
        for journal in self.journals:
            problems += ((journal.name, words) for words in (journal.journalctl.problem, journal.journalctl.left_out))
        return [(name, words) for name, words in problems if words]

    @property
    def _units_problem(self) -> str:
        journals = self.journals
        if not journals or not all(journal.journalctl.has_no_unit for journal in journals):
            return ""
        units = ", ".join(self._config.units)
        return (
            f"no unit in the journal matches units ({units}); nothing is read. Correct units, unless the unit starts "
            "later"
        )

    @property
    def wait(self) -> float:
        """Return the seconds until it has something to do, apart from its journals."""
        return float("inf") if self._context.once else self._listing.wait

    def step(self) -> None:
        unchecked = [journal.journalctl for journal in self.journals if journal.journalctl.awaits_look]
        if unchecked or (self._listing.is_due and not self._context.once):
            self._look()
        for journalctl in unchecked:
            journalctl.check()
        running = sum(journal.journalctl.running for journal in self.journals)
        for journal in self.journals:
            was_running = journal.journalctl.running
            journal.journalctl.step(may_start=running < MAX_CHILDREN)
            running += journal.journalctl.running - was_running
        self._report()

    def _report(self) -> None:
        before, self._reported = self._reported, self._units_problem
        if self._reported and not before:
            logger.error("%s: %s", self._where, self._reported)
        elif before and not self._reported:
            logger.info("%s: a unit matches units now", self._where)

    def _look(self) -> None:
        self._listing.refresh(once=self._context.once)
        listed = self._listing.sequences
        if self._listing.is_incomplete:
            listed = {"": list[JournalFile]()}
        for sequence in self._by_sequence.keys() - listed.keys():
            self._end(sequence)
        self._forget_ended()
        ending = {journal.position.state.key for journal in self._ending}
        if "" not in ending:
            self._open([sequence for sequence in listed if sequence not in {*self._by_sequence, *ending}])
        live = {sequence for sequence, files in listed.items() if any(file.is_live for file in files) or not sequence}
        for sequence, files in listed.items():
            if (journal := self._by_sequence.get(sequence)) is not None:
                journal.continuity.shares_numbers = sequence in self._listing.sharing
                journal.journalctl.set_files(files, follow=sequence in live and len(live) <= MAX_FOLLOWED)
        self.journals = (*self._by_sequence.values(), *self._ending)

    def _open(self, sequences: list[str]) -> None:
        if self._context.once and self.journals:
            return  # they were not there at the start
        for sequence in sequences:
            state = self._states.get(self._id(sequence))
            if state is None:
                state = self._note(self._new_state(sequence, _start_of(sequence, self._start.cursor)))
            journal = Journal(self._input, self._config, state, self._context, self._host)
            self._by_sequence[sequence] = journal
        if self._start.cursor and any(sequences):
            self._start = self._note(replace(self._start, cursor=""))  # sequences that appear later are new

    def _end(self, sequence: str) -> None:
        """End a journal without files, once the output of its journalctl is given."""
        journal = self._by_sequence[sequence]
        if sequence and journal.journalctl.has_output and not journal.journalctl.awaits_look:
            return
        del self._by_sequence[sequence]
        journal.end()
        self._ending.append(journal)

    def _forget_ended(self) -> None:
        for journal in self._ending:
            if journal.at_end:
                state = journal.position.state
                self._states[state.id] = state  # its files may reappear
                self._start = state if not state.key else self._start
        self._ending = [journal for journal in self._ending if not journal.at_end]

    def _id(self, sequence: str) -> str:
        parts = (KIND, self._input.id, self._path, *([sequence] if sequence else []))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]

    def _new_state(self, sequence: str, cursor: str) -> FileState:
        return FileState(
            id=self._id(sequence),
            path=self._path,
            device=0,
            inode=0,
            updated=self._input.clock.time(),
            input=self._input.id,
            kind=KIND,
            key=sequence,
            cursor=cursor,
        )

    def _note(self, state: FileState) -> FileState:
        self._states[state.id] = state
        self._input.note(state)
        return state

    @property
    def _beginning(self) -> str:
        """Return where to begin without a position. A time that depends on the start is saved: a restart must not skip
        what is written before the first acknowledgement."""
        ago = {"head": None, "tail": 0.0, "since": self._config.since_ago}[self._config.begins]
        return "" if ago is None else f"{SINCE}{self._input.clock.time() - ago:.6f}"


def _start_of(sequence: str, cursor: str) -> str:
    """Return where a sequence begins if all sequences were read at once up to this cursor."""
    if not cursor or cursor.startswith(SINCE):
        return cursor
    place = number_of(cursor.removeprefix(FIRST))
    if place is not None and place[0][0] == sequence:
        return cursor
    times = [int(part[2:], 16) for part in cursor.split(";") if part.startswith("t=")]
    return f"{SINCE}{times[0] / 1e6:.6f}" if times else ""
