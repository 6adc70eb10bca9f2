"""Sends dead letters again, as the events that they were, through the output that is configured now.

With Kafka that is done in transactions, each with a note of its letters, so that a consumer with read_committed sees
each once. The note has to survive only until the same is noted beside the files (`Resending`), which is done before the
next transaction begins. Other outputs have no transactions: after a kill, what was in flight is sent a second time,
under the same file id and offset.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Batch, Rejection
from log_shipper.shipper.formats import letter
from log_shipper.shipper.letters.letter_box import Resending, StoredLetter
from log_shipper.shipper.output.base import Output
from log_shipper.shipper.pipeline.publisher import Publisher
from log_shipper.shipper.pipeline.queue import MemoryQueue

Fit = Callable[[Batch], None]

POLL = 0.02  # seconds
NOTE = "resent"  # the name of the note in a transaction


class LettersInFlight:
    """The letters that are being sent: what becomes of each, and which are in a transaction."""

    def __init__(self, resending: Resending, clock: Clock) -> None:
        self.settled: list[str] = []
        self.refused: set[str] = set()
        self._resending = resending
        self._clock = clock
        self._ids: dict[Batch, str] = {}
        self._in_transaction: list[str] = []

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, stored: StoredLetter) -> Batch:
        """Return the event of a letter as a batch."""
        assert stored.letter is not None, "only letters that can be read are sent"
        batch = stored.letter.batch(lambda: None)
        batch.resolve = partial(self._settle, batch)
        self._ids[batch] = stored.id
        return batch

    def _settle(self, batch: Batch) -> None:
        self.settled.append(self._ids.pop(batch))

    def note_settled(self) -> int:
        """Note on disk what was settled since the last call; return the number."""
        self._resending.note_sent(self.settled)
        number = len(self.settled)
        self.settled.clear()
        return number

    # As `Positions` of an output with transactions:

    def prepare(self, batches: Iterable[Batch]) -> Mapping[str, bytes]:
        self._in_transaction = [self._ids[batch] for batch in batches]
        return {NOTE: " ".join(self._in_transaction).encode()}

    def add_offsets(self, producer: object) -> None: ...

    def drop_lost(self) -> None: ...

    def commit(self) -> None:
        """Note on disk what was committed: the next transaction has another note."""
        self._resending.note_sent(self._in_transaction)

    # As `DeadLetters`:

    @property
    def place(self) -> str:
        return self._resending.place

    def write(self, batch: Batch, rejected: Sequence[Rejection]) -> None:
        """Write new letters, each with the id of the one that it replaces as soon as that is settled."""
        letter_id, now = self._ids[batch], self._clock.time()
        lines = [letter.written(batch, rejection, now, instead_of=letter_id) for rejection in rejected]
        self._resending.write(b"".join(lines))
        self.refused.add(letter_id)


def noted(entries: Mapping[str, bytes]) -> list[str]:
    """Return the ids of the letters that are in the note of the last transaction."""
    return entries.get(NOTE, b"").decode().split()


@dataclass(frozen=True, slots=True)
class ResendPipeline:
    """The parts of the agent's pipeline that are behind its processors. `fit` replaces events that are too large."""

    letters: LettersInFlight
    queue: MemoryQueue
    publisher: Publisher
    output: Output
    clock: Clock
    fit: Fit


@dataclass(slots=True)
class Resent:
    """How many letters; `left` are those that were not wanted, or cannot be read, and where `gave_up`, all that are not
    sent."""

    sent: int = 0
    refused: int = 0
    left: int = 0
    gave_up: bool = False


def resend(
    resending: Resending, pipeline: ResendPipeline, is_wanted: Callable[[StoredLetter], bool], timeout: float
) -> Resent:
    """Send the letters that are wanted again; wait for at most `timeout` seconds for one of them to be acknowledged.
    Raises OSError, Fenced."""
    result, settled = Resent(), 0
    for unsent in resending.files():
        number, result.gave_up = _send(pipeline, _wanted(resending, unsent, is_wanted), timeout)
        settled += number
        if result.gave_up:
            result.left += resending.count_unsent()
            break
        result.left += resending.end_file()
    result.refused = len(pipeline.letters.refused)
    result.sent = settled - result.refused
    return result


def _wanted(
    resending: Resending, unsent: Iterable[StoredLetter], is_wanted: Callable[[StoredLetter], bool]
) -> Iterator[StoredLetter]:
    for stored in unsent:
        if stored.letter is not None and is_wanted(stored):
            yield stored
        else:
            resending.keep(stored)


def _send(pipeline: ResendPipeline, wanted: Iterator[StoredLetter], timeout: float) -> tuple[int, bool]:
    """Return how many were delivered or refused, and whether it was given up to wait for others."""
    letters, queue = pipeline.letters, pipeline.queue
    number, deadline = 0, pipeline.clock.monotonic() + timeout
    while True:
        while queue.has_room and (stored := next(wanted, None)) is not None:
            batch = letters.add(stored)
            pipeline.fit(batch)
            queue.put(batch)
        if not letters:
            return number, False
        if pipeline.clock.monotonic() >= deadline:
            pipeline.output.close()  # what arrives now is reported
            return number + letters.note_settled(), True
        pipeline.publisher.step(pipeline.output)
        pipeline.output.poll(POLL)
        if letters.settled:
            number += letters.note_settled()
            deadline = pipeline.clock.monotonic() + timeout
