"""Read one sequence of a journal: make batches of its journalctl's output, and track the acknowledged position."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from log_shipper.registry.registrar import SaveTicket
from log_shipper.registry.state import FileState
from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.event import Batch, Messages, resolve_after_all
from log_shipper.shipper.formats.record import timestamp
from log_shipper.shipper.inputs.base import SourceContext
from log_shipper.shipper.inputs.feed import REFUSED_WAIT, FeedInput
from log_shipper.shipper.inputs.journald.arguments import FIRST, SINCE
from log_shipper.shipper.inputs.journald.continuity import Continuity
from log_shipper.shipper.inputs.journald.entries import EntryDecoder, JournalEntry, Key
from log_shipper.shipper.inputs.journald.host import Host
from log_shipper.shipper.inputs.journald.journalctl import NEVER, Journalctl, ReadSettings
from log_shipper.shipper.inputs.journald.options import JournaldConfig
from log_shipper.shipper.inputs.journald.position import JournalPosition
from log_shipper.shipper.inputs.journald.runs import Run, mark_of
from log_shipper.shipper.reader.chain import max_timeout

RUNS_KEPT = 64  # sequences and boots; the next entry of an older one begins another run
PARKED_ENTRIES = 20_000  # behind a pending message
LINE_OVERHEAD = 1024**2  # the other fields of an entry


@dataclass(slots=True)
class _Read:
    """An entry that was read, and may belong to a pending message."""

    run: Run
    number: int
    cursor: str
    size: int


@dataclass(slots=True)
class _Given:
    """A future batch, and the bytes read for it."""

    run: Run
    messages: Messages
    size: int = 0


class Journal:
    """The reading of one sequence. Used by the reading thread only."""

    def __init__(
        self, feed_input: FeedInput, config: JournaldConfig, state: FileState, context: SourceContext, host: Host
    ) -> None:
        """Resume at `state`, whose `key` is the sequence, empty for the whole path."""
        clock, metrics = feed_input.clock, feed_input.metrics
        self.name = f"journal {state.path}" + (f" (sequence {state.key})" if state.key else "")
        where = f"input {feed_input.id}, {self.name}"
        self.position = JournalPosition(state, feed_input.note, clock, feed_input.stage)
        max_line = 4 * feed_input.max_bytes + LINE_OVERHEAD
        settings = ReadSettings(config, state.path, where, max_line, context.once)
        self.journalctl = Journalctl(settings, self._start_at, host, clock, metrics)
        self._input, self._context, self._clock, self._metrics = feed_input, context, clock, metrics
        self._last = state.cursor  # of the last entry read
        self._timeout = max_timeout(config.parsers)
        self._runs: dict[Key, Run] = {}
        self._entries: deque[_Read] = deque()  # from the first entry of a pending message on
        self._parked: tuple[SaveTicket, list[Batch]] | None = None  # until their ends are saved
        self._ready: deque[deque[Batch]] = deque()  # not given yet; what is resolved together is together
        self._unresolved = 0  # batches
        self._given_up = 0  # of the tracked ones, what a stop left behind
        self._decoder = EntryDecoder(where, feed_input.max_bytes, Throttle(clock.monotonic))
        self.continuity = Continuity(where, config, metrics, Throttle(clock.monotonic), is_whole=not state.key)

    @property
    def settled(self) -> bool:
        return not self._unresolved and self.position.open_batches <= self._given_up

    @property
    def at_end(self) -> bool:
        """Return True if, with `once`, all existing entries are acknowledged."""
        return self.journalctl.ended and not self._entries and self.settled

    def read(self) -> Iterator[Batch]:
        """Yield the batches of one read. The caller may stop at any; the next call yields the rest."""
        yield from self._given()
        if self._ready:  # the pipeline takes no more of it
            return
        if self._parked is not None:
            ticket, parked = self._parked
            if not ticket.done:
                return
            self._parked = None
            yield from self._given(parked)
        entries = self._new_entries()
        if entries:
            new = self.continuity.new(entries)
            self.journalctl.note_entries(new=bool(new))
            yield from self._given(self._batches(new))
        elif self.journalctl.ended:
            self._end_messages([run for run in self._runs.values() if run.pending_since is not None])
        elif self._deadline <= self._clock.monotonic():
            self._end_overdue()

    def _new_entries(self) -> list[JournalEntry]:
        lines = self.journalctl.read()
        for cursor, size in self.journalctl.lines.take_skipped():
            self._last = cursor or self._last
            self.continuity.skipped(cursor, size)
            if not cursor:
                self.journalctl.note_refused(1, f"a line of {size} bytes".encode())
        entries = self._decoder.entries(lines)
        if refused := self._decoder.refused:
            self.continuity.damaged(sum(line.startswith(b"{") for line in refused))
            self.journalctl.note_refused(len(refused), refused[0])
        if entries:
            if self.position.state.cursor[:1] in ("", SINCE):
                # Without it, a start before the first acknowledgement would not see that this entry was deleted.
                self.position.update(cursor=FIRST + entries[0].cursor)
            self._last = entries[-1].cursor
        return entries

    def next_wake(self, *, reading: bool) -> float:
        """Return the seconds until it has something to do, unless its journalctl writes something."""
        if self._ready and reading:
            return 0.0 if self._takes_more else REFUSED_WAIT
        if self._parked is not None:
            return 0.0 if reading and self._parked[0].done else NEVER  # the registrar wakes the loop
        if self.journalctl.ended and reading and self._entries:
            return 0.0
        wait = max(self._deadline - self._clock.monotonic(), 0.0) if reading else NEVER
        return min(wait, self.journalctl.next_wake(reading=reading))

    def stop(self) -> None:
        """Read nothing more. Pending entries are read again by the next reading."""
        self.journalctl.stop()
        parked = [self._parked[1]] if self._parked is not None else []
        left = [*self._ready, *parked]
        self._given_up = len(left)
        self._unresolved -= sum(map(len, left))
        self._ready.clear()
        self._parked = None

    def end(self) -> None:
        """Give the pending messages, and nothing more: all files are missing."""
        self.continuity.ended(self._last, self.journalctl.last_number)
        self.journalctl.end()

    def _given(self, batches: Sequence[Batch] = ()) -> Iterator[Batch]:
        if batches:
            self._ready.append(deque(batches))
        while self._ready and self._takes_more:
            group = self._ready[0]
            batch = group.popleft()
            if not group:
                self._ready.popleft()
            yield batch

    @property
    def _takes_more(self) -> bool:
        return self._context.pipeline.takes_more(self._ready[0][0].source)

    def _start_at(self) -> str:
        self.continuity.starts_at(self._last)
        return self._last

    def _batches(self, entries: Sequence[JournalEntry]) -> list[Batch]:
        groups: dict[Key, list[JournalEntry]] = {}
        for entry in entries:
            groups.setdefault(entry.key, []).append(entry)
        event = {"kind": "event", "created": timestamp(self._clock.time())}
        cuts = frozenset(self.position.state.cuts)
        given: list[_Given] = []
        for key, group in groups.items():
            run = self._run(key)
            several = [_Given(run, messages) for messages in run.messages(group, event, cuts)]
            if several:
                several[0].size = sum(entry.size for entry in group)
            given += several
            self._entries.extend(_Read(run, entry.number, entry.cursor, entry.size) for entry in group)
        batches = self._tracked(given)
        if len(self._entries) > PARKED_ENTRIES:
            self._end_messages([self._entries[0].run])
        return batches

    def _run(self, key: Key) -> Run:
        run = self._runs.get(key)
        if run is None:
            if len(self._runs) >= RUNS_KEPT:
                idle = [old for old, known in self._runs.items() if known.pending_since is None]
                for old in idle[: RUNS_KEPT // 2]:
                    del self._runs[old]
            run = self._runs[key] = Run(self._input, key, self.position.state.path)
        return run

    def _tracked(self, given: Sequence[_Given]) -> list[Batch]:
        """Return the batches, which together let the position pass the entries up to the first pending message."""
        count, size, cursor = 0, 0, self.position.tracked_cursor
        while self._entries and self._entries[0].number < self._entries[0].run.passed:
            entry = self._entries.popleft()
            count, size, cursor = count + 1, size + entry.size, entry.cursor
        if not count and not given:
            return []
        resolve = self.position.track(count, cursor, size)
        if not given:
            resolve()
            return []
        resolves = [resolve] if len(given) == 1 else resolve_after_all(resolve, len(given))
        batches = []
        for piece, resolved in zip(given, resolves, strict=True):
            batches.append(self._batch(piece, resolved))
        return batches

    def _batch(self, piece: _Given, resolve: Callable[[], None]) -> Batch:
        """Return a batch. Its size is in entries; metrics and memory count bytes."""
        batch = Batch(piece.run.source, piece.messages, self._clock.time(), resolve)
        batch.grown = beyond = piece.size - batch.size
        self._metrics.bytes_read += beyond
        self._input.counts.bytes_read += beyond

        self._unresolved += 1
        is_open = True

        def resolved() -> None:
            nonlocal is_open
            if is_open:  # it may be called again
                is_open = False
                self._unresolved -= 1
                self._metrics.bytes_acked += beyond
            resolve()

        batch.resolve = resolved
        return batch

    @property
    def _deadline(self) -> float:
        """The monotonic time at which the first pending message must be ended."""
        if self._timeout is None or not self._entries:
            return NEVER
        since = [run.pending_since for run in self._runs.values()]
        return min((moment + self._timeout for moment in since if moment is not None), default=NEVER)

    def _end_overdue(self) -> None:
        limit = self._clock.monotonic() - (self._timeout or 0.0)
        pending = [(run, run.pending_since) for run in self._runs.values()]
        self._end_messages([run for run, since in pending if since is not None and since <= limit])

    def _end_messages(self, runs: Sequence[Run]) -> None:
        """End the pending messages of these runs. Their ends must be on disk before they are sent, or a second reading
        could join them with the next lines, and give the same offset another text."""
        given = [_Given(run, messages) for run in runs if (messages := run.finish()) is not None]
        batches = self._tracked(given)
        for piece in given:
            self.position.cut(mark_of(piece.run.key, piece.messages.end))
        if batches:
            self._parked = self._context.registrar.save([self.position.state]), batches
