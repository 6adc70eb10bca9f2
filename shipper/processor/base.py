"""The contracts of processors, which work on events between the reader chain and the queue."""

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
from log_shipper.shipper.processor.fields import ProcessorError as ProcessorError  # processors import it from here
from log_shipper.shipper.processor.services import Services


class Processor(Protocol):
    """A step of the chain, for the events of a batch at once."""

    def run(self, events: Events, indices: Sequence[int]) -> None:
        """Process the events with these indices, which ascend. Called by the reading thread; never blocks, and raises
        nothing because of an event."""


@runtime_checkable
class EventProcessor(Protocol):
    """A step for one event at a time; `chain.EventByEvent` makes a Processor of it."""

    @property
    def touches(self) -> frozenset[str] | None:
        """Return the roots (`fields.root_of`) of all fields that it reads or writes; None if they are not known before.

        If these are constants of the file, it runs once for all events that share them, so its result must depend on
        these fields alone.
        """

    def apply(self, event: Event) -> None:
        """Change the event. Raises ProcessorError."""


class PendingLookup(Protocol):
    """The look-ups of a step for the events of a batch. `due` is when it is too late for more results."""

    @property
    def open(self) -> bool:
        """True if a result is missing."""

    @property
    def waiting(self) -> list[int]:
        """Return the indices of the events whose result is missing, ascending."""

    @property
    def due(self) -> float: ...

    def part(self, indices: Sequence[int]) -> PendingLookup:
        """Return the look-ups of these events, which are numbered from 0 again."""

    def write(self, events: Events) -> None:
        """Write the results into the events; a result that is still missing is a failure."""


@runtime_checkable
class AsyncProcessor(Protocol):
    """A step whose results come from elsewhere, and later (waiting.py)."""

    keeps_order: bool

    def look_up(self, events: Events, indices: Sequence[int]) -> PendingLookup:
        """Start to look up what these events need. Never blocks."""


AnyKind = Processor | EventProcessor | AsyncProcessor


@runtime_checkable
class Awaiting(Protocol):
    """A processor (of either kind) of metadata that something else finds out: batches wait for it before their first
    step. It may be part of a branch, unlike an AsyncProcessor (waiting.py), whose look-ups depend on the events."""

    def waits_until(self, batch: Batch) -> float:
        """Return the monotonic time until which the batch is to wait; 0 if it need not, or not any more. Called by the
        reading thread, again whenever `ProcessorContext.wake` was called, and for each batch: it must be quick."""


@runtime_checkable
class Storing(Protocol):
    """A processor whose result depends on what it and others have kept of earlier events. Where a chain has several of
    one store, the events pass from the first to the last of them one after the other (`chain.OneByOne`)."""

    @property
    def store(self) -> object: ...


class Condition(Protocol):
    def select(self, events: Events, indices: Sequence[int]) -> Sequence[int]:
        """Return those of the indices, which ascend, whose events meet the condition, in order."""


@dataclass(frozen=True, slots=True)
class ProcessorContext:
    """What a processor may need beside its options. `data` is the data path. `wake` is called, from any thread, when a
    batch that waits may be resumed. `caches` and `services` are those of the whole agent."""

    agent: Agent
    data: FilePath
    metrics: Metrics
    clock: Clock
    caches: Caches
    wake: Callable[[], None] = lambda: None
    services: Services = field(default_factory=Services)


@runtime_checkable
class Buildable(Protocol):
    """The model of a processor's options, in its module of `processors`."""

    def build(self, context: ProcessorContext) -> AnyKind:
        """Return the processor of these options; an AsyncProcessor where it `awaits` look-ups. Raises StartError if it
        cannot work here."""
