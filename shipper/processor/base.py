"""The interfaces of processors, which process events between the reader chain and the queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Protocol, runtime_checkable

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Batch
from log_shipper.shipper.formats.record import Agent
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.processor.caches import Caches
from log_shipper.shipper.processor.events import Event, Events
from log_shipper.shipper.processor.fields import ProcessorError as ProcessorError  # imported from here by processors
from log_shipper.shipper.processor.services import Services


class Processor(Protocol):
    """A step of the chain, for all events of a batch at once."""

    def run(self, events: Events, indices: Sequence[int]) -> None:
        """Process the events with these ascending indices. Called by the reading thread; never blocks, and raises
        nothing because of an event."""


@runtime_checkable
class EventProcessor(Protocol):
    """A step for one event at a time; `chain.EventByEvent` makes a Processor of it."""

    @property
    def touches(self) -> frozenset[str] | None:
        """Return the roots (`fields.root_of`) of all fields that it reads or writes; None if they are unknown in
        advance.

        If these are constants of the file, it runs once for all events that share them, so its result may depend only
        on these fields.
        """

    def apply(self, event: Event) -> None:
        """Change the event. Raises ProcessorError."""


class PendingLookup(Protocol):
    """The look-ups of a step for the events of a batch. `due`: when it stops waiting for results."""

    @property
    def open(self) -> bool:
        """Return True if a result is missing."""

    @property
    def waiting(self) -> list[int]:
        """Return the ascending indices of the events whose result is missing."""

    @property
    def due(self) -> float: ...

    def part(self, indices: Sequence[int]) -> PendingLookup:
        """Return the look-ups of these events, numbered from 0 again."""

    def write(self, events: Events) -> None:
        """Write the results into the events; a missing result is a failure."""


@runtime_checkable
class AsyncProcessor(Protocol):
    """A step with external, later results (waiting.py)."""

    keeps_order: bool

    def look_up(self, events: Events, indices: Sequence[int]) -> PendingLookup:
        """Start the look-ups that these events need. Never blocks."""


AnyKind = Processor | EventProcessor | AsyncProcessor


@runtime_checkable
class Awaiting(Protocol):
    """A processor (of either kind) of metadata that is determined elsewhere: batches wait for it before their first
    step. It may be in a branch, unlike an AsyncProcessor (waiting.py), whose look-ups depend on the events."""

    def waits_until(self, batch: Batch) -> float:
        """Return the monotonic time until which the batch waits; 0 if it need not wait any more. Called by the reading
        thread, for each batch and whenever `ProcessorContext.wake` was called: it must be quick."""


@runtime_checkable
class Storing(Protocol):
    """A processor whose result depends on values kept of earlier events. If a chain has several for one store, each
    event passes all of them before the next does (`chain.OneByOne`)."""

    @property
    def store(self) -> object: ...


class Condition(Protocol):
    """Selects events."""

    def select(self, events: Events, indices: Sequence[int]) -> Sequence[int]:
        """Return those of the ascending indices whose events meet the condition, in order."""


@dataclass(frozen=True, slots=True)
class ProcessorContext:
    """What a processor needs besides its options. `data`: the data path. `wake` is called, from any thread, when a
    waiting batch may resume. `caches` and `services` are shared by the whole agent."""

    agent: Agent
    data: FilePath
    metrics: Metrics
    clock: Clock
    caches: Caches
    wake: Callable[[], None] = lambda: None
    services: Services = field(default_factory=Services)


@runtime_checkable
class Buildable(Protocol):
    """The options of a processor, in its module of `processors`."""

    def build(self, context: ProcessorContext) -> AnyKind:
        """Return the processor; an AsyncProcessor if it `awaits` look-ups. Raises StartError if it cannot work here."""
