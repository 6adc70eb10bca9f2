"""The queue on disk without its thread and without an output: a test steps it, delivers, and kills the process."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path

from log_shipper.shipper.event import Batch
from log_shipper.shipper.pipeline.disk_queue.backlog import Backlog
from log_shipper.shipper.pipeline.disk_queue.files import SegmentDisk
from log_shipper.shipper.pipeline.disk_queue.options import QueueOptions, QueuePositions, QueueProgress
from log_shipper.shipper.pipeline.disk_queue.queue import DiskQueue
from log_shipper.shipper.pipeline.disk_queue.segments import load
from log_shipper.shipper.pipeline.disk_queue.store import SegmentStore
from log_shipper.shipper.pipeline.disk_queue.writer import SegmentWriter, WriterOptions
from log_shipper.shipper.pipeline.queue import MemoryQueue
from tests.builders import batch, source
from tests.fakes import ManualClock

SEED = 5


@dataclass
class Saved:
    done: bool = True

    def wait(self, timeout: float | None = None) -> bool:
        return self.done


@dataclass
class QueueLab:
    """The queue of one process after another: `start` loads what the one before has left."""

    directory: Path
    options: QueueOptions = field(default_factory=QueueOptions)
    events: int = 40
    max_size: int = 0
    segment_size: int = 10**6
    clock: ManualClock = field(default_factory=ManualClock)
    progress: QueueProgress | None = None
    saves: bool = True
    resolved: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.in_flight: deque[Batch] = deque()
        self.arrived: list[str] = []
        self.files = SegmentDisk()
        self.start()

    def start(self) -> None:
        loaded = load(self.files, self.directory, SEED, self.progress)
        self.lost = loaded.lost
        self.memory = MemoryQueue(self.events, 10**9)
        self.store = SegmentStore(self.files, self.directory, SEED, self.segment_size, loaded.segments, loaded.written)
        self.writer = SegmentWriter(self.store, WriterOptions(self.max_size), clock=self.clock.monotonic)
        backlog = Backlog(self.files, self.store, loaded.waiting, loaded.lost)
        positions = QueuePositions(self._note, self._save)
        self.queue = DiskQueue(self.memory, self.writer, backlog, positions, self.options, self.clock)
        self.queue.resume(loaded.progress, loaded.next_sequence)

    def kill(self) -> None:
        self.in_flight.clear()
        self.close()
        self.start()

    def close(self) -> None:
        """Close what the end of a process would close; nothing is written."""
        self.store.end_segment()
        self.files.stop_reading()

    @property
    def position(self) -> int:
        return 0 if self.progress is None else self.progress.position

    def _note(self, progress: QueueProgress) -> None:
        before = self.progress or QueueProgress()
        assert progress.position >= before.position
        assert progress.written >= before.written
        assert progress.written >= progress.delivered >= before.delivered
        self.progress = progress

    def _save(self, progress: QueueProgress) -> Saved:
        self._note(progress)
        return Saved(self.saves)

    def put(self, *texts: str, repeatable: bool = False, file_id: str = "f1", start: int = 0) -> Batch:
        made = batch(texts, file_id, start, resolve=lambda: self.resolved.append(texts[0]))
        made.source = replace(source(file_id), repeatable=repeatable)
        self.queue.put(made)
        return made

    def step(self, seconds: float = 0.0, *, write: bool = True) -> None:
        """Step the loop, write the queue, and hand the output all batches."""
        self.clock.advance(seconds)
        self.queue.step()
        if write:
            self.writer.step()
            self.queue.step()
        while (taken := self.memory.get()) is not None:
            self.in_flight.append(taken)

    def deliver(self, count: int = 1) -> None:
        for _ in range(count):
            first = self.in_flight.popleft()
            self.arrived += first.messages.texts
            self.memory.remove(first)
            first.resolve()

    def drain(self) -> list[str]:
        """Deliver until nothing is left; return what has arrived."""
        for _ in range(1000):
            self.step()
            if not self.in_flight and self.queue.empty:
                return self.arrived
            self.deliver(len(self.in_flight))
        raise AssertionError("does not drain")

    @property
    def on_disk(self) -> int:
        return sum(segment.frames for segment in self.store.segments)
