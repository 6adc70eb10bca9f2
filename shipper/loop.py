"""The one thread that reads, publishes and takes in acknowledgements.

Two busy Python threads contend for the interpreter lock; one thread that does both in turn is faster and simpler
(measured: ARCHITECTURE.md, "Speed"). Whatever waits (fsync, network, compression) runs on threads that do so without
the lock: the registrar's and librdkafka's.
"""

from registry.registrar import Registrar
from shipper.clock import Clock
from shipper.event import TRUNCATED, Batch
from shipper.metrics import Metrics
from shipper.pipeline.pipeline import Pipeline
from shipper.source.base import BatchSource
from shipper.wake import Wake

BYTES_A_STEP = 128 * 1024
LONGEST_WAIT = 1.0
# How late an acknowledgement may be taken in: the client sends by itself meanwhile, and each wake-up costs more than
# the report.
REPORTS_INTERVAL = 0.02


class Loop:
    """`wake` is set by the watcher, the registrar and signals."""

    def __init__(
        self,
        source: BatchSource,
        pipeline: Pipeline,
        registrar: Registrar,
        metrics: Metrics,
        clock: Clock,
        wake: Wake,
    ) -> None:
        self._source = source
        self._pipeline = pipeline
        self._registrar = registrar
        self._metrics = metrics
        self._clock = clock
        self._wake = wake
        self.stepped = clock.monotonic()  # when the last step began

    def step(self, *, reading: bool = True, wait: float = LONGEST_WAIT) -> None:
        """Do one round: check files, read some, publish, take in acknowledgements; then wait for at most `wait`
        seconds, if there is nothing to do."""
        self._wake.clear()
        self.stepped = self._clock.monotonic()
        if self._registrar.failure is not None:
            raise self._registrar.failure
        if reading:
            self._source.step()
            self._read()
        self._pipeline.step()
        if not self.finished:
            self._wait(wait, reading=reading)

    @property
    def drained(self) -> bool:
        """True if everything that was read is resolved."""
        return self._pipeline.drained

    @property
    def finished(self) -> bool:
        """True if the source is finished, and everything is resolved."""
        return self._pipeline.drained and self._source.finished

    def _read(self) -> None:
        if not self._pipeline.has_room:
            return
        for batch in self._source.read(BYTES_A_STEP):
            self._put(batch)
            if not self._pipeline.has_room:
                return

    def _put(self, batch: Batch) -> None:
        metrics, messages, counts = self._metrics, batch.messages, batch.source.counts
        events, size = batch.events, batch.size
        metrics.events_read += events
        metrics.bytes_read += size
        counts.events_read += events
        counts.bytes_read += size
        if messages.flags:
            metrics.events_truncated += sum(TRUNCATED in flags for flags in messages.flags.values())
        self._pipeline.put(batch)

    def _wait(self, longest: float, *, reading: bool) -> None:
        pipeline = self._pipeline
        # Without room nothing is read, and files that are polled would keep the loop busy for nothing.
        can_read = reading and pipeline.has_room
        longest = min(longest, max(pipeline.next_step - self._clock.monotonic(), 0))
        if reading:
            longest = min(longest, self._source.next_wake(reading=can_read))
        # Not while something is written to disk: that makes room and wakes the loop, which a poll would not notice.
        if pipeline.in_flight and (not can_read or pipeline.awaits_reports) and not pipeline.is_writing:
            pipeline.output.poll(min(longest, REPORTS_INTERVAL))
        elif longest > 0:
            self._wake.wait(min(longest, REPORTS_INTERVAL) if pipeline.in_flight else longest)
