"""The order of one file's records at Kafka, kept whatever fails.

A batch that was handed to the client is a flight. At the first failed report of a file its lane is paused: nothing new
is sent until every outstanding report has come in; then what failed is sent again, in order. A refusal that may
concern the request instead of the record (the broker's size limit applies to the whole batch) is recognised by sending
smaller and smaller parts; only a record that is refused alone, in a request of its own, is rejected.
"""

from bisect import bisect_left
from collections import deque

import orjson
from confluent_kafka import KafkaError, Message

from log_shipper.shipper.event import Batch, Rejection, Topics
from log_shipper.shipper.output.kafka import Sending
from log_shipper.shipper.output.kafka_errors import MAY_BE_TIMES, POISON


class Flight(Sending):
    """A batch in flight: `sent` is when it was handed over last (monotonic seconds), `left` reports are still to come,
    `failed` maps the index of an event to its error's code."""

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
            self.rejected.append(Rejection(index, reason, self.topics.of(index)))
            return
        self.failed[index] = code
        if code in POISON:
            self.lane.refused = True

    def index_of(self, message: Message) -> int:
        """Return the index of the event of a JSON record, which the offset in it identifies."""
        offset: int = orjson.loads(message.value() or b"")["log"]["offset"]
        return bisect_left(self.batch.messages.offsets, offset)


class Lane:
    """`flights` are in flight or failed, oldest first; `waiting` are those that came while the lane was paused.

    `in_parts`: the current round is a part of a flight that was refused, of at most `part` events; `alone`: of one.
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
    def drained(self) -> bool:
        """True if no report is outstanding: what failed may be sent again without overtaking anything."""
        return not any(flight.left for flight in self.flights)

    @property
    def idle(self) -> bool:
        return not self.flights and not self.waiting

    def learn(self) -> None:
        """Adapt the part after a round: half of it if it was refused, else twice as much, as refused records may be
        rare. What was refused for its times is sent without them."""
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
        """Return what to send when the lane is drained: everything that failed, or a part of it if some may be
        poison."""
        failed = [flight for flight in self.flights if flight.failed]
        self.in_parts = any(not POISON.isdisjoint(flight.failed.values()) for flight in failed)
        self.alone = False
        if not self.in_parts:
            return [(flight, sorted(flight.failed)) for flight in failed]
        first = failed[0]
        part = sorted(first.failed)[: max(self.part, 1)]
        self.alone = len(part) == 1
        return [(first, part)]
