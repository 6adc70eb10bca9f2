"""The contract of an output. Fakes and real ones pass the same tests (tests/contract/test_output.py)."""

from collections.abc import Sequence
from typing import Protocol

from shipper.event import Batch, Rejection


class Deliveries(Protocol):
    """Gets the outcome of each batch; called from within `publish` or `poll`, on the same thread."""

    def delivered(self, batch: Batch, rejected: Sequence[Rejection]) -> None:
        """Every event of the batch is durable at its destination, but for the rejected ones, which never will be."""


class Output(Protocol):
    """All methods are called from the one publishing thread, and none raises because the destination is away."""

    def publish(self, batch: Batch) -> bool:
        """Take over a batch. Each batch of a file is delivered after the batches of that file taken before it.
        False when there is no room now: the caller offers it again later. Never blocks on the destination."""

    def poll(self, timeout: float) -> None:
        """Carry delivery on, for at most `timeout` seconds; returns early when something was delivered."""

    @property
    def in_flight(self) -> int:
        """Batches that were taken and are not delivered yet."""

    def close(self) -> None:
        """Give up what is in flight and free what is kept. At-least-once is preserved: no position has moved."""
