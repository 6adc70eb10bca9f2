"""The other implementations: a clock, a terminal, an output and a Kafka client that a test drives.

They are small and real. MemoryOutput passes the contract tests of every output (tests/contract); AtLeastOnce passes
them on MemoryKafka.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message

from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Batch, Rejection, Topics
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.output.base import Deliveries, SingleDestination
from log_shipper.shipper.output.encode import Encoder
from log_shipper.shipper.output.kafka import KafkaContext, Probe
from log_shipper.shipper.output.kafka_errors import ErrorReporter
from log_shipper.shipper.output.kafka_records import RecordMaker, Report
from log_shipper.shipper.output.place_headers import Headers


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class ManualClock:
    """Stands still until it is advanced. Wall and monotonic time differ, so that a mix-up shows."""

    def __init__(self, monotonic: float = 1000.0, time: float = 1_763_000_000.0) -> None:
        self._monotonic = monotonic
        self._time = time
        self._thread_time = 0.0

    def monotonic(self) -> float:
        return self._monotonic

    def time(self) -> float:
        return self._time

    def thread_time(self) -> float:
        return self._thread_time

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self._monotonic += seconds
        self._time += seconds

    def work(self, seconds: float) -> None:
        """Advance, and count the time as the thread's."""
        self.advance(seconds)
        self._thread_time += seconds

    def set_by(self, seconds: float) -> None:
        """Set the wall clock forward, or back."""
        self._time += seconds


class MemoryOutput(SingleDestination):
    """Keeps records in `records`. While `holding`, the test decides when batches arrive and are acknowledged.

    A batch arrives (its records are in `records`) before it is acknowledged (the pipeline learns of it), as with a
    real destination: a crash in between makes a repeat. `refuse` gives the reason why a message will never be taken.
    """

    def __init__(self, encoder: Encoder, deliveries: Deliveries, *, holding: bool = False) -> None:
        self.records: list[str] = []
        self.holding = holding
        self.room: int | None = None  # batches that may be in flight
        self.last_timeout = 0.0  # that `poll` was given
        self.refuse: Callable[[str], str | None] = lambda message: None
        self._encoder = encoder
        self._deliveries = deliveries
        self._on_the_way: deque[Batch] = deque()
        self._arrived: deque[tuple[Batch, list[Rejection]]] = deque()

    def publish(self, batch: Batch) -> bool:
        if self.room is not None and self.in_flight >= self.room:
            return False
        self._on_the_way.append(batch)
        return True

    def poll(self, timeout: float) -> None:
        self.last_timeout = timeout
        if not self.holding:
            self.arrive()
            self.acknowledge()

    @property
    def in_flight(self) -> int:
        return len(self._on_the_way) + len(self._arrived)

    def close(self) -> None:
        self._on_the_way.clear()
        self._arrived.clear()

    def arrive(self, batches: int | None = None) -> None:
        """Let the next batches in flight (None: all) reach the destination."""
        for _ in range(len(self._on_the_way) if batches is None else batches):
            batch = self._on_the_way.popleft()
            reasons = {
                index: reason for index, text in enumerate(batch.messages.texts) if (reason := self.refuse(text))
            }
            records = self._encoder.encode(batch)
            self.records += [record for index, record in enumerate(records) if index not in reasons]
            self._arrived.append((batch, [Rejection(index, reason) for index, reason in reasons.items()]))

    def acknowledge(self, order: Sequence[int] | None = None) -> None:
        """Report batches that arrived to the pipeline: those with these indices, in this order (None: all)."""
        chosen = range(len(self._arrived)) if order is None else order
        acknowledged = [self._arrived[index] for index in chosen]
        for entry in acknowledged:
            self._arrived.remove(entry)
        for batch, rejected in acknowledged:
            self._deliveries.delivered(batch, rejected)


