"""The options of the queue on disk, and its entry in the registry."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from log_shipper.shipper.pipeline.acks import Stage


class Ticket(Protocol):
    """A pending save of the registry."""

    @property
    def done(self) -> bool:
        """Return True if it is on disk."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait up to `timeout` seconds for it; return whether it is on disk."""


@dataclass(frozen=True, slots=True)
class QueueProgress:
    """`position`: the sequence number of the first undelivered batch. By event number: all before `delivered` are
    delivered, all before `written` are on disk (fsync)."""

    position: int = 0
    delivered: int = 0
    written: int = 0


@dataclass(frozen=True, slots=True)
class QueuePositions:
    """The queue's entry in the registry. `note` saves its progress soon, `save` at once; `stage`: of a transaction that
    commits positions."""

    note: Callable[[QueueProgress], None]
    save: Callable[[QueueProgress], Ticket]
    stage: Stage | None = None


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """`flush`: seconds the output has for a batch before it is written. `read_ahead`: events read back per step;
    `write_ahead`: events kept back for writing. `takes_all`: False if repeatable data bypasses the queue.
    `is_written_first`: nothing is published before it is on disk."""

    flush: float = 0.1
    read_ahead: int = 512
    write_ahead: int = 16384
    takes_all: bool = True
    is_written_first: bool = False
