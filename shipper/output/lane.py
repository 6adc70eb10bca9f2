"""Keeps the order of one file's records at Kafka through all failures.

A batch handed to the client is a flight. At the first failed report of a file its lane is paused: nothing new is sent
until all outstanding reports have arrived; then the failed records are sent again, in order. A refusal that may concern
the request instead of the record (the broker's size limit applies to the whole batch) is narrowed down by sending
smaller and smaller parts; only a record that is refused alone, in its own request, is rejected.
"""

from bisect import bisect_left
from collections import deque

import orjson
from confluent_kafka import KafkaError, Message

from log_shipper.shipper.event import Batch, Rejection, Topics
from log_shipper.shipper.output.kafka import Sending
from log_shipper.shipper.output.kafka_errors import MAY_BE_TIMES, POISON


class Flight(Sending):
    """A batch in flight. `sent`: when it was handed over last (monotonic seconds); `left`: outstanding reports;
    `failed`: error codes by event index."""

    __slots__ = ("failed", "lane", "left", "sent", "times_refused")

    def __init__(self, batch: Batch, lane: "Lane", topics: Topics, has_times: bool = False) -> None:
        super().__init__(batch, topics, has_times)
        self.lane = lane
        self.left = 0
        self.sent = 0.0
        self.times_refused = False
        self.failed: dict[int, int] = {}

    @property
    def done(self) -> bool:
        return not self.left and not self.failed

    def fail(self, index: int, code: int, reason: str) -> None:
        self.lane.paused = True
        if self.has_times and code in MAY_BE_TIMES:
            self.times_refused = True
            self.failed[index] = KafkaError.INVALID_TIMESTAMP
            return
        if self.lane.alone and code in POISON:
            self.rejected.append(Rejection(index, reason, self.topics.topic_of(index)))
            return
        self.failed[index] = code
        if code in POISON:
            self.lane.refused = True

    def index_of(self, message: Message) -> int:
        """Return the index of the event of a JSON record, identified by its offset."""
        offset: int = orjson.loads(message.value() or b"")["log"]["offset"]
        return bisect_left(self.batch.messages.offsets, offset)


class Lane:
    """`flights` are in flight or failed, oldest first; `waiting` came while the lane was paused.

    `in_parts`: the current round is part of a refused flight, of at most `part` events; `alone`: of one.
    """

    __slots__ = ("alone", "attempts", "flights", "in_parts", "part", "paused", "refused", "retry_at", "waiting")

    def __init__(self) -> None:
        self.flights: deque[Flight] = deque()
        self.waiting: deque[Flight] = deque()
        self.paused = False
        self.alone = False
        self.in_parts = False
        self.refused = False
        self.part = 0
        self.attempts = 0
        self.retry_at = 0.0

    @property
    def unreported(self) -> Flight | None:
        """The oldest flight of which reports are outstanding."""
        return next((flight for flight in self.flights if flight.left), None)

    @property
    def drained(self) -> bool:
        """Return True if no report is outstanding: failed records may be resent without overtaking others."""
        return self.unreported is None

    @property
    def idle(self) -> bool:
        return not self.flights and not self.waiting

    def adapt_part_size(self) -> None:
        """Adapt the part size after a round: halve it after a refusal, else double it, as refused records may be rare.
        Records refused for their times are sent without them."""
        for flight in self.flights:
            if flight.times_refused:
                flight.has_times = flight.times_refused = False
        if self.refused:
            first = next(flight for flight in self.flights if flight.failed)
            known = min(self.part, len(first.failed)) if self.part else len(first.failed)
            self.part = max(known // 2, 1)
        elif self.in_parts:
            self.part *= 2
        self.refused = False

    def next_round(self) -> list[tuple[Flight, list[int]]]:
        """Return what to send when the lane is drained: all failed records, or a part of them if some may be poison."""
        failed = [flight for flight in self.flights if flight.failed]
        self.in_parts = any(not POISON.isdisjoint(flight.failed.values()) for flight in failed)
        self.alone = False
        if not self.in_parts:
            return [(flight, sorted(flight.failed)) for flight in failed]
        first = failed[0]
        part = sorted(first.failed)[: max(self.part, 1)]
        self.alone = len(part) == 1
        return [(first, part)]