@dataclass(frozen=True, slots=True)
class Sent:
    """A record that waits in the client; `report` is called once with the outcome."""

    value: str
    key: str
    report: Report
    topic: str
    headers: tuple[tuple[str, str], ...] = ()
    timestamp: int = 0  # milliseconds; 0: when it is sent
    partition: int = -1  # -1: the client chooses


Verdict = Callable[[Sequence[Sent]], Sequence[int | None]]


def accept(request: Sequence[Sent]) -> list[int | None]:
    return [None] * len(request)


def refuse_above(request_bytes: int) -> Verdict:
    """Return the verdict of a broker with a limit: it refuses all records of a request that is too large."""

    def verdict(request: Sequence[Sent]) -> list[int | None]:
        too_large = sum(len(sent.value.encode()) for sent in request) > request_bytes
        return [KafkaError.MSG_SIZE_TOO_LARGE if too_large else None] * len(request)

    return verdict


@dataclass
class MemoryKafka:
    """A cluster: what was delivered, and how it answers the next requests.

    `verdict` gets the records of a request and returns for each the code of its error, or None for a delivery.
    `journal` has what happened to each record, in order: (what, key, value), with `produced` when a client took it,
    `failed` after a failed report or the client's refusal, and `landed` when it is in the topic. Records with a key of
    `leaderless` stay in the client's queue, in silence.
    """

    verdict: Verdict = accept
    request_records: int = 100
    queue_records: int = 100_000  # in a client's queue; more are marked with _QUEUE_FULL
    record_bytes: int = 1_000_000  # a client refuses a longer one at once
    refused: dict[str, int] = field(default_factory=dict)  # at once, by a client that knows the topic: codes by topic
    journal: list[tuple[str, str, str]] = field(default_factory=list)
    topics: dict[str, list[str]] = field(default_factory=dict)  # what landed in each, in order
    sent: list[Sent] = field(default_factory=list)  # what landed, in order
    clients: list[FakeProducer] = field(default_factory=list)
    leaderless: set[str] = field(default_factory=set)

    @property
    def landed(self) -> list[str]:
        """Values in the order in which they came, of all topics."""
        return [value for what, _, value in self.journal if what == "landed"]

    def connect(self, on_error: Callable[[KafkaError], None]) -> FakeProducer:
        self.clients.append(FakeProducer(self, on_error))
        return self.clients[-1]


