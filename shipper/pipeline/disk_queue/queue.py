"""Decides what is written to disk, and when; between the processors and the queue in memory.

A batch is published from memory at once if there is room and nothing is ahead of it. Only if it is not delivered within
`flush` is it written, with all that was put before; so an output that keeps up costs nothing. A batch is *safe* once it
is delivered or on disk, whichever is first: then its source may forget it. Repeatable data (files) gets ten times as
long, because its source is a queue itself.

At most three quarters of memory are given to the output. Batches beyond that are kept back, in order. When they fill
their share, and the output has kept the oldest batch for too long, they are written and leave memory: they are the
*backlog*, which is read back as the output has room. All later batches go through the disk too, so the order is that of
the calls.

The position of the queue is the sequence number of the first undelivered batch. A ledger of the batches that the output
has (`acks`) counts it, and the registry saves it; frames before it are delivered.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Batch, Source
from log_shipper.shipper.metrics import DiskQueueFigures
from log_shipper.shipper.pipeline.acks import Ledger
from log_shipper.shipper.pipeline.disk_queue.backlog import Backlog
from log_shipper.shipper.pipeline.disk_queue.entry import KeptBack, QueuedBatch
from log_shipper.shipper.pipeline.disk_queue.figures import figures_of
from log_shipper.shipper.pipeline.disk_queue.options import QueueOptions, QueuePositions, QueueProgress, Ticket
from log_shipper.shipper.pipeline.disk_queue.repeats import Repeats
from log_shipper.shipper.pipeline.disk_queue.writer import SegmentWriter
from log_shipper.shipper.pipeline.disk_queue.written_events import WrittenEvents
from log_shipper.shipper.pipeline.queue import MemoryQueue

logger = logging.getLogger(__name__)

NEVER = float("inf")
SHARE_OF_OUTPUT = 3 / 4  # of memory
SHARE_KEPT_BACK = 1 / 4
PATIENCE = 10  # times `flush`, for repeatable data
IDLE = 5.0  # seconds without a write after which a delivered segment is ended
RETRY_INTERVAL = 1.0  # seconds between attempts to read from a failing disk


class DiskQueue:
    """Driven by `step`, on the reading thread, unless noted. `memory` is the queue that the publisher reads.
    `sequence`: of the next batch."""

    def __init__(
        self,
        memory: MemoryQueue,
        writer: SegmentWriter,
        backlog: Backlog,
        positions: QueuePositions,
        options: QueueOptions,
        clock: Clock,
    ) -> None:
        self.writer = writer
        self.backlog = backlog
        self.repeats = Repeats()
        self.sequence = 0
        self._memory = memory
        self._positions = positions
        self._options = options
        self._clock = clock
        self._ledger = Ledger(0)
        self._unwritten: deque[QueuedBatch] = deque()  # not given to the writer yet, in order
        self._due = NEVER  # when the first of them must be written
        self._kept_back = KeptBack(memory)
        self._on_disk = WrittenEvents()
        self._removal: tuple[Ticket, int, bool] | None = None
        self._removing = -1  # the segment whose removal was requested last, and when to request again
        self._remove_again_at = 0.0
        self._written_at = NEVER
        self._retry_at = 0.0
        self._is_closed = False
        self._throttle = Throttle(clock.monotonic)

    def resume(self, progress: QueueProgress, sequence: int, repeats: Repeats | None = None) -> None:
        """Resume where an earlier process ended; `sequence` is the first unused number. `repeats`: batches not to be
        put again."""
        self.sequence = sequence
        self.repeats = repeats or self.repeats
        self._on_disk = WrittenEvents(progress.delivered, progress.written)
        self._ledger = Ledger(progress.position, self._note, self._positions.stage)
        self._note(progress.position)  # lost events are counted once
        self._written_at = self._clock.monotonic()

    @property
    def empty(self) -> bool:
        """Return True if nothing waits here to be published."""
        return not self._kept_back.entries and not self.backlog.frames

    @property
    def is_writing(self) -> bool:
        return not self.writer.idle

    @property
    def has_room(self) -> bool:
        """Return True if another batch may be put."""
        memory, options = self._memory, self._options
        if not memory.reserved_events and not memory.reserved_bytes:
            return True  # one more may wait here or be written
        return (
            memory.has_room
            and self._kept_back.events < min(memory.max_events * SHARE_KEPT_BACK, options.write_ahead)
            and self._kept_back.bytes < memory.max_bytes * SHARE_KEPT_BACK
        )

    def takes_more(self, source: Source) -> bool:
        """Return True if more of this source may be read: data that bypasses the queue leaves room for data that does
        not."""
        return not self._passes_by(source) or self._output_has_room

    @property
    def next_step(self) -> float:
        """Return the monotonic time of the next `step` if nothing wakes the loop earlier."""
        if self.backlog.frames and self._output_has_room:
            return self._retry_at
        return self._due if self._unwritten else NEVER

    @property
    def devices_over_flood_mark(self) -> frozenset[int]:
        """Return the devices of file systems at the last watermark. Callable from any thread."""
        watermarks = self.writer.watermarks
        return frozenset() if watermarks is None else watermarks.devices_over_flood_mark

    def figures(self) -> DiskQueueFigures:
        """Return the state for the monitor. Callable from any thread."""
        return figures_of(self.writer, self.backlog)

    def put(self, batch: Batch) -> None:
        if self._passes_by(batch.source):
            self._memory.put(batch)
            return
        new = self.repeats.without_known(batch)
        if new is None:
            return
        entry = QueuedBatch(self.sequence, new, new.resolve, self._clock.monotonic() + self._patience(new.source))
        self.sequence += 1
        self._unwritten.append(entry)
        self._due = min(self._due, entry.due)
        if self.empty and self._output_has_room and not self._options.is_written_first:
            self._forward(entry)
        else:
            self._kept_back.add(entry)

    def step(self) -> None:
        """Process written batches, pass waiting ones to the output, and submit due ones for writing. Raises the error
        that ended the writer's thread."""
        if self.writer.failure is not None:
            raise self.writer.failure
        self._process_written()
        if self._kept_back.entries:
            self._forward_kept_back()
            self._spill()
        if self.backlog.frames:
            self._read_back()
        if self._unwritten:
            self._write_due()
        if self.writer.store.segments:
            self._remove_delivered()

    def close(self, timeout: float) -> None:
        """Write undelivered batches, for at most `timeout` seconds, and end the thread; nothing is published
        afterwards. Failures are logged."""
        if self._is_closed:
            return
        self._is_closed = True
        self._submit()
        self.writer.flush(timeout)
        self._process_written()
        self.writer.close(timeout)
        if (
            self._settled == self.sequence
            and self.writer.store.segments
            and self._positions.save(self._progress(self.sequence)).wait(timeout)
        ):
            with suppress(OSError):  # the next start removes them
                self.writer.store.remove_before(self.sequence, last=True)
        events = sum(entry.batch.events for entry in self.writer.unwritten if not entry.batch.source.repeatable)
        if events:
            logger.error(
                "lost at the stop: %d events, neither delivered nor on disk, of inputs that cannot read them again: %s",
                events,
                self.writer.problem or "the queue on disk is full or too slow",
            )

    def _passes_by(self, source: Source) -> bool:
        """Return True for data that bypasses the queue. A dead letter stays in its file until it is delivered, and is
        not a repeat of its event."""
        return bool(source.letter) or (source.repeatable and not self._options.takes_all)

    def _patience(self, source: Source) -> float:
        if self._options.is_written_first:
            return 0.0
        return self._options.flush * (PATIENCE if source.repeatable else 1)

    @property
    def _output_has_room(self) -> bool:
        memory = self._memory
        events, size = memory.events - memory.reserved_events, memory.bytes - memory.reserved_bytes
        return not events or (
            events < memory.max_events * SHARE_OF_OUTPUT and size < memory.max_bytes * SHARE_OF_OUTPUT
        )

    def _progress(self, position: int) -> QueueProgress:
        return self._on_disk.progress(position, self.sequence)

    def _note(self, position: int) -> None:
        self._positions.note(self._progress(position))

    def _forward(self, entry: QueuedBatch) -> None:
        """Pass a batch to the output, through the queue in memory."""
        settle = self._ledger.track(entry.sequence + 1, self._clock.monotonic())
        entry.batch.resolve = partial(self._delivered, entry, settle)
        self._memory.put(entry.batch)

    def _delivered(self, entry: QueuedBatch, settle: Callable[[], None]) -> None:
        entry.is_delivered = True
        entry.release()
        settle()
        # Otherwise the two would keep each other alive, with all events, until a full garbage collection.
        entry.batch.resolve = _nothing

    def _process_written(self) -> None:
        written = self.writer.written
        if not written:
            return
        entries = [written.popleft() for _ in range(len(written))]
        for entry in entries:
            assert entry.place is not None, "it is written"
            self._on_disk.written(entry.place.following)
            if entry.reservation is None:
                self._on_disk.sent(entry.sequence, entry.place.following)
        self._note(self._ledger.position)  # before the sources forget them: a later loss of them is then known
        for entry in entries:
            entry.release()
        self._written_at = self._clock.monotonic()

    def _forward_kept_back(self) -> None:
        kept_back = self._kept_back
        while kept_back.entries and not self.backlog.frames and self._output_has_room:
            place = kept_back.entries[0].place
            if self._options.is_written_first and place is None:
                return
            entry = kept_back.pop_first()
            if place is not None:
                self._on_disk.sent(entry.sequence, place.following)
            self._forward(entry)

    def _spill(self) -> None:
        """Release batches on disk from memory, where memory or the order requires it."""
        entries = self._kept_back.entries
        while entries and entries[0].place is not None:
            if not self.backlog.frames and self.has_room:
                return
            self.backlog.add(self._kept_back.pop_first())

    def _read_back(self) -> None:
        events = 0
        while events < self._options.read_ahead and self._output_has_room:
            if self._clock.monotonic() < self._retry_at:
                return
            try:
                item = self.backlog.next(_nothing)
            except OSError as error:
                self._report_read_failure(error)
                return
            if item is None:
                return
            frame, batch = item
            events += max(batch.events, 1)
            self._on_disk.sent(frame.sequence, frame.following)
            self._forward(QueuedBatch(frame.sequence, batch, _nothing))

    def _report_read_failure(self, error: OSError) -> None:
        self._retry_at = self._clock.monotonic() + RETRY_INTERVAL
        if self._throttle.is_due():
            logger.error(
                "cannot read the queue in %s: %s (%s). Retrying. Check the disk; the kernel log has details",
                self.writer.store.directory,
                error.strerror,
                error.filename,
            )

    def _write_due(self) -> None:
        while self._unwritten and self._unwritten[0].is_delivered:
            self._unwritten.popleft()  # frees its events
        now = self._clock.monotonic()
        if now < self._due and not self._is_stuck(now):
            return
        self._unwritten = deque(entry for entry in self._unwritten if not entry.is_delivered)
        self._due = min((entry.due for entry in self._unwritten), default=NEVER)
        if now >= self._due or self._is_stuck(now):
            self._submit()

    def _is_stuck(self, now: float) -> bool:
        """Return True if memory is needed, and the output has kept the oldest batch for too long."""
        oldest = self._ledger.oldest
        return oldest is not None and now - oldest >= self._options.flush * PATIENCE and not self.has_room

    def _submit(self) -> None:
        entries, self._unwritten, self._due = self._unwritten, deque(), NEVER
        self.writer.submit(entry for entry in entries if not entry.is_delivered)

    def _remove_delivered(self) -> None:
        """Have delivered segments removed, once the registry has that on disk."""
        if self._removal is not None:
            ticket, position, last = self._removal
            if ticket.done:
                self.writer.remove_before(position, last=last)
                self._removal = None
            return
        segments, now = tuple(self.writer.store.segments), self._clock.monotonic()
        if not segments or (segments[0].number == self._removing and now < self._remove_again_at):
            return
        position, last = self._settled, self._may_remove_last
        if segments[0].last < position and (len(segments) > 1 or last):
            self._removing, self._remove_again_at = segments[0].number, now + IDLE
            self._removal = self._positions.save(self._progress(position)), position, last

    @property
    def _settled(self) -> int:
        """Return the position; the end if nothing waits anywhere, even if the last frames were damaged."""
        is_done = self.empty and not self._ledger.open_batches and self.writer.idle and not self._unwritten
        return self.sequence if is_done else self._ledger.position

    @property
    def _may_remove_last(self) -> bool:
        """Return True if the segment being written may be removed too; another one will be begun."""
        is_idle = self.writer.idle and self._clock.monotonic() - self._written_at >= IDLE
        return is_idle or self.writer.is_full


def _nothing() -> None:
    """Do nothing: batches read back are already resolved for their source."""
