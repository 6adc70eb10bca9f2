"""A transaction: batches that are committed together, with the positions of their files.

It begins with its first batch and ends with the commit. If Kafka's transaction fails, it is aborted, and the same
batches are sent again in another one. Once the positions are prepared, no batch is added or removed, except those that
another reader sends.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaError

from log_shipper.shipper.event import Batch, Rejection, Topics
from log_shipper.shipper.output.base import Positions, PreparesPositions, TransactionDeliveries
from log_shipper.shipper.output.kafka import Sending
from log_shipper.shipper.output.kafka_errors import MAY_BE_TIMES, POISON


@dataclass(frozen=True, slots=True)
class TransactionLimits:
    """When a transaction ends: after `interval` seconds, or when its batches reach a cost of `bytes` or this many
    `events`."""

    interval: float
    events: int
    bytes: int


class SentInParts(Sending):
    """A batch of a transaction. `parts` are lists of event indices, one list while nothing was refused. `alone`: each
    part is sent in its own request, so a refusal concerns it."""

    __slots__ = ("_failed", "_saved", "_unsendable", "alone", "parts")

    def __init__(self, batch: Batch, topics: Topics, has_times: bool = False) -> None:
        super().__init__(batch, topics, has_times)
        self.alone = False
        sendable = self.sendable
        self.parts: list[list[int]] = [list(range(batch.events)) if sendable is None else sendable]
        self._failed: dict[int, KafkaError] = {}  # by part number
        self._unsendable: dict[int, KafkaError] = {}  # by index
        self._saved = 0

    def fail(self, part: int, error: KafkaError) -> None:
        """Note that records of a part were refused or not sent."""
        if self._failed.setdefault(part, error).code() not in POISON:
            self._failed[part] = error  # a purge says less

    def refuse(self, index: int, error: KafkaError) -> None:
        """Note that the client did not accept a record."""
        self._unsendable[index] = error

    @property
    def is_lost(self) -> bool:
        return self.batch.source.is_lost()

    @property
    def codes(self) -> set[int]:
        return {error.code() for error in (*self._failed.values(), *self._unsendable.values())}

    def divide(self) -> None:
        """Choose the parts to send next: a refused part is halved, or rejected if it was a single record alone in its
        request."""
        if self.has_times and not MAY_BE_TIMES.isdisjoint(self.codes):
            self.has_times = False  # perhaps the reason
            self._failed, self._unsendable = {}, {}
            return
        parts: list[list[int]] = []
        poison = {index: error for index, error in self._unsendable.items() if error.code() in POISON}
        for number, part in enumerate(self.parts):
            error = self._failed.get(number)
            if error is None or error.code() not in POISON:
                parts.append(part)
            elif len(part) > 1:
                parts += [part[: len(part) // 2], part[len(part) // 2 :]]
            elif self.alone:
                poison[part[0]] = error
            else:
                parts.append(part)
        self.rejected += [Rejection(index, error.str(), self.topics.topic_of(index)) for index, error in poison.items()]
        self.parts = [left for part in parts if (left := [index for index in part if index not in poison])]
        self.alone = self.alone or any(error.code() in POISON for error in self._failed.values())
        self._failed, self._unsendable = {}, {}

    def save_rejected(self, deliveries: TransactionDeliveries) -> bool:
        """Save the rejected events. Return True if all are saved."""
        if self._saved < len(self.rejected) and deliveries.save_rejected(self.batch, self.rejected[self._saved :]):
            self._saved = len(self.rejected)
        return self._saved == len(self.rejected)


class Transaction:
    """`unsent`: parts of sendings, by number, not yet sent in Kafka's transaction; `removed`: files whose entries it
    removes; `is_written`: the positions are in Kafka's transaction."""

    def __init__(self, prepares: PreparesPositions, deliveries: TransactionDeliveries) -> None:
        self._prepares = prepares
        self._deliveries = deliveries
        self._sendings: list[SentInParts] = []
        self._positions: Positions | None = None
        self.events = self.bytes = 0
        self.unsent: deque[tuple[SentInParts, int]] = deque()
        self.removed: Sequence[str] = ()
        self.is_written = False

    def __len__(self) -> int:
        return len(self._sendings)

    @property
    def is_prepared(self) -> bool:
        """Return True if the positions are prepared: no batch is added any more."""
        return self._positions is not None

    @property
    def topics(self) -> set[str]:
        return {topic for sending in self._sendings for topic in sending.topics.names}

    @property
    def codes(self) -> set[int]:
        """Return the error codes since it was sent."""
        return {code for sending in self._sendings for code in sending.codes}

    @property
    def has_lost(self) -> bool:
        """Return True if another reader now sends some of it."""
        return any(sending.is_lost for sending in self._sendings)

    def add(self, sending: SentInParts) -> None:
        self._sendings.append(sending)
        self.events += sending.batch.events
        self.bytes += sending.batch.cost
        self._send(sending)

    def send_all(self) -> None:
        """Queue all parts, for a new Kafka transaction."""
        self.is_written = False
        for sending in self._sendings:
            self._send(sending)

    def _send(self, sending: SentInParts) -> None:
        self.unsent.extend((sending, part) for part in range(len(sending.parts)))

    def save_rejected(self) -> bool:
        """Save the rejected events. Return True if all are saved."""
        return all(sending.save_rejected(self._deliveries) for sending in self._sendings)

    def prepare(self, forgotten: Iterable[str]) -> Mapping[str, bytes | None]:
        """Return the entry of each file, by id, as of this transaction; None for entries to remove, those of the
        `forgotten` files."""
        if self._positions is None:
            self._positions = self._prepares.prepare(sending.batch for sending in self._sendings)
        self.removed = list(forgotten)
        return {**dict.fromkeys(self.removed), **self._positions.entries}

    @property
    def positions(self) -> Positions:
        assert self._positions is not None, "prepared"
        return self._positions

    def commit(self) -> None:
        """Move the positions, after the commit."""
        sendings, self._sendings = self._sendings, []
        self.positions.commit()
        for sending in sendings:
            self._deliveries.delivered(sending.batch, sending.rejected, are_saved=True)

    def abort(self) -> None:
        """Prepare to send it again after an abort: in other parts where records were refused, and without batches that
        another reader sends, which begins at the last commit."""
        self.unsent.clear()
        for sending in self._sendings:
            sending.divide()
        lost = [sending for sending in self._sendings if sending.is_lost]
        for sending in lost:
            self._sendings.remove(sending)
            self.events -= sending.batch.events
            self.bytes -= sending.batch.cost
            self._deliveries.given_up(sending.batch)
        if lost and self._positions is not None:
            self._positions.drop_lost()
            self._positions = self._positions if self._sendings else None
