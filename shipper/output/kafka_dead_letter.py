"""Rejected events as letters in a Kafka topic of their own, each under the file id as its key."""

import errno
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from confluent_kafka import KafkaError, Message

from shipper import letter
from shipper.clock import Clock
from shipper.event import Batch, Rejection
from shipper.output.kafka_errors import POISON
from shipper.output.kafka_records import Producer

logger = logging.getLogger(__name__)

PATIENCE = 2.0  # seconds in which Kafka must take the letters; nothing else is done meanwhile

Outcome = dict[int, KafkaError | None]  # by the number of the letter


class Fallback(Protocol):
    """What keeps the letters that Kafka refuses, too."""

    @property
    def place(self) -> str: ...

    def write(self, batch: Batch, rejected: Sequence[Rejection]) -> None: ...


class KafkaDeadLetter:
    """Letters that Kafka refuses for good, such as one that is larger than the topic takes, go to the `fallback`."""

    def __init__(
        self,
        topic: str,
        make_producer: Callable[[Callable[[KafkaError], None]], Producer],
        fallback: Fallback,
        clock: Clock,
    ) -> None:
        self._topic = topic
        self._make_producer = make_producer
        self._fallback = fallback
        self._clock = clock
        self._producer: Producer | None = None  # rejections are rare: created at the first

    @property
    def place(self) -> str:
        return f"topic {self._topic}"

    def write(self, batch: Batch, rejected: Sequence[Rejection]) -> None:
        """Send, and wait for the acknowledgement. Raises OSError if Kafka does not take them now."""
        outcome = self._send([letter.written(batch, rejection, self._clock.time()) for rejection in rejected], batch)
        refused = [
            rejection
            for number, rejection in enumerate(rejected)
            if (error := outcome.get(number)) is not None and error.code() in POISON
        ]
        if refused:
            logger.warning(
                "topic %s refuses %d letters, which go to %s", self._topic, len(refused), self._fallback.place
            )
            self._fallback.write(batch, refused)
        others = [error for error in outcome.values() if error is not None and error.code() not in POISON]
        if others:
            raise OSError(errno.EAGAIN, others[0].str())
        if len(outcome) < len(rejected):
            raise OSError(errno.ETIMEDOUT, "Kafka does not answer")

    def _send(self, letters: Sequence[bytes], batch: Batch) -> Outcome:
        """Return what became of each letter; one of which nothing is known is missing."""
        outcome: Outcome = {}
        if self._producer is None:
            self._producer = self._make_producer(lambda error: None)
        for number, line in enumerate(letters):
            record = {"value": line.decode().rstrip("\n"), "key": batch.source.file_id}
            report = partial(_note, outcome, number)
            if not self._producer.produce_batch(self._topic, [record], callback=report):
                outcome[number] = record.get("_error")  # type: ignore[assignment]  # added by the client
        deadline = self._clock.monotonic() + PATIENCE
        while len(outcome) < len(letters) and self._clock.monotonic() < deadline:
            self._producer.poll(0.1)
        known = dict(outcome)
        if len(known) < len(letters):
            self._give_up()
        return known

    def _give_up(self) -> None:
        """Forget what is in flight: it is sent again, by a new client."""
        if self._producer is not None:
            self._producer.purge()
            self._producer.flush(0.1)
            self._producer = None


def _note(outcome: Outcome, number: int, error: KafkaError | None, message: Message) -> None:
    outcome[number] = error
