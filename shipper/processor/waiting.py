"""Processors that wait for external results: their batch waits with them, without blocking others.

A chain with such steps is a `WaitingChain`. There are two kinds. An `AsyncProcessor` (dns) looks up data of the events:
the chain processes a batch up to the first pending look-up, and resumes there later (pipeline/processing.py keeps it
meanwhile). If order does not matter, events without a pending look-up continue at once, as a separate part; the
position moves over the batch once all parts are resolved.

An `Awaiting` processor needs metadata of the machine or the file: the whole batch waits, in order, before the first
step, and nothing differs afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Batch, Growth, resolve_after_all
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.processor.base import AsyncProcessor, Awaiting, Condition, PendingLookup, Processor
from log_shipper.shipper.processor.events import Events


class AsyncStep:
    """A step that may have to wait, with its `when`."""

    def __init__(self, processor: AsyncProcessor, condition: Condition | None) -> None:
        self.keeps_order = processor.keeps_order
        self._processor = processor
        self._condition = condition

    def look_up(self, events: Events, indices: Sequence[int]) -> PendingLookup:
        return self._processor.look_up(
            events, indices if self._condition is None else self._condition.select(events, indices)
        )


class WaitingChain:
    """The `Source.process` of an input with a step that may have to wait. A step that keeps order keeps it for all."""

    def __init__(
        self,
        steps: Sequence[Processor | AsyncStep],
        metrics: Metrics,
        clock: Clock,
        growth: Growth | None = None,
        awaiting: Sequence[Awaiting] = (),
    ) -> None:
        self.steps = steps
        self._awaiting = awaiting
        self.growth = growth or Growth()
        self.keeps_order = any(isinstance(step, AsyncStep) and step.keeps_order for step in steps)
        self.metrics = metrics
        self.clock = clock

    def __call__(self, batch: Batch) -> Sequence[BatchPart] | None:
        if not batch.messages.texts:
            return None
        part = BatchPart(self, batch, 0)
        if self._awaiting:
            part.wait()
        split_off = part.resume()
        return None if part.done and not split_off else [part, *split_off]

    def waits_until(self, batch: Batch) -> float:
        """Return the monotonic time until which the batch waits before the first step; 0 if it does not."""
        return max(step.waits_until(batch) for step in self._awaiting)


class BatchPart:
    """The `Part` of a batch that is at step number `position`."""

    def __init__(self, chain: WaitingChain, batch: Batch, position: int, pending: PendingLookup | None = None) -> None:
        self.batch = batch
        self.done = False
        self.keeps_order = chain.keeps_order
        self._chain = chain
        self._events = Events(batch)
        self._position = position
        self._pending = pending
        self._waits_until = 0.0

    def wait(self) -> None:
        """Make the batch wait before the first step, if needed. Later batches of the file then wait too, and nothing is
        split off: metadata of the file is the same for all of them."""
        until = self._chain.waits_until(self.batch)
        if until > self._chain.clock.monotonic():
            self._waits_until, self.keeps_order = until, True

    @property
    def due(self) -> float:
        return self._pending.due if self._pending is not None else self._waits_until

    def resume(self) -> Sequence[BatchPart]:
        if self._waits_until and self._still_waits():
            return ()
        while True:
            if self._pending is not None:
                if self._pending.open and self._chain.clock.monotonic() < self._pending.due:
                    return ()
                self._pending.write(self._events)
                self._pending = None
                self._position += 1
            indices = self._alive()
            if self._position == len(self._chain.steps) or not indices:
                return self._finish()
            step = self._chain.steps[self._position]
            if not isinstance(step, AsyncStep):
                step.run(self._events, indices)
                self._position += 1
                continue
            self._pending = step.look_up(self._events, indices)
            if not self.keeps_order and 0 < len(self._pending.waiting) < len(indices):
                return self._split(self._pending, indices)

    def _still_waits(self) -> bool:
        until = self._chain.waits_until(self.batch)
        waits = until > self._chain.clock.monotonic()
        if until and not waits:
            self._chain.metrics.metadata_timeouts += self.batch.events
        self._waits_until = until if waits else 0.0
        return waits

    def _alive(self) -> Sequence[int]:
        dropped, everything = self._events.dropped, range(len(self._events.texts))
        return [index for index in everything if index not in dropped] if dropped else everything

    def _finish(self) -> Sequence[BatchPart]:
        self._chain.metrics.events_filtered += len(self._events.dropped)
        self._events.finish()
        self.done = True
        return ()

    def _split(self, pending: PendingLookup, indices: Sequence[int]) -> Sequence[BatchPart]:
        """Keep the waiting events; return the others, which continue, with the parts split off from them."""
        self._chain.metrics.events_filtered += len(self._events.dropped)
        waiting = pending.waiting
        is_waiting = set(waiting)
        ready = [index for index in indices if index not in is_waiting]
        resolve_ready, resolve_waiting = resolve_after_all(self.batch.resolve, 2)
        others, own = self.batch.part(ready), self.batch.part(waiting)
        others.resolve, own.resolve = resolve_ready, resolve_waiting
        # The raw bytes count once, in one of the two.
        others.messages.end = own.messages.start = others.messages.start + sum(others.messages.lengths)
        self.batch, self._events, self._pending = own, Events(own), pending.part(waiting)
        split_off = BatchPart(self._chain, others, self._position, pending.part(ready))
        return [split_off, *split_off.resume()]
