"""The contracts of processors: what works on events between the reader chain and the queue."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Protocol, runtime_checkable

from shipper.clock import Clock
from shipper.metrics import Metrics
from shipper.processor.events import Event, Events
from shipper.processor.fields import ProcessorError as ProcessorError  # for those who write a processor
from shipper.record import Agent


class Processor(Protocol):
    """One step of the chain, for the events of a batch at once."""

    def run(self, events: Events, indices: Sequence[int]) -> None:
        """Work on the events with these indices, which ascend. Called by the reading thread; never blocks, raises
        nothing about events."""


@runtime_checkable
class EventProcessor(Protocol):
    """A step that looks at one event at a time; `chain.Each` makes a Processor of it."""

    @property
    def touches(self) -> frozenset[str] | None:
        """The roots (`events.root_of`) of all fields that it reads or writes; None if that is not known before.

        Where these are constants of the file, it works once for all events that share them, so what it does must
        follow from these fields alone.
        """

    def apply(self, event: Event) -> None:
        """Change the event. Raises ProcessorError."""


class Condition(Protocol):
    def select(self, events: Events, indices: Sequence[int]) -> Sequence[int]:
        """Those of the indices, which ascend, whose events meet the condition, in order."""


@dataclass(frozen=True, slots=True)
class ProcessorContext:
    """What a processor may need to know beside its own options. `data`: the data path. `wake` is called, from whatever
    thread, when a batch that waits may be resumed."""

    agent: Agent
    data: FilePath
    metrics: Metrics
    clock: Clock
    wake: Callable[[], None] = lambda: None
