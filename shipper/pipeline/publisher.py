"""Moves batches from the queue to the output, and resolves them when they are delivered, or rejected and saved."""

import logging
from collections import deque
from collections.abc import Callable, Sequence

from log_shipper.runtime.monitor.histogram import Histogram
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Batch, Rejection
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.output.base import Output
from log_shipper.shipper.pipeline.dead_letter import DeadLetters
from log_shipper.shipper.pipeline.letter_counts import LetterCounts
from log_shipper.shipper.pipeline.queue import MemoryQueue

logger = logging.getLogger(__name__)

RETRY_INTERVAL = 5.0  # seconds between attempts to write a dead letter
# From a local broker to one that was down for an hour.
PRODUCE_SECONDS = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    600.0,
    3600.0,
)
MAX_SAVING_SECONDS = 0.25  # seconds of one step: where letters are slow to save, the rest waits for the next


class Publisher:
    """Driven by `step`, on the reading thread; the `TransactionDeliveries` of the output.

    `observer` is called with each batch that the output has taken; another thread may set it at any time.
    """

    def __init__(self, queue: MemoryQueue, dead_letters: DeadLetters, metrics: Metrics, clock: Clock) -> None:
        self._queue = queue
        self._dead_letters = dead_letters
        self._metrics = metrics
        self._clock = clock
        self.latency = Histogram(PRODUCE_SECONDS)  # of a batch, from the output to its acknowledgement
        self.letters = LetterCounts()
        self._refused_in_transaction = 0  # rejected events whose letters are not saved yet
        self._unsaved: deque[tuple[Batch, Sequence[Rejection]]] = deque()
        self._retry_at = 0.0
        self._save_until = float("inf")
        self.observer: Callable[[Batch], None] | None = None

    @property
    def next_step(self) -> float:
        """Return the monotonic time of the next `step` if no batch comes earlier."""
        return self._retry_at if self._unsaved else float("inf")

    @property
    def letters_waiting(self) -> int:
        """Return the number of rejected events not saved as dead letters yet. Callable from any thread."""
        return sum(len(rejected) for _, rejected in list(self._unsaved)) + self._refused_in_transaction

    def step(self, output: Output) -> None:
        """Publish waiting batches while the output has room, and retry to save rejected events."""
        self._save_until = self._clock.monotonic() + MAX_SAVING_SECONDS
        self._save_unsaved()
        while (batch := self._queue.get()) is not None:
            if not batch.events:
                self._resolve(batch)
            else:
                batch.published = self._clock.monotonic()
                if not output.publish(batch):
                    self._queue.return_to_front(batch)
                    return
                logger.debug("%s: sending %d events", batch.source.path, batch.events)
                if (observer := self.observer) is not None:  # read once: another thread sets it
                    observer(batch)

    def delivered(self, batch: Batch, rejected: Sequence[Rejection], *, are_saved: bool = False) -> None:
        self.latency.add(self._clock.monotonic() - batch.published)
        self._metrics.events_acked += batch.events - len(rejected)
        self._metrics.bytes_acked += batch.size
        if rejected and not are_saved:
            self._unsaved.append((batch, rejected))
            self._save_unsaved()
        else:
            self._resolve(batch)

    def save_rejected(self, batch: Batch, rejected: Sequence[Rejection]) -> bool:
        saved = self._may_save and self._save(batch, rejected)
        self._refused_in_transaction = 0 if saved else len(rejected)
        return saved

    def given_up(self, batch: Batch) -> None:
        self._refused_in_transaction = 0  # counted again at the next attempt to save the others
        self._resolve(batch)

    def _save_unsaved(self) -> None:
        while self._unsaved and self._may_save and self._save(*self._unsaved[0]):
            self._resolve(self._unsaved.popleft()[0])

    @property
    def _may_save(self) -> bool:
        return self._retry_at <= self._clock.monotonic() < self._save_until

    def _save(self, batch: Batch, rejected: Sequence[Rejection]) -> bool:
        try:
            self._dead_letters.write(batch, rejected)
        except OSError as error:
            self._retry_at = self._clock.monotonic() + RETRY_INTERVAL
            logger.error(
                "cannot save rejected events to %s: %s. %d events of %s wait, and the position of the file does not "
                "advance. Retrying every %d s",
                self._dead_letters.place,
                error.strerror,
                len(rejected),
                batch.source.path,
                RETRY_INTERVAL,
            )
            return False
        self._count(batch, rejected)
        return True

    def _count(self, batch: Batch, rejected: Sequence[Rejection]) -> None:
        self._metrics.events_dead_lettered += len(rejected)
        for rejection in rejected:
            self.letters.add(batch, rejection, self._clock.time())
            logger.warning(
                "an event of %s (file id %s, offset %d) was rejected and saved to %s: %s",
                batch.source.path,
                batch.source.file_id,
                batch.messages.offsets[rejection.index],
                self._dead_letters.place,
                rejection.reason,
            )

    def _resolve(self, batch: Batch) -> None:
        logger.debug("%s: %d bytes are resolved", batch.source.path, batch.size)
        self._queue.remove(batch)
        batch.resolve()
