"""The contract of outputs. Real ones and fakes pass the same tests (tests/contract/test_output.py)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from log_shipper.shipper.event import Batch, Rejection, Source


class Deliveries(Protocol):
    """Receives the outcome of each batch; called from within `publish` or `poll`, on the same thread."""

    def delivered(self, batch: Batch, rejected: Sequence[Rejection]) -> None:
        """Report that every event of the batch is durable at its destination, except the rejected ones, which never
        will be."""


class TransactionDeliveries(Deliveries, Protocol):
    """The same for an output with transactions."""

    def delivered(self, batch: Batch, rejected: Sequence[Rejection], *, are_saved: bool = False) -> None:
        """`are_saved`: the rejected ones were, by `save_rejected`."""

    def save_rejected(self, batch: Batch, rejected: Sequence[Rejection]) -> bool:
        """Save events that will never be delivered, before the transaction with the others is committed. False if that
        is not possible now: it is asked again later."""

    def given_up(self, batch: Batch) -> None:
        """Report that nothing of the batch is sent, as its source `is_lost`."""


class Positions(Protocol):
    """The positions of a transaction."""

    @property
    def entries(self) -> Mapping[str, bytes]:
        """Return the entry of each file, by its id, as it will be once the transaction is committed."""

    def commit(self) -> None:
        """Move the positions."""

    def add_offsets(self, producer: Any) -> None:
        """Add to the producer's transaction the offsets that consumer groups will have. Blocks; called from another
        thread. Raises KafkaException."""

    def drop_lost(self) -> None:
        """Forget the positions of batches whose source `is_lost`, which are not sent again."""


class PreparesPositions(Protocol):
    has_groups: bool  # True once a transaction has had offsets of consumer groups, or will have some

    def prepare(self, batches: Iterable[Batch]) -> Positions:
        """Return the positions of a transaction with these batches."""


class Output(Protocol):
    """All methods are called from the one publishing thread, and none raises because the destination is unavailable."""

    def publish(self, batch: Batch) -> bool:
        """Take over a batch. Each batch of a file is delivered after the batches of that file taken before it. Return
        False if there is no room now: the caller offers the batch again later. Never blocks on the destination."""

    def takes_more(self, source: Source) -> bool:
        """True if more of this file may be read: not too much of the queue waits for the place that it is sent to."""

    @property
    def awaits_reports(self) -> bool:
        """True if files are not read until more of what is in flight is delivered, which is expected soon."""

    def poll(self, timeout: float) -> None:
        """Continue delivery, for at most `timeout` seconds; returns early when something was delivered."""

    @property
    def in_flight(self) -> int:
        """Return the number of batches that were taken and are not delivered yet."""

    def close(self) -> None:
        """Give up what is in flight and free all resources. At-least-once is preserved: no position has moved."""


@runtime_checkable
class CommitsPositions(Protocol):
    """An output that keeps the positions beside the records, and commits both at once."""

    def start(self, stopping: Callable[[], bool]) -> Mapping[str, bytes] | None:
        """Return the entries that were committed, by file id, before anything is published. Waits for the destination;
        None if `stopping` meanwhile. Raises StartError."""

    def forget(self, file_id: str) -> None:
        """Remove the entry of a file, with the next commit."""


class OutputErrors(Protocol):
    """The errors of an output, for the monitor, whose thread asks."""

    @property
    def failing(self) -> bool:
        """True if the newest report is an error, and nothing was delivered since."""

    @property
    def problem(self) -> str:
        """Return the last error in words, with what to do."""

    def counts(self) -> Mapping[str, int]:
        """Return how often each error occurred, by its name."""

    def waiting(self) -> Mapping[str, str]:
        """Return the topics that have refused records and taken none since, each with the last error in words, and
        those that give no answer."""

    def answered(self) -> None:
        """Note that the destination answers, while there is nothing to deliver."""


@runtime_checkable
class Remote(Protocol):
    """An output whose destination may be out of reach."""

    @property
    def errors(self) -> OutputErrors: ...

    def reach(self, timeout: float) -> bool:
        """True if the destination answers. Blocks for at most `timeout` seconds; called from any thread."""


class OnePlace:
    """An output that sends everything to one place: what holds up one file holds up all.

    `problem` is what keeps it from delivering, in words; empty while it delivers.
    """

    problem = ""

    def takes_more(self, source: Source) -> bool:
        return True

    @property
    def awaits_reports(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class Sample:
    """An event as it is sent. `topic` and `key` are empty where the output has none."""

    path: str
    topic: str
    key: str
    headers: Sequence[tuple[str, str]]
    value: str


# Returns the events of a batch as they are sent, without those that the output refuses.
Records = Callable[[Batch], Sequence[Sample]]
