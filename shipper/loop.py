"""The one thread that reads, publishes and takes in acknowledgements.

Two busy Python threads pass the interpreter lock to and fro; one thread that does both in turn is faster and simpler
(measured: ARCHITECTURE.md, "Speed"). Whatever waits elsewhere (fsync, network, compression) runs on threads that
hold no lock: the registrar's and librdkafka's.
"""

from registry.registrar import Registrar
from shipper.clock import Clock
from shipper.errors import Truncated
from shipper.event import TRUNCATED, Batch
from shipper.metrics import Metrics
from shipper.output.base import Output
from shipper.pipeline.processing import Processing
from shipper.pipeline.publisher import Publisher
from shipper.pipeline.queue import MemoryQueue
from shipper.reader.gzip_file import CompressionError
from shipper.source.base import FileSource
from shipper.source.reading.harvester import Harvester
from shipper.source.reading.pending_bytes import PendingBytes
from shipper.source.reading.scheduler import Scheduler
from shipper.wake import Wake

# So that acknowledgements are taken in between, and the queue's bound is looked at. Small reads are many files' news;
# a large one alone makes the others wait long enough, the more so if processors work on it.
READS_A_STEP = 4
BYTES_A_STEP = 128 * 1024
LONGEST_WAIT = 1.0
# How late an acknowledgement is taken in while nothing waits for it: the client sends on its own, and each wake-up
# costs more than the report.
REPORTS_INTERVAL = 0.02


class Loop:
    """`wake` is set by whoever has news for the loop: the watcher, the registrar, a signal."""

    def __init__(
        self, crawler: FileSource, scheduler: Scheduler, queue: MemoryQueue, publisher: Publisher,
        output: Output, registrar: Registrar, metrics: Metrics, clock: Clock, wake: Wake, pending: PendingBytes,
    ) -> None:  # fmt: skip
        self.crawler = crawler
        self._scheduler = scheduler
        self._queue = queue
        self._processing = Processing(queue)
        self._paused: dict[Harvester, None] = {}  # much of them waits for answers
        self._publisher = publisher
        self._output = output
        self._registrar = registrar
        self._metrics = metrics
        self._clock = clock
        self._wake = wake
        self._pending = pending

    def step(self, *, reading: bool = True, wait: float = LONGEST_WAIT) -> None:
        """One round: look at files, read some, publish, take in acknowledgements; then wait, if there is nothing to
        do, for at most `wait` seconds."""
        self._wake.clear()
        if self._registrar.failure is not None:
            raise self._registrar.failure
        if reading:
            self.crawler.step()
            self._read()
        if not self._processing.empty:
            self._process()
        self._publisher.step(self._output)
        self._output.poll(0)
        if self.finished or (reading and self._scheduler.busy and self._queue.has_room):
            return
        self._wait(wait, reading=reading)

    @property
    def drained(self) -> bool:
        """Everything that was read is resolved. What waits for answers has its room in the queue."""
        return self._queue.events == 0 and self._queue.empty and not self._output.in_flight

    @property
    def finished(self) -> bool:
        """With `once`: every file that the scan found was read to its end, and everything is resolved."""
        # The cheap questions first: with ten thousand files, asking each of them at every step took most of the run.
        if not self.crawler.scanned or self._scheduler.busy or not self.drained:
            return False
        return all(harvester.finished and harvester.settled for harvester in self.crawler.running.values())

    def _wait(self, longest: float, *, reading: bool) -> None:
        if not self._processing.empty:
            longest = min(longest, max(self._processing.next_step - self._clock.monotonic(), 0))
        if reading:
            longest = min(longest, max(self.crawler.next_step - self._clock.monotonic(), 0))
            if self._queue.has_room:  # else nothing is read, and hot files would keep the loop busy for nothing
                longest = min(longest, self._scheduler.idle_for)
        if self._output.in_flight and not (reading and self._queue.has_room):
            self._output.poll(min(longest, REPORTS_INTERVAL))
        elif longest > 0:
            self._wake.wait(min(longest, REPORTS_INTERVAL) if self._output.in_flight else longest)

    def _read(self) -> None:
        for _, held in self._scheduler.released():
            if held is not None:
                self._put(held)
        for harvester in self._scheduler.overdue():
            # Not ended before another look: while the queue was full, its next line may have come unread.
            self._scheduler.wake(harvester)
        enough = self._metrics.bytes_read + BYTES_A_STEP
        for _ in range(READS_A_STEP):
            has_read = self._metrics.bytes_read >= enough
            ready = self._scheduler.next_ready() if self._queue.has_room and not has_read else None
            if ready is None:
                return
            self._read_one(ready)

    def _process(self) -> None:
        self._processing.step()
        for harvester in [each for each in self._paused if self._processing.takes_more(each.source)]:
            del self._paused[harvester]
            self._scheduler.wake(harvester)

    def _read_one(self, harvester: Harvester) -> None:
        if not self._processing.takes_more(harvester.source):
            self._scheduler.forget(harvester)
            self._paused[harvester] = None
            return
        first = self.crawler.waits_for(harvester)
        if first is not None:
            self._scheduler.rest(harvester)
            self._scheduler.wake(first)
            return
        joined, read_to = harvester.seam is not None, harvester.read_to
        try:
            batch = harvester.read()
        except Truncated as error:
            rest = self.crawler.truncated(harvester, error)
            if rest is not None:
                self._put(rest)
        except CompressionError as error:
            self.crawler.damaged(harvester, error)
        except OSError as error:
            self.crawler.failed(harvester, error)
        else:
            if batch is None:
                self._nothing_read(harvester)
                return
            self._take(harvester, batch)
            if joined and harvester.seam is None:
                self.crawler.parted(harvester)
            for each in self._pending.grew(harvester.read_to - read_to, self.crawler.running.values):
                self._scheduler.wake(each)

    def _nothing_read(self, harvester: Harvester) -> None:
        if not harvester.at_end and not harvester.finished:
            self._scheduler.again(harvester)
            return
        self._scheduler.rest(harvester)
        self.crawler.at_end(harvester)
        if harvester.at_end and harvester.is_overdue:
            self._end_message(harvester)

    def _end_message(self, harvester: Harvester) -> None:
        """A message that is ended by time: where, must be on disk before it is sent, or a second reading after a
        crash could join it with what follows and give the same offset another text."""
        joined = harvester.seam is not None
        batch = harvester.end_message()
        if batch is not None:
            self._take(harvester, batch)
            if joined:
                self.crawler.parted(harvester)

    def _take(self, harvester: Harvester, batch: Batch) -> None:
        if harvester.must_save and harvester.policy.repeatable:
            harvester.must_save = False
            self._scheduler.hold(self._registrar.save([harvester.state]), harvester, batch)
        else:
            self._scheduler.again(harvester)
            self._put(batch)

    def _put(self, batch: Batch) -> None:
        metrics, messages = self._metrics, batch.messages
        metrics.events_read += batch.events
        metrics.bytes_read += batch.size
        if messages.flags:
            metrics.events_truncated += sum(TRUNCATED in flags for flags in messages.flags.values())
        self._processing.put(batch)
