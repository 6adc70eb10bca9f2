"""Saves rejected events as letters in a Kafka topic, keyed by file id.

The state of a letter is kept until the call that writes it succeeds, so a retry sends only letters that Kafka has not
accepted. Kafka may take longer than an attempt: the letter stays in flight, and a later attempt gets the outcome.
"""

import errno
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Protocol

from confluent_kafka import KafkaError, KafkaException, Message

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch, Rejection
from log_shipper.shipper.formats import letter
from log_shipper.shipper.librdkafka import is_fatal
from log_shipper.shipper.output.kafka_errors import POISON
from log_shipper.shipper.output.kafka_records import Producer

logger = logging.getLogger(__name__)

# Seconds that an attempt waits for Kafka; nothing else is done meanwhile. A new client needs half a second.
PATIENCE = 0.75
MAX_SILENCE = 60.0  # seconds without an outcome after which a new client is tried


class Fallback(Protocol):
    """Stores letters that Kafka rejects."""

    @property
    def place(self) -> str: ...

    def write(self, batch: Batch, rejected: Sequence[Rejection]) -> None: ...


class _State(Enum):
    UNSENT = "unsent"
    IN_FLIGHT = "in flight"
    REFUSED = "refused"  # by the topic, permanently
    KEPT = "kept"  # in the topic or the fallback


@dataclass(slots=True)
class _Letter:
    text: str
    state: _State = _State.UNSENT
    error: KafkaError | None = None  # of the last attempt


class KafkaDeadLetter:
    """Letters that Kafka rejects permanently, such as oversized ones, go to the `fallback`."""

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
        self._producer: Producer | None = None  # rejections are rare: created on demand
        self._has_failed = False  # the producer has failed permanently
        self._silent_since = 0.0
        # By batch and index. A batch stays here until its letters are saved, or it is given up.
        self._letters: dict[tuple[Batch, int], _Letter] = {}

    @property
    def place(self) -> str:
        return f"topic {self._topic}"

    def write(self, batch: Batch, rejected: Sequence[Rejection]) -> None:
        """Send, and wait briefly for acknowledgement. Raises OSError if Kafka has not accepted all of them; calling it
        again with the same batch continues."""
        for key in [key for key in self._letters if key[0].source.is_lost()]:
            del self._letters[key]
        letters = [self._letter(batch, rejection) for rejection in rejected]
        try:
            self._send(batch.source.file_id, letters)
        except (KafkaException, StartError) as error:
            self._drop_producer()
            raise OSError(errno.EIO, _describe(error)) from error
        finally:
            self._keep_refused(batch, rejected)
        self._check(letters)
        for rejection in rejected:
            self._letters.pop((batch, rejection.index), None)

    def _letter(self, batch: Batch, rejection: Rejection) -> _Letter:
        """Return the letter, encoded once: a retry sends the same bytes."""
        known = self._letters.get((batch, rejection.index))
        if known is None:
            line = letter.written(batch, rejection, self._clock.time())
            known = self._letters[batch, rejection.index] = _Letter(line.decode().rstrip("\n"))
        return known

    def _send(self, key: str, letters: Sequence[_Letter]) -> None:
        """Send unsent letters, and process reports. Raises KafkaException or StartError."""
        if all(one.state in (_State.REFUSED, _State.KEPT) for one in letters):
            return
        if self._producer is None:
            self._producer = self._make_producer(lambda error: None)
            self._has_failed = False
        if not _any_in_flight(self._letters.values()):
            self._silent_since = self._clock.monotonic()
        for unsent in [one for one in letters if one.state is _State.UNSENT]:
            record = {"value": unsent.text, "key": key}
            unsent.state = _State.IN_FLIGHT
            if not self._producer.produce_batch(self._topic, [record], callback=partial(self._report, unsent)):
                self._set_outcome(unsent, record.get("_error"))  # type: ignore[arg-type]  # set by the client
        deadline = self._clock.monotonic() + PATIENCE
        while _any_in_flight(letters) and self._clock.monotonic() < deadline:
            self._producer.poll(0.1)

    def _report(self, sent: _Letter, error: KafkaError | None, message: Message) -> None:
        self._set_outcome(sent, error)

    def _set_outcome(self, sent: _Letter, error: KafkaError | None) -> None:
        self._silent_since = self._clock.monotonic()
        sent.error = error
        if error is None:
            sent.state = _State.KEPT
        elif error.code() in POISON:
            sent.state = _State.REFUSED
        else:
            sent.state = _State.UNSENT
            self._has_failed |= is_fatal(error)

    def _keep_refused(self, batch: Batch, rejected: Sequence[Rejection]) -> None:
        letters = {rejection.index: self._letters[batch, rejection.index] for rejection in rejected}
        refused = [rejection for rejection in rejected if letters[rejection.index].state is _State.REFUSED]
        if not refused:
            return
        logger.warning(
            "topic %s rejected %d letters: they are saved to %s", self._topic, len(refused), self._fallback.place
        )
        self._fallback.write(batch, refused)
        for rejection in refused:
            letters[rejection.index].state = _State.KEPT

    def _check(self, letters: Sequence[_Letter]) -> None:
        """Raise OSError unless all letters are saved. Drop a failed producer."""
        failed = [one.error for one in letters if one.state is _State.UNSENT and one.error is not None]
        waiting = _any_in_flight(letters)
        if self._has_failed or (waiting and self._clock.monotonic() - self._silent_since >= MAX_SILENCE):
            self._drop_producer()
        if failed:
            raise OSError(errno.EAGAIN, failed[0].str())
        if waiting:
            raise OSError(errno.ETIMEDOUT, "no acknowledgement from Kafka yet")

    def _drop_producer(self) -> None:
        """Drop the producer; the next attempt creates a new one, and sends letters in flight again."""
        if self._producer is not None:
            with suppress(KafkaException):  # a permanent failure, perhaps the reason
                self._producer.purge()
                self._producer.flush(0.1)
            self._producer = None
        for left in self._letters.values():
            if left.state is _State.IN_FLIGHT:
                left.state = _State.UNSENT


def _any_in_flight(letters: Iterable[_Letter]) -> bool:
    return any(one.state is _State.IN_FLIGHT for one in letters)


def _describe(error: KafkaException | StartError) -> str:
    return str(error.args[0].str() if isinstance(error, KafkaException) else error)
