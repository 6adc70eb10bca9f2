"""A batch on its way in transactions: what of it is sent, in which parts, and what was refused."""

from confluent_kafka import KafkaError

from log_shipper.shipper.event import Batch, Rejection, Topics
from log_shipper.shipper.output.base import TransactionDeliveries
from log_shipper.shipper.output.kafka_errors import MAY_BE_TIMES, POISON


class Sending:
    """`parts` are lists of indices of events; while nothing was refused there is one. `alone`: each part is the only
    one in its request, so that a refusal concerns it. An event without a topic or a payload is rejected from the
    start. `has_times`: its records have the times of the events."""

    __slots__ = ("_failed", "_saved", "_unsendable", "alone", "batch", "has_times", "parts", "rejected", "topics")

    def __init__(self, batch: Batch, topics: Topics, has_times: bool = False) -> None:
        self.batch = batch
        self.topics = topics
        self.alone = False
        self.has_times = has_times
        self.rejected = [Rejection(index, reason, topics.of(index)) for index, reason in topics.refused.items()]
        self.parts = [[index for index in range(batch.events) if index not in topics.refused]]
        self._failed: dict[int, KafkaError] = {}  # by the number of the part
        self._unsendable: dict[int, KafkaError] = {}  # by index
        self._saved = 0

    def fail(self, part: int, error: KafkaError) -> None:
        """Note that the broker refused records of a part, or that they were not sent."""
        if self._failed.setdefault(part, error).code() not in POISON:
            self._failed[part] = error  # what was only purged says less

    def refuse(self, index: int, error: KafkaError) -> None:
        """Note that the client did not take a record."""
        self._unsendable[index] = error

    @property
    def is_lost(self) -> bool:
        return self.batch.source.is_lost()

    @property
    def codes(self) -> set[int]:
        return {error.code() for error in (*self._failed.values(), *self._unsendable.values())}

    def learn(self) -> None:
        """Decide in which parts to send it next: what was refused is halved, or rejected where it was one record that
        was alone in its request."""
        if self.has_times and not MAY_BE_TIMES.isdisjoint(self.codes):
            self.has_times = False  # that may have been the reason
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
        self.rejected += [Rejection(index, error.str(), self.topics.of(index)) for index, error in poison.items()]
        self.parts = [left for part in parts if (left := [index for index in part if index not in poison])]
        self.alone = self.alone or any(error.code() in POISON for error in self._failed.values())
        self._failed, self._unsendable = {}, {}

    def save_rejected(self, deliveries: TransactionDeliveries) -> bool:
        """True if all that was rejected is saved."""
        if self._saved < len(self.rejected) and deliveries.save_rejected(self.batch, self.rejected[self._saved :]):
            self._saved = len(self.rejected)
        return self._saved == len(self.rejected)
