"""The thread that reads, publishes and handles acknowledgements.

Two busy Python threads contend for the interpreter lock; a single thread that alternates is faster and simpler
(measured: ARCHITECTURE.md, "Speed"). Blocking work (fsync, network, compression) runs on threads that release the lock:
the registrar's and librdkafka's.

A wake-up costs more than twenty lines. Therefore, after a step that read something, and while something is in flight,
the next step begins an interval later and handles all lines and reports since then together.
"""

from log_shipper.shipper.event import TRUNCATED, Batch
from log_shipper.shipper.inputs.base import SourceContext
from log_shipper.shipper.inputs.batch_sources import BatchSources
from log_shipper.shipper.pipeline.pipeline import Pipeline
from log_shipper.shipper.wake import Wake

BYTES_A_STEP = 128 * 1024
MAX_WAIT = 2.0
# Maximum seconds until the loop notices a `wake` while it waits in the client; a report ends that wait at once.
REPORTS_WAIT = 0.1


class Loop:
    """The loop. `wake` is set by other threads and signals, and watches the descriptors of file events. `interval`:
    seconds from a step that read something to the next.
    """

    def __init__(
        self, sources: BatchSources, pipeline: Pipeline, context: SourceContext, wake: Wake, interval: float
    ) -> None:
        self._sources = sources
        self._pipeline = pipeline
        self._registrar, self._metrics, self._clock = context.registrar, context.metrics, context.clock
        self._wake = wake
        self._interval = interval
        self.stepped = self._clock.monotonic()  # start of the last step

    def step(self, *, reading: bool = True, wait: float = MAX_WAIT) -> None:
        """Do one round: check files, read, publish, handle acknowledgements; then wait up to `wait` seconds if idle."""
        self._wake.clear()
        self.stepped = self._clock.monotonic()
        if self._registrar.failure is not None:
            raise self._registrar.failure
        has_read = False
        if reading:
            self._sources.step()
            has_read = self._read()
        self._pipeline.step()
        if not self.finished:
            self._wait(wait, reading=reading, has_read=has_read)

    @property
    def finished(self) -> bool:
        """Return True if everything is read and resolved."""
        return self._pipeline.drained and self._sources.finished

    def _read(self) -> bool:
        """Read from each source in turn, up to its share of a step, while there is room. Return whether there was
        anything to read.
        """
        has_read = False
        if not self._pipeline.has_room:
            return has_read
        sources = self._sources.in_turn()
        for source in sources:
            for batch in source.read(BYTES_A_STEP // len(sources)):
                has_read = True
                self._put(batch)
                if not self._pipeline.has_room:
                    return has_read
        return has_read

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

    def _wait(self, timeout: float, *, reading: bool, has_read: bool) -> None:
        pipeline = self._pipeline
        # Without room nothing is read, and polling files would keep the loop busy for nothing.
        can_read = reading and pipeline.has_room
        timeout = min(timeout, max(pipeline.next_step - self._clock.monotonic(), 0))
        if reading:
            timeout = min(timeout, self._sources.next_wake(reading=can_read))
        # Not during a write to disk: that makes room and wakes the loop, which a poll would not notice.
        output = pipeline.output
        if output.in_flight and (not can_read or output.awaits_reports) and not pipeline.is_writing:
            output.poll(min(timeout, REPORTS_WAIT))
        elif timeout > 0:
            if has_read or output.in_flight:
                self._wake.pause(min(timeout, self._interval))
            else:
                self._wake.wait(timeout)