class FakeProducer:
    """The `Producer` of kafka_records, with the habits of librdkafka: on a full queue it takes a prefix and marks the
    rest with `_error`; reports come in from `poll` and `flush` only; after a failed request it continues with the next.
    `paused` keeps everything in the queue, as while no broker answers.
    """

    def __init__(self, kafka: MemoryKafka, on_error: Callable[[KafkaError], None]) -> None:
        self.paused = False
        self.stubborn_flushes = 0  # so many calls of `flush` return before everything was reported
        self._kafka = kafka
        self._on_error = on_error
        self._queue: deque[Sent] = deque()
        self._reports: deque[tuple[Sent, int | None]] = deque()
        self._errors: deque[KafkaError] = deque()
        self._failed_for_good = False

    def produce_batch(
        self, topic: str, messages: list[dict[str, Any]], *, callback: Report, partition: int = -1
    ) -> int:
        taken = 0
        for message in messages:
            error = self._take(Sent(message["value"], message["key"], callback, topic, partition=partition))
            if error is None:
                taken += 1
            else:
                message["_error"] = error
        return taken

    def produce(self, topic: str, *, callback: Report, headers: Headers | None = None, **record: Any) -> None:
        error = self._take(Sent(report=callback, topic=topic, headers=tuple(headers or ()), **record))
        if error is not None and error.code() == KafkaError._QUEUE_FULL:
            raise BufferError(error.str())
        if error is not None:
            raise KafkaException(error)

    def _take(self, sent: Sent) -> KafkaError | None:
        """Queue the record. Return the error where it is refused at once."""
        code = self._refusal(sent)
        if code is not None:
            self._kafka.journal.append(("failed", sent.key, sent.value))
            return KafkaError(code)
        self._queue.append(sent)
        self._kafka.journal.append(("produced", sent.key, sent.value))
        return None

    def _refusal(self, sent: Sent) -> int | None:
        if self._failed_for_good:
            return int(KafkaError._FATAL)
        if sent.topic in self._kafka.refused:
            return self._kafka.refused[sent.topic]
        if len(sent.value.encode()) > self._kafka.record_bytes:
            return int(KafkaError.MSG_SIZE_TOO_LARGE)
        full = len(self._queue) + len(self._reports) >= self._kafka.queue_records
        return int(KafkaError._QUEUE_FULL) if full else None

    def poll(self, timeout: float) -> int:
        if not self.paused and not self._failed_for_good:
            self._send_request()
        return self._serve()

    def _send_request(self) -> None:
        request, kept = list[Sent](), list[Sent]()
        while self._queue and len(request) < self._kafka.request_records:
            sent = self._queue.popleft()
            (kept if sent.key in self._kafka.leaderless else request).append(sent)
        self._queue.extendleft(reversed(kept))
        if request:
            codes = self._kafka.verdict(request)
            for sent, code in zip(request, codes, strict=True):
                if code is None:
                    self._kafka.journal.append(("landed", sent.key, sent.value))
                    self._kafka.sent.append(sent)
                    self._kafka.topics.setdefault(sent.topic, []).append(sent.value)
            self._reports += zip(request, codes, strict=True)

    def _serve(self) -> int:
        served = 0
        while self._errors:
            happened = self._errors.popleft()
            if happened.fatal():
                raise KafkaException(happened)
            self._on_error(happened)
        while self._reports:
            sent, code = self._reports.popleft()
            served += 1
            if code is not None:
                self._kafka.journal.append(("failed", sent.key, sent.value))
            error = None if code is None else KafkaError(code)
            sent.report(error, Message(topic=sent.topic, value=sent.value.encode(), key=sent.key.encode()))
        return served

    def purge(self) -> None:
        self._reports += [(sent, int(KafkaError._PURGE_QUEUE)) for sent in self._queue]
        self._queue.clear()

    def flush(self, timeout: float) -> int:
        if self.stubborn_flushes:
            self.stubborn_flushes -= 1
            return len(self._queue) + len(self._reports)
        while self._queue and not self.paused and not self._failed_for_good:
            self._send_request()
        self._serve()
        return len(self._queue)

    def fail_for_good(self) -> None:
        """Fail as an idempotent producer that lost its place: it sends and accepts nothing more, and the next `poll`
        or `flush` raises, once."""
        self._failed_for_good = True
        self._errors.append(KafkaError(KafkaError._FATAL, "the producer's epoch is gone", True))

    def lose_connection(self) -> None:
        """Report an error that belongs to no record at the next `poll`."""
        self._errors.append(KafkaError(KafkaError._ALL_BROKERS_DOWN))


class FakeProbe(Probe):
    """`serving`: whether the cluster could take records, as another client sees it."""

    def __init__(self, *, serving: bool = True) -> None:
        self.serving = serving
        self.asked: list[set[str]] = []  # for which topics

    def reach(self, timeout: float) -> bool:
        return True

    def serves(self, topics: Iterable[str], timeout: float) -> bool:
        self.asked.append(set(topics))
        return self.serving


def kafka_context(clock: Clock, **others: Any) -> KafkaContext:
    """Return what sends JSON records to the topic `logs`, but for its members that are given."""
    errors, records = ErrorReporter("fake:9092", "logs", clock), RecordMaker(Encoder(2**31))
    context = KafkaContext(records, lambda batch: Topics("logs"), errors, Backoff(1, 60), Metrics(), clock, FakeProbe())
    return replace(context, **others)
