"""Writes batches on a thread of its own, so that the reading loop never waits for the disk, and removes segments that
are delivered.

A write that fails is retried until it succeeds, and so is one for which there is no room: nothing is dropped, and what
waits here is not acknowledged to its source. Batches that are delivered meanwhile are left out.
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
from log_shipper.shipper.pipeline.disk_queue.entry import Entry
from log_shipper.shipper.pipeline.disk_queue.frames import HEADER_SIZE, Payload
from log_shipper.shipper.pipeline.disk_queue.store import SegmentStore
from log_shipper.shipper.pipeline.disk_queue.watermarks import Watermarks

logger = logging.getLogger(__name__)

GROUP_BYTES = 8 * 1024**2  # about so many of memory are encoded and written as a group
RETRIES = Backoff(1.0, 30.0)
CHECK_EVERY = 10.0  # seconds between two looks at the disk while there is nothing to write


@dataclass(slots=True)
class WriterCounts:
    """Since the start; written by the writer's thread."""

    events_written: int = 0
    batches_written: int = 0
    bytes_written: int = 0
    failures: int = 0


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """`max_size`: bytes that all segments may take; 0: no limit. `watermarks` are asked before each write, and every
    `CHECK_EVERY` seconds without one."""

    max_size: int
    compress: bool = True
    backoff: Backoff = RETRIES
    watermarks: Watermarks | None = None


def _do_nothing() -> None:
    pass


class SegmentWriter:
    """`submit` and `remove_before` never block on the disk. `written` has the entries that are on disk, for the loop to
    take; `on_written` is called on the thread after that.

    `problem`: why nothing can be written now, in words; empty while it can. `is_full`: True while it has the size that
    it may have, which is no fault."""

    def __init__(
        self,
        store: SegmentStore,
        options: WriterOptions,
        on_written: Callable[[], None] = _do_nothing,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.store = store
        self.counts = WriterCounts()
        self.written: deque[Entry] = deque()
        self.problem = ""
        self.is_full = False
        self.failure: Exception | None = None  # why the thread has ended
        self.watermarks = options.watermarks
        self.max_size = options.max_size
        self._options = options
        self._on_written = on_written
        self._clock = clock
        self._compression = Compression(compress=options.compress)
        self._throttle = Throttle(clock)
        self._changed = threading.Condition()  # guards what follows
        self._pending: deque[Entry] = deque()
        self._remove_before = (0, False)
        self._is_writing = False
        self._is_closing = False
        self._attempts = 0
        self._retry_at = 0.0
        self._thread = threading.Thread(target=self._run, name="queue writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def idle(self) -> bool:
        """True if nothing waits to be written."""
        with self._changed:  # else what the writer is just taking, or giving back, might be in neither
            return not self._pending and not self._is_writing

    def submit(self, entries: Iterable[Entry]) -> None:
        """Let batches be written, in the order of the calls."""
        with self._changed:
            self._pending.extend(entries)
            self._changed.notify_all()

    def remove_before(self, sequence: int, *, last: bool) -> None:
        """Let segments be removed of which all is delivered (`SegmentStore.remove_before`)."""
        with self._changed:
            self._remove_before = (sequence, last)
            self._retry_at = 0.0  # there is room again
            self._changed.notify_all()

    def flush(self, timeout: float) -> bool:
        """Wait until all is written, for at most so many seconds; a write that failed is tried once more at once.
        Return whether it is."""
        with self._changed:
            self._retry_at = 0.0
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self.idle, timeout)

    def close(self, timeout: float) -> None:
        """End the thread. What is not written yet is not written."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join(timeout)
        if not self._thread.is_alive():
            self.store.end_segment()

    @property
    def unwritten(self) -> list[Entry]:
        """Return what waits to be written and is not delivered."""
        with self._changed:
            return [entry for entry in self._pending if not entry.is_delivered]

    def _run(self) -> None:
        try:
            while self._wait():
                self.step()
        except Exception as error:
            # The thread's outermost frame: what waits to be written would wait without a word.
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
        """Remove what is to be removed, and write one group. Never sleeps."""
        may_grow = self.watermarks is None or self.watermarks.may_grow()
        with self._changed:
            (sequence, last), self._remove_before = self._remove_before, (0, False)
            group = self._take_group()
            self._is_writing = bool(group)
        try:
            if sequence:
                self.store.remove_before(sequence, last=last)
            rest = self._write(group, may_grow=may_grow)
        except (OSError, Misplaced) as error:
            self._failed(error)
            rest = group
        with self._changed:
            self._pending.extendleft(reversed(rest))
            self._is_writing = False
            if rest:
                self._attempts += 1
                self._retry_at = self._clock() + self._options.backoff.delay(self._attempts)
            elif group:
                self._attempts, self._retry_at = 0, 0.0
            self._changed.notify_all()
        if self.written:
            self._on_written()

    def _take_group(self) -> list[Entry]:
        group, size = [], 0
        while self._pending and size < GROUP_BYTES:
            entry = self._pending.popleft()
            if not entry.is_delivered:
                group.append(entry)
                size += entry.batch.cost
        return group

    def _write(self, group: list[Entry], *, may_grow: bool) -> list[Entry]:
        """Write the group as far as there is room for it. Return those that were not written. Raises OSError and
        Misplaced."""
        most, size = self.max_size, self.store.bytes + HEADER_SIZE  # of a segment that may be begun
        entries, payloads = list[Entry](), list[Payload]()
        for entry in group if may_grow else ():
            payload = self._payload(entry)
            size += payload.size
            # A batch that is larger than the limit must not wait forever.
            if most and size > most and (payloads or self.store.bytes):
                break
            entries.append(entry)
            payloads.append(payload)
        self.is_full = len(payloads) < len(group)
        if payloads:
            for entry, place in zip(entries, self.store.write(payloads), strict=True):
                entry.place = place
            self._count(payloads)
            self.written.extend(entries)
        return group[len(entries) :]

    def _payload(self, entry: Entry) -> Payload:
        batch = entry.batch
        return Payload(entry.sequence, batch.events, batch.size, *self._compression.of(encoded(batch)))

    def _count(self, payloads: list[Payload]) -> None:
        self.counts.batches_written += len(payloads)
        self.counts.events_written += sum(payload.events for payload in payloads)
        self.counts.bytes_written += sum(payload.size for payload in payloads)
        if self.problem:
            self.problem = ""
            self._throttle.reset()
            logger.info("the queue in %s is writable again", self.store.directory, extra=END)

    def _failed(self, error: OSError | Misplaced) -> None:
        self.counts.failures += 1
        if isinstance(error, Misplaced):
            words, advice = error.problem, "move it away"
        else:
            words = error.strerror or str(error)
            advice = advice_for(error)
        self.problem = f"cannot write the queue in {self.store.directory}: {words}; {advice}"
        if self._throttle.is_due():
            logger.error(
                "%s. Retrying; until then events are kept in memory only, and reading pauses when it is full",
                self.problem,
            )
