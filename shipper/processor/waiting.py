"""Processors that ask somebody else (dns): the batch is put aside until the answers have come, and nobody is held up.

A chain with such steps is a `WaitingChain`. It works on a batch up to the first step with an open question and goes on
from there later (pipeline/processing.py keeps it meanwhile). Where order does not matter, the events without an open
question go on at once, as a part of their own; a position moves over the batch once all of its parts are resolved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from shipper.clock import Clock
from shipper.event import Batch, Growth, together
from shipper.metrics import Metrics
from shipper.processor.base import Condition, Processor
from shipper.processor.events import Events


class Question(Protocol):
    """What a step has asked about the events of a batch. `due`: when it is too late for more answers."""

    @property
    def open(self) -> bool:
        """Whether an answer is missing."""

    @property
    def waiting(self) -> list[int]:
        """The events for which one is missing, ascending."""

    @property
    def due(self) -> float: ...

    def part(self, indices: Sequence[int]) -> Question:
        """The same about these events, which are counted anew."""

    def write(self, events: Events) -> None:
        """Put the answers into the events; what is still missing is a failure."""


class Asks(Protocol):
    keeps_order: bool

    def ask(self, events: Events, at: Sequence[int]) -> Question:
        """Start to find out what these events need. Never blocks."""


class Asking:
    """A step that may have to wait, with its `when`."""

    def __init__(self, asks: Asks, condition: Condition | None) -> None:
        self.keeps_order = asks.keeps_order
        self._asks = asks
        self._condition = condition

    def ask(self, events: Events, at: Sequence[int]) -> Question:
        return self._asks.ask(events, at if self._condition is None else self._condition.select(events, at))


class WaitingChain:
    """What `Source.process` is where a step may have to wait. One step that keeps the order keeps it for all."""

    def __init__(
        self, steps: Sequence[Processor | Asking], metrics: Metrics, clock: Clock, growth: Growth | None = None
    ) -> None:
        self.steps = steps
        self.growth = growth or Growth()
        self.keeps_order = any(isinstance(step, Asking) and step.keeps_order for step in steps)
        self.metrics = metrics
        self.clock = clock

    def __call__(self, batch: Batch) -> Sequence[BatchPart] | None:
        if not batch.messages.texts:
            return None
        part = BatchPart(self, batch, 0)
        parted = part.go_on()
        return None if part.done and not parted else [part, *parted]


class BatchPart:
    """The `Part` of a batch that stands at step number `position`."""

    def __init__(self, chain: WaitingChain, batch: Batch, position: int, question: Question | None = None) -> None:
        self.batch = batch
        self.done = False
        self.keeps_order = chain.keeps_order
        self._chain = chain
        self._events = Events(batch)
        self._position = position
        self._question = question

    @property
    def due(self) -> float:
        return self._question.due if self._question is not None else 0.0

    def go_on(self) -> Sequence[BatchPart]:
        while True:
            if self._question is not None:
                if self._question.open and self._chain.clock.monotonic() < self._question.due:
                    return ()
                self._question.write(self._events)
                self._question = None
                self._position += 1
            at = self._alive()
            if self._position == len(self._chain.steps) or not at:
                return self._finish()
            step = self._chain.steps[self._position]
            if not isinstance(step, Asking):
                step.run(self._events, at)
                self._position += 1
                continue
            self._question = step.ask(self._events, at)
            if not self.keeps_order and 0 < len(self._question.waiting) < len(at):
                return self._split(self._question, at)

    def _alive(self) -> Sequence[int]:
        dropped, everything = self._events.dropped, range(len(self._events.texts))
        return [index for index in everything if index not in dropped] if dropped else everything

    def _finish(self) -> Sequence[BatchPart]:
        self._chain.metrics.events_filtered += len(self._events.dropped)
        self._events.finish()
        self.done = True
        return ()

    def _split(self, question: Question, at: Sequence[int]) -> Sequence[BatchPart]:
        """Keep what waits; the rest goes on, and is returned with whatever is parted from it."""
        self._chain.metrics.events_filtered += len(self._events.dropped)
        waiting = question.waiting
        held = set(waiting)
        ready = [index for index in at if index not in held]
        resolve_ready, resolve_waiting = together(self.batch.resolve, 2)
        rest, own = self.batch.part(ready), self.batch.part(waiting)
        rest.resolve, own.resolve = resolve_ready, resolve_waiting
        # The raw bytes are counted once, by one of the two.
        rest.messages.end = own.messages.start = rest.messages.start + sum(rest.messages.lengths)
        self.batch, self._events, self._question = own, Events(own), question.part(waiting)
        parted = BatchPart(self._chain, rest, self._position, question.part(ready))
        return [parted, *parted.go_on()]
