"""Share among the connections of an http input what was handed over, what is in flight, and the counters."""

import logging
import time
from collections import Counter, deque
from collections.abc import Callable
from operator import itemgetter
from typing import Protocol

from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.runtime.monitor.exchange import RefusedRequest
from log_shipper.shipper.inputs.http.deliveries import Delivery, Part
from log_shipper.shipper.inputs.http.judging import AcceptedRequest, Judge, RequestEvents
from log_shipper.shipper.inputs.http.limits import HttpLimits
from log_shipper.shipper.inputs.mailbox import Mailbox

logger = logging.getLogger(__name__)

QUICK_BYTES = 32 * 1024  # a smaller body is read faster than another thread is woken for it

# One makes the server's thread call a function; one makes another thread do some work, and the server's its result.
Soon = Callable[[Callable[[], None]], None]
Aside = Callable[[Callable[[], Callable[[], None]]], None]


class ClientConnection(Protocol):
    """A connection, as the endpoint sees it (conversation.py)."""

    @property
    def idle_until(self) -> float | None: ...

    def settled(self, delivery: Delivery) -> None: ...

    def tick(self, now: float) -> None: ...

    def stop(self, *, answers_waiting: bool) -> None: ...

    def take_back(self) -> None: ...

    def abort(self) -> None: ...


class HttpEndpoint:
    """The endpoint. `name` in messages: "http 127.0.0.1:8000/"; `in_flight` is what `judge` has accepted. Used by the
    server's thread only, except the work done `aside`."""

    def __init__(
        self, name: str, judge: Judge, mailbox: Mailbox[Part], limits: HttpLimits, soon: Soon, aside: Aside
    ) -> None:
        self.patience = limits.patience
        self.retry_after = limits.retry_after
        self.answers = Counter[int]()  # by status, since the start; any thread may read it
        self.conversations: set[ClientConnection] = set()
        self.now: Callable[[], float] = time.monotonic
        self._name = name
        self._max_connections = limits.connections
        self.judge = judge
        self.in_flight = judge.in_flight
        self._mailbox = mailbox
        self.soon = soon
        self._aside = aside
        self._offset = 0  # where the next request begins, in bytes of all contents so far
        self._asked: dict[Delivery, ClientConnection] = {}
        self._settled: deque[Delivery] = deque()
        self._throttles: dict[int, Throttle] = {}

    @property
    def is_idle(self) -> bool:
        """Return True if no request waits for a response."""
        return not self._asked and not self.conversations

    def settled(self, delivery: Delivery) -> None:
        """Answer the settled requests. Called by the reading thread."""
        self._settled.append(delivery)
        if len(self._settled) == 1:  # else the previous call is still pending
            self.soon(self.answer_settled)

    def answer_settled(self) -> None:
        try:
            while self._settled:
                delivery = self._settled.popleft()
                self.in_flight.reserve(-delivery.cost)
                self._asked.pop(delivery).settled(delivery)
        finally:  # a failed response must not affect the others
            if self._settled:
                self.soon(self.answer_settled)

    def opened(self, conversation: ClientConnection) -> bool:
        """Add a new connection. Return False if there are too many."""
        self.conversations.add(conversation)
        if len(self.conversations) <= self._max_connections:
            return True
        others = [(other.idle_until, other) for other in self.conversations if other is not conversation]
        idle = [(until, other) for until, other in others if until is not None]
        if idle:  # its client opens another one when it needs it
            min(idle, key=itemgetter(0))[1].stop(answers_waiting=True)
        return bool(idle)

    def closed(self, conversation: ClientConnection) -> None:
        self.conversations.discard(conversation)

    @staticmethod
    def takes_long(accepted: AcceptedRequest, body: bytes) -> bool:
        """Return True if the others should not wait while the events of a request are made."""
        return len(body) > QUICK_BYTES or accepted.encoding not in ("", "identity")

    def read_in_background(
        self,
        accepted: AcceptedRequest,
        body: bytes,
        counted: int,
        done: Callable[[AcceptedRequest, RequestEvents | RefusedRequest], None],
    ) -> None:
        """Make the events of a request on another thread, then call `done`. `counted`: its bytes in memory until then,
        whatever happens to its client."""

        def read() -> Callable[[], None]:
            try:
                received: RequestEvents | RefusedRequest = self.judge.events(accepted, body)
            except RefusedRequest as refused:
                received = refused
            return lambda: finish(received)

        def finish(received: RequestEvents | RefusedRequest) -> None:
            self.in_flight.reserve(-counted)
            done(accepted, received)

        self._aside(read)

    def deliver(self, received: RequestEvents, conversation: ClientConnection) -> Delivery:
        """Hand over the events; `ClientConnection.settled` is called when all are delivered. Raises RefusedRequest."""
        self.in_flight.reserve(received.cost)
        received.messages.move(self._offset)
        delivery = Delivery(received.messages, received.cost, self.settled)
        self._offset = received.messages.end
        self._asked[delivery] = conversation
        for part in delivery.parts:
            self._mailbox.put((delivery, part), part.end - part.start)
        return delivery

    def drop(self, delivery: Delivery) -> None:
        """Drop a request that was not taken yet; a taken one continues."""
        if delivery.claim():
            self.in_flight.reserve(-delivery.cost)
            del self._asked[delivery]

    def answered(self, status: int) -> None:
        self.answers[status] += 1

    def refused(self, peer: str, refused: RefusedRequest) -> None:
        status = refused.response.status
        throttle = self._throttles.setdefault(status, Throttle(self.now))
        if throttle.is_due():
            count = throttle.suppressed
            others = f", and {count} others with {status} since the last report" if count else ""
            logger.warning(
                "%s: refused a request from %s with %d (%s)%s (logged at most once a minute)",
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
        """End the connections; with `answers_waiting`, those that wait for a response later."""
        for conversation in tuple(self.conversations):
            conversation.stop(answers_waiting=answers_waiting)

    def abort(self) -> None:
        for conversation in tuple(self.conversations):
            conversation.abort()
