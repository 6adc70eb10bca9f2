"""The contract of outputs. Real ones and fakes pass the same tests (tests/contract/test_output.py)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from log_shipper.shipper.event import Batch, Rejection, Source


class Deliveries(Protocol):
    """Receives the outcome of each batch; called from within `publish` or `poll`, on the same thread."""

    def delivered(self, batch: Batch, rejected: Sequence[Rejection]) -> None:
        """Report that all events of the batch are durable at their destination, except the rejected ones, which never
        will be."""


class TransactionDeliveries(Deliveries, Protocol):
    """Receives the outcome of each batch of an output with transactions."""

    def delivered(self, batch: Batch, rejected: Sequence[Rejection], *, are_saved: bool = False) -> None:
        """Report the delivery. `are_saved`: the rejected events were saved by `save_rejected`."""

    def save_rejected(self, batch: Batch, rejected: Sequence[Rejection]) -> bool:
        """Save rejected events before the transaction with the others is committed. Return False if that is not
        possible now: the caller retries."""

    def given_up(self, batch: Batch) -> None:
        """Report that no event of the batch is sent, as its source `is_lost`."""


class Positions(Protocol):
    """The positions of a transaction."""

    @property
    def entries(self) -> Mapping[str, bytes]:
        """Return the entry of each file, by id, as of the commit of the transaction."""

    def commit(self) -> None:
        """Move the positions."""

    def add_offsets(self, producer: Any) -> None:
        """Add the future offsets of consumer groups to the producer's transaction. Blocks; called from another thread.
        Raises KafkaException."""

    def drop_lost(self) -> None:
        """Forget positions of batches whose source `is_lost`, which are not sent again."""


class PreparesPositions(Protocol):
    """Prepares the positions of transactions."""

    has_groups: bool  # True once a transaction has, or will have, offsets of consumer groups

    def prepare(self, batches: Iterable[Batch]) -> Positions:
        """Return the positions of a transaction with these batches."""


class Output(Protocol):
    """The destination of batches. All methods are called from the publishing thread, and none raises because the
    destination is unavailable."""

    def publish(self, batch: Batch) -> bool:
        """Take over a batch. Batches of a file are delivered in the order in which they were taken. Return False if
        there is no room now: the caller offers the batch again. Never blocks on the destination."""

    def takes_more(self, source: Source) -> bool:
        """Return True if more of this file may be read: its destination does not hold up too much of the queue."""

    @property
    def awaits_reports(self) -> bool:
        """Return True if reading pauses until more batches in flight are delivered, which is expected soon."""

    def poll(self, timeout: float) -> None:
        """Continue delivery for at most `timeout` seconds; return early when something was delivered."""

    @property
    def in_flight(self) -> int:
        """Return the number of batches taken and not delivered yet."""

    def close(self) -> None:
        """Give up batches in flight and free all resources. At-least-once holds: no position has moved."""


@runtime_checkable
class CommitsPositions(Protocol):
    """An output that stores positions with the records, and commits both together."""

    def start(self, stopping: Callable[[], bool]) -> Mapping[str, bytes] | None:
        """Return the committed entries by file id, before anything is published. Waits for the destination; None if
        `stopping` meanwhile. Raises StartError."""

    def forget(self, file_id: str) -> None:
        """Remove the entry of a file with the next commit."""


class OutputErrors(Protocol):
    """The errors of an output, for the monitor's thread."""

    @property
    def failing(self) -> bool:
        """Return True if the latest report is an error, and nothing was delivered since."""

    @property
    def problem(self) -> str:
        """Return the last error as a message with advice."""

    def counts(self) -> Mapping[str, int]:
        """Return how often each error occurred, by name."""

    def waiting(self) -> Mapping[str, str]:
        """Return topics that rejected records and accepted none since, and topics that do not respond, each with a
        message."""

    def note_response(self) -> None:
        """Note that the destination responds, while there is nothing to deliver."""


@runtime_checkable
class Remote(Protocol):
    """An output whose destination may be unreachable."""

    @property
    def errors(self) -> OutputErrors: ...

    def reach(self, timeout: float) -> bool:
        """Return True if the destination responds. Blocks for at most `timeout` seconds; callable from any thread."""


class SingleDestination:
    """An output with a single destination: a failure for one file is a failure for all.

    `problem`: why it does not deliver; empty while it delivers.
    """

    problem = ""

    def takes_more(self, source: Source) -> bool:
        return True

    @property
    def awaits_reports(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Sample:
    """An event as it is sent. `topic` and `key` are empty if the output has none."""

    path: str
    topic: str
    key: str
    headers: Sequence[tuple[str, str]]
    value: str


# Returns the events of a batch as they are sent, without rejected ones.
Records = Callable[[Batch], Sequence[Sample]]
