"""What the connections of an input of type http share: what was handed over, what is in flight, and what is counted."""

import logging
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Protocol

from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.runtime.monitor.exchange import RefusedRequest
from log_shipper.shipper.inputs.http.deliveries import Delivery, Part
from log_shipper.shipper.inputs.http.judging import Accepted, Judge, Received
from log_shipper.shipper.inputs.http.limits import Limits
from log_shipper.shipper.inputs.mailbox import Mailbox

logger = logging.getLogger(__name__)

QUICK_BYTES = 32 * 1024  # a body of so many is read faster than another thread is woken for it

# Has the server's thread call a function; has another thread do some work, and the server's what the work returns.
Soon = Callable[[Callable[[], None]], None]
Aside = Callable[[Callable[[], Callable[[], None]]], None]


@dataclass(slots=True)
class HttpCounts:
    """Of an input of type http, since the start; written by the server's thread only. `answers`: by status."""

    answers: Counter[int] = field(default_factory=Counter)
    connections: int = 0  # now


class Connected(Protocol):
    """A connection, as the endpoint sees it (conversation.py)."""

    @property
    def idle_until(self) -> float | None: ...

    def settled(self, delivery: Delivery) -> None: ...

    def tick(self, now: float) -> None: ...

    def stop(self, *, answers_waiting: bool) -> None: ...

    def take_back(self) -> None: ...

    def abort(self) -> None: ...


class HttpEndpoint:
    """`name` is what listens, in messages: "http 127.0.0.1:8000/"; `in_flight` is what `judge` has let in. All of it
    is the server's thread's alone, except what is done `aside`."""

    def __init__(
        self, name: str, judge: Judge, mailbox: Mailbox[Part], limits: Limits, soon: Soon, aside: Aside
    ) -> None:
        self.patience = limits.patience
        self.retry_after = limits.retry_after
        self.counts = HttpCounts()
        self.conversations: set[Connected] = set()
        self.now: Callable[[], float] = time.monotonic
        self._name = name
        self._most = limits.connections
        self.judge = judge
        self.in_flight = judge.in_flight
        self._mailbox = mailbox
        self.soon = soon
        self._aside = aside
        self._offset = 0  # where the next request begins, in bytes of all contents so far
        self._asked: dict[Delivery, Connected] = {}
        self._settled: deque[Delivery] = deque()
        self._throttles: dict[int, Throttle] = {}

    @property
    def is_idle(self) -> bool:
        """True if there is no one to be answered."""
        return not self._asked and not self.conversations

    def settled(self, delivery: Delivery) -> None:
        """Called by the reading thread."""
        self._settled.append(delivery)
        if len(self._settled) == 1:  # else the call before is still to come
            self.soon(self.answer_settled)

    def answer_settled(self) -> None:
        try:
            while self._settled:
                delivery = self._settled.popleft()
                self.in_flight.hold(-delivery.cost)
                self._asked.pop(delivery).settled(delivery)
        finally:  # whatever happens to one answer, the others are given
            if self._settled:
                self.soon(self.answer_settled)

    def opened(self, conversation: Connected) -> bool:
        """Take in a new connection; False if there are too many."""
        self.conversations.add(conversation)
        self.counts.connections = len(self.conversations)
        if len(self.conversations) <= self._most:
            return True
        others = [(other.idle_until, other) for other in self.conversations if other is not conversation]
        idle = [(until, other) for until, other in others if until is not None]
        if idle:  # its client opens another one when it needs it
            min(idle, key=itemgetter(0))[1].stop(answers_waiting=True)
        return bool(idle)

    def closed(self, conversation: Connected) -> None:
        self.conversations.discard(conversation)
        self.counts.connections = len(self.conversations)

    @staticmethod
    def takes_long(accepted: Accepted, body: bytes) -> bool:
        """True if the others should not wait while the events of a request are made."""
        return len(body) > QUICK_BYTES or accepted.encoding not in ("", "identity")

    def read_aside(
        self, accepted: Accepted, body: bytes, counted: int, done: Callable[[Accepted, Received | RefusedRequest], None]
    ) -> None:
        """Have another thread make the events of a request, then call `done`. `counted`: bytes that are in memory for
        it until then, whatever becomes of its client."""

        def read() -> Callable[[], None]:
            try:
                received: Received | RefusedRequest = self.judge.events(accepted, body)
            except RefusedRequest as refused:
                received = refused
            return lambda: finish(received)

        def finish(received: Received | RefusedRequest) -> None:
            self.in_flight.hold(-counted)
            done(accepted, received)

        self._aside(read)

    def deliver(self, received: Received, conversation: Connected) -> Delivery:
        """Hand over; `Connected.settled` is called when all is delivered. Raises RefusedRequest."""
        self.in_flight.hold(received.cost)
        received.messages.move(self._offset)
        delivery = Delivery(received.messages, received.cost, self.settled)
        self._offset = received.messages.end
        self._asked[delivery] = conversation
        for part in delivery.parts:
            self._mailbox.put((delivery, part), part.end - part.start)
        return delivery

    def drop(self, delivery: Delivery) -> None:
        """Drop a request that was not taken yet; nothing happens to one that was."""
        if delivery.claim():
            self.in_flight.hold(-delivery.cost)
            del self._asked[delivery]

    def answered(self, status: int) -> None:
        self.counts.answers[status] += 1

    def refused(self, peer: str, refused: RefusedRequest) -> None:
        status = refused.response.status
        throttle = self._throttles.setdefault(status, Throttle(self.now))
        if throttle.is_due():
            count = throttle.suppressed
            others = f", and {count} others with {status} since the last report" if count else ""
            logger.warning(
                "%s: a request from %s was refused with %d (%s)%s (at most one such line a minute)",
                self._name,
                peer or "a client",
                status,
                refused,
                others,
            )

    def tick(self) -> None:
        now = self.now()
        for conversation in tuple(self.conversations):
            conversation.tick(now)

    def take_back(self) -> None:
        """Refuse the requests that were handed over and not taken."""
        for conversation in tuple(self.conversations):
            conversation.take_back()

    def stop(self, *, answers_waiting: bool) -> None:
        """End the connections; with `answers_waiting` those later that wait for an answer."""
        for conversation in tuple(self.conversations):
            conversation.stop(answers_waiting=answers_waiting)

    def abort(self) -> None:
        for conversation in tuple(self.conversations):
            conversation.abort()
