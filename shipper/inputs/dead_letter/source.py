"""Send the letters of a directory in rounds: the next one begins when all letters of this one are settled, and
noted."""

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from xxhash import xxh3_64_hexdigest

from log_shipper.registry.registrar import SaveTicket
from log_shipper.registry.state import FileState
from log_shipper.runtime.locking import FileInUse
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch
from log_shipper.shipper.inputs.base import SourceContext, SourceStatus
from log_shipper.shipper.inputs.dead_letter.options import DeadLetterInput
from log_shipper.shipper.inputs.feed import REFUSED_WAIT, FeedInput
from log_shipper.shipper.letters.letter_box import LetterBox, Resending, StoredLetter
from log_shipper.shipper.pipeline.acks import Ledger

logger = logging.getLogger(__name__)

NEVER = float("inf")
RETRY_SECONDS = 10.0
IN_USE_RETRY = 0.02  # while another process writes to the file, or sends its letters
PATIENCE = 10.0  # seconds for which it may do so, with `--once`


class DeadLetterSource:
    """The source of dead letters. Used by the reading thread, except `status`. With `once` it raises OSError if letters
    cannot be read or noted."""

    def __init__(self, feed_input: FeedInput, context: SourceContext, states: Sequence[FileState]) -> None:
        """Open the directory. Raises StartError."""
        config = feed_input.config
        assert isinstance(config, DeadLetterInput)
        self._input, self._config, self._context, self._clock = feed_input, config, context, feed_input.clock
        self._box = LetterBox(Path(config.path))
        if context.once and not self._box.directory.is_dir():
            raise StartError(f"input {feed_input.id}: path: {config.path} is not a directory")
        self._name = config.reads[0]
        state_id = xxh3_64_hexdigest(f"dead letters of {feed_input.id}".encode())
        new = FileState(state_id, config.path, 0, 0, input=feed_input.id, kind="dead_letter")
        self._state = next((state for state in states if state.id == state_id), new)
        # An entry must be on disk before it is in a transaction: an unknown one is ignored there.
        self._ticket: SaveTicket | None = None
        self._stage = None
        if feed_input.stage is not None:
            self._stage = feed_input.stage(self._noted)
            self._ticket = context.registrar.save([self._state])
        self._resending: Resending | None = None
        self._rounds: Iterator[list[StoredLetter]] | None = None
        self._ready: deque[Batch] = deque()
        self._open = 0  # letters
        self._bytes = 0  # of these letters
        self._settled: list[str] = []
        self._staged: dict[str, None] = {}  # letters of this round that are in transactions
        self._due = self._began = self._clock.monotonic()
        self._problem = ""
        self._is_over = False  # with `once`
        self._is_stopped = False

    @property
    def finished(self) -> bool:
        return self._resending is None and (self._is_over or self._is_stopped)

    def step(self) -> None:
        """Note what was settled, and begin the next round."""
        if self._open or self.finished or self._clock.monotonic() < self._due:
            return
        try:
            self._advance()
            self._problem = ""
        except OSError as error:
            self._retry(error)

    def read(self, budget: int) -> Iterator[Batch]:
        while self._ready and budget > 0 and self._takes_more:
            batch = self._ready.popleft()
            budget -= batch.size
            yield batch

    def next_wake(self, *, reading: bool) -> float:
        if self._ready:
            return NEVER if not reading else 0.0 if self._takes_more else REFUSED_WAIT
        return NEVER if self._open or self.finished else max(self._due - self._clock.monotonic(), 0.0)

    def status(self) -> SourceStatus:
        return SourceStatus(
            files_open=int(self._resending is not None),
            reading=int(self._resending is not None),
            unsettled=0,
            waiting=0,
            bytes_waiting=0,
            bytes_behind=self._bytes,
            is_size_known=self._resending is None,
            problems={self._name: self._problem} if self._problem else {},
        )

    def stop(self) -> None:
        """Give no more letters. Later steps note those that were given."""
        if self._is_stopped:
            return
        self._is_stopped = True
        self._open -= len(self._ready)
        self._bytes -= sum(batch.size for batch in self._ready)
        self._ready.clear()
        if self._resending is not None:
            try:
                self._note_settled(self._resending)
            except OSError as error:
                self._retry(error)
        self._due = self._clock.monotonic()
        self.step()

    @property
    def _takes_more(self) -> bool:
        return self._context.pipeline.takes_more(self._ready[0].source)

    def _advance(self) -> None:
        """Note the settled letters, and finish the round. Raises OSError."""
        if self._ticket is not None and not self._ticket.done:
            return  # the registrar wakes the loop
        resending = self._resending = self._resending or self._begin()
        letters = None
        if resending is not None:
            self._note_settled(resending)
            self._staged.clear()
            if not self._is_stopped:
                self._rounds = self._rounds or resending.rounds()
                letters = next(self._rounds, None)
        if letters is None:
            self._end()
        else:
            self._ready.extend(map(self._batch, letters))
            self._open = len(letters)

    def _begin(self) -> Resending | None:
        """Return the delivery of the letters; None if there are none, for which nothing is written."""
        if not self._box.files():
            return None
        wanted = self._config.ids
        resending = Resending(self._box, lambda stored: not wanted or stored.id in wanted)
        if resending.was_interrupted:
            resending.record_sent(self._state.cursor.split())
        return resending

    def _end(self) -> None:
        if self._resending is not None:
            self._resending.close()
        self._resending = self._rounds = None
        self._is_over = self._context.once
        self._began = self._due = self._clock.monotonic() + self._config.interval

    def _note_settled(self, resending: Resending) -> None:
        resending.record_sent(self._settled)
        self._context.metrics.letters_resent += len(self._settled)
        self._settled.clear()

    def _retry(self, error: OSError) -> None:
        now = self._clock.monotonic()
        passes = isinstance(error, FileInUse) and now <= self._began + PATIENCE
        if self._context.once and not passes:
            raise error
        self._rounds = None
        problem = f"{error.filename}: {error.strerror}"
        if problem != self._problem and not passes:
            logger.error("input %s: cannot send dead letters: %s; retrying until it succeeds", self._input.id, problem)
        self._problem = problem
        self._due = now + (IN_USE_RETRY if passes else RETRY_SECONDS)

    def _batch(self, stored: StoredLetter) -> Batch:
        assert stored.letter is not None, "only letters that can be read are sent"
        settled = partial(self._settle, stored.id)
        ledger = Ledger(0, settled, self._stage)  # letters do not wait for each other
        batch = stored.letter.batch(ledger.track(stored.letter.length + 1))
        staged = partial(self._staged.setdefault, stored.id)
        batch.source = replace(batch.source, letter=stored.id, counts=self._input.counts, staged=staged)
        self._bytes += batch.size
        return batch

    def _settle(self, letter_id: str, end: int) -> None:
        self._open -= 1
        self._bytes -= end - 1
        self._settled.append(letter_id)

    def _noted(self, _: int) -> FileState:
        """Return the entry for a transaction: the letters of this round that are sent once it is committed."""
        ids = " ".join(self._staged)
        if ids != self._state.cursor:
            position = self._state.position + 1  # the more advanced entry counts at the next start
            now = self._clock.time()
            self._state = replace(self._state, position=position, cursor=ids, updated=now)
        return self._state
