"""Writes batches, and removes delivered segments, on a separate thread, so that the reading loop never waits for the
disk.

A failed write, and one without room, is retried until it succeeds: nothing is dropped, and waiting batches are not
acknowledged to their sources. Batches delivered meanwhile are left out.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from log_shipper.runtime.disk_errors import Misplaced, advice_for
from log_shipper.runtime.logs.folding import END
from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.pipeline.disk_queue.content import Compression, encoded
from log_shipper.shipper.pipeline.disk_queue.entry import QueuedBatch
from log_shipper.shipper.pipeline.disk_queue.frames import HEADER_SIZE, Payload
from log_shipper.shipper.pipeline.disk_queue.store import SegmentStore
from log_shipper.shipper.pipeline.disk_queue.watermarks import Watermarks

logger = logging.getLogger(__name__)

GROUP_BYTES = 8 * 1024**2  # approximate memory of a group that is encoded and written together
RETRIES = Backoff(1.0, 30.0)
CHECK_EVERY = 10.0  # seconds between checks of the disk while there is nothing to write


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """`max_size`: maximum bytes of all segments; 0: no limit. `watermarks` are checked before each write, and every
    `CHECK_EVERY` seconds without one."""

    max_size: int
    compress: bool = True
    backoff: Backoff = RETRIES
    watermarks: Watermarks | None = None


def _do_nothing() -> None:
    pass


class SegmentWriter:
    """`submit` and `remove_before` never block on the disk. `written` has the entries on disk, for the loop to collect;
    `on_written` is called on the thread afterwards.

    `problem`: why writing or removing fails now; empty while it works. `is_full`: True while it has its maximum size,
    which is not a fault. `events_written`: since the start.
    """

    def __init__(
        self,
        store: SegmentStore,
        options: WriterOptions,
        on_written: Callable[[], None] = _do_nothing,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.store = store
        self.events_written = 0
        self.written: deque[QueuedBatch] = deque()
        self.problem = ""
        self.is_full = False
        self.failure: Exception | None = None  # the reason that the thread has ended
        self.watermarks = options.watermarks
        self.max_size = options.max_size
        self._options = options
        self._on_written = on_written
        self._clock = clock
        self._compression = Compression(compress=options.compress)
        self._throttle = Throttle(clock)
        self._changed = threading.Condition()  # guards what follows
        self._pending: deque[QueuedBatch] = deque()
        self._remove_before = (0, False)
        self._group: list[QueuedBatch] = []  # being written
        self._is_closing = False
        self._attempts = 0
        self._retry_at = 0.0
        self._thread = threading.Thread(target=self._run, name="queue writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def idle(self) -> bool:
        """Return True if nothing waits to be written."""
        with self._changed:  # otherwise a group that the writer is taking or returning might be in neither
            return not self._pending and not self._group

    def submit(self, entries: Iterable[QueuedBatch]) -> None:
        """Queue batches for writing, in the order of the calls."""
        with self._changed:
            self._pending.extend(entries)
            self._changed.notify_all()

    def remove_before(self, sequence: int, *, last: bool) -> None:
        """Have delivered segments removed (`SegmentStore.remove_before`)."""
        with self._changed:
            self._remove_before = (sequence, last)
            self._retry_at = 0.0  # there is room again
            self._changed.notify_all()

    def flush(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds until all is written; a failed write is retried at once. Return whether it
        is."""
        with self._changed:
            self._retry_at = 0.0
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self.idle, timeout)

    def close(self, timeout: float) -> None:
        """End the thread. Unwritten batches are not written."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        if not self._thread.is_alive():
            self.store.end_segment()

    @property
    def unwritten(self) -> list[QueuedBatch]:
        """Return the batches that are neither on disk nor delivered."""
        with self._changed:
            entries = (*self._group, *self._pending)
        return [entry for entry in entries if entry.place is None and not entry.is_delivered]

    def _run(self) -> None:
        try:
            while self._wait():
                self.step()
        except Exception as error:
            # The thread's outermost frame: otherwise waiting batches would wait silently.
            logger.critical("the writer thread of the queue on disk failed unexpectedly", exc_info=error)
            self.failure = error
            self._on_written()

    def _wait(self) -> bool:
        with self._changed:
            while not self._is_closing:
                has_work = self._pending or self._remove_before[0]
                wait = max(self._retry_at - self._clock(), 0.0) if has_work else CHECK_EVERY
                if has_work and not wait:
                    return True
                if not self._changed.wait(wait) and not has_work:
                    return True
        return False

    def step(self) -> None:
        """Remove segments as requested, and write one group. Never sleeps."""
        may_grow = self.watermarks is None or self.watermarks.may_grow()
        with self._changed:
            (sequence, last), self._remove_before = self._remove_before, (0, False)
            self._group = group = self._next_group()
        try:
            if sequence:
                self.store.remove_before(sequence, last=last)
            rest = self._write(group, may_grow=may_grow)
            if sequence or len(rest) < len(group):
                self._recovered()
        except (OSError, Misplaced) as error:
            self._failed(error)
            rest = group
        with self._changed:
            self._pending.extendleft(reversed(rest))
            self._group = []
            if rest:
                self._attempts += 1
                self._retry_at = self._clock() + self._options.backoff.delay(self._attempts)
            elif group:
                self._attempts, self._retry_at = 0, 0.0
            self._changed.notify_all()
        if self.written:
            self._on_written()

    def _next_group(self) -> list[QueuedBatch]:
        group, size = [], 0
        while self._pending and size < GROUP_BYTES:
            entry = self._pending.popleft()
            if not entry.is_delivered:
                group.append(entry)
                size += entry.batch.cost
        return group

    def _write(self, group: list[QueuedBatch], *, may_grow: bool) -> list[QueuedBatch]:
        """Write as much of the group as there is room for. Return the rest. Raises OSError and Misplaced."""
        most, size = self.max_size, self.store.bytes + HEADER_SIZE  # the header of a new segment
        entries, payloads = list[QueuedBatch](), list[Payload]()
        for entry in group if may_grow else ():
            payload = self._payload(entry)
            size += payload.size
            # A batch larger than the limit must not wait forever.
            if most and size > most and (payloads or self.store.bytes):
                break
            entries.append(entry)
            payloads.append(payload)
        self.is_full = len(payloads) < len(group)
        if payloads:
            for entry, place in zip(entries, self.store.write(payloads), strict=True):
                entry.place = place
            self.events_written += sum(payload.events for payload in payloads)
            self.written.extend(entries)
        return group[len(entries) :]

    def _payload(self, entry: QueuedBatch) -> Payload:
        batch = entry.batch
        return Payload(entry.sequence, batch.events, batch.size, *self._compression.compress(encoded(batch)))

    def _recovered(self) -> None:
        if self.problem:
            self.problem = ""
            self._throttle.reset()
            logger.info("the queue in %s is writable again", self.store.directory, extra=END)

    def _failed(self, error: OSError | Misplaced) -> None:
        if isinstance(error, Misplaced):
            words, advice = error.problem, "move it away"
        else:
            words = error.strerror or str(error)
            advice = advice_for(error)
        self.problem = f"cannot write the queue in {self.store.directory}: {words}; {advice}"
        if self._throttle.is_due():
            logger.error(
                "%s. Retrying. Meanwhile, events are kept in memory only, and reading pauses when queue.mem is full",
                self.problem,
            )
