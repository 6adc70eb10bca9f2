"""What the output with transactions needs beside its client: the positions, and when a transaction ends."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from log_shipper.shipper.event import Batch
from log_shipper.shipper.output.kafka import KafkaContext


class Positions(Protocol):
    """Makes the positions of a transaction, and moves them when it is committed."""

    def prepare(self, batches: Iterable[Batch]) -> Mapping[str, bytes]:
        """Return the entry of each file, by its id, as it will be once these batches are committed."""

    def commit(self) -> None: ...

    def add_offsets(self, producer: Any) -> None:
        """Add to the producer's transaction the offsets that consumer groups will have. Blocks; called from another
        thread. Raises KafkaException."""

    def drop_lost(self) -> None:
        """Forget the positions of batches whose source `is_lost`, which are not sent again."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a transaction ends: after `interval` seconds, or when its batches cost `bytes`, or have so many `events`."""

    interval: float
    events: int
    bytes: int


@dataclass(frozen=True, slots=True)
class TransactionContext:
    kafka: KafkaContext
    positions: Positions
    limits: Limits
