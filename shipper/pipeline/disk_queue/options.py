"""What the queue on disk is given: its options, and its place in the registry."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from log_shipper.shipper.pipeline.acks import Stage


class Ticket(Protocol):
    """Of a save of the registry."""

    @property
    def done(self) -> bool:
        """True if it is on disk."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is, for at most so many seconds; return whether it is."""


@dataclass(frozen=True, slots=True)
class Progress:
    """`position`: the sequence number of the first batch that is not delivered. Of the events that were ever written,
    by their numbers: all before `delivered` are delivered, and all before `written` are on disk (fsync)."""

    position: int = 0
    delivered: int = 0
    written: int = 0


@dataclass(frozen=True, slots=True)
class Positions:
    """The queue's entry in the registry. `note` lets its progress be on disk soon, `save` at once; `stage`: of a
    transaction that commits positions."""

    note: Callable[[Progress], None]
    save: Callable[[Progress], Ticket]
    stage: Stage | None = None


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """`flush`: seconds that the output has for a batch before it is written. `read_ahead`: events that are read back in
    one step; `write_ahead`: those that are kept back to be written. `takes_all`: False if what can be read again does
    not pass through here. `is_written_first`: nothing is published before it is on disk."""

    flush: float = 0.1
    read_ahead: int = 512
    write_ahead: int = 16384
    takes_all: bool = True
    is_written_first: bool = False
