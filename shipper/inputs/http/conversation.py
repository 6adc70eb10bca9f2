"""Serve one connection: requests one after the other, each read, handed over, and answered before the next (`states`).

Used by the server's thread only. `tick` is called from time to time, and ends what has lasted too long.
"""

import asyncio

from log_shipper.runtime.monitor.exchange import Head, RefusedRequest, check_request_line, read_head
from log_shipper.shipper.inputs.http import answers
from log_shipper.shipper.inputs.http.deliveries import Delivery
from log_shipper.shipper.inputs.http.endpoint import HttpEndpoint
from log_shipper.shipper.inputs.http.framing import ChunkedBody, SizedBody
from log_shipper.shipper.inputs.http.judging import AcceptedRequest, HttpResponse, RequestEvents
from log_shipper.shipper.inputs.http.states import BUSY, State

STEPS_AT_ONCE = 100  # heads and bodies, after which other connections have their turn


class Conversation(asyncio.Protocol):
    def __init__(self, endpoint: HttpEndpoint) -> None:
        self._endpoint = endpoint
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._state = State.IDLE
        self._deadline = endpoint.now() + endpoint.patience.idle
        self._write_deadline = float("inf")
        self._is_clogged = False  # the client does not read its responses: it is not read either
        self._accepted: AcceptedRequest | None = None
        self._body: SizedBody | ChunkedBody = SizedBody(0)
        self._counted = 0  # bytes of the body that the endpoint knows
        self._delivery: Delivery | None = None
        self._ignored = 0
        self._closes = False
        self._has_ended = False  # the client sends nothing more, but still reads
        self._is_head = False  # the request's method, whose response has no body
        self._peer = ""

    @property
    def idle_until(self) -> float | None:
        """Return when the connection will be closed if nothing comes; None during a request."""
        return self._deadline if self._state is State.IDLE else None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        address = transport.get_extra_info("peername")
        self._peer = str(address[0]) if address else ""
        if not self._endpoint.opened(self):
            headers = {"Retry-After": "1"}
            self._refuse(RefusedRequest(503, "too many connections: try again later", headers), ends=True)

    def connection_lost(self, error: Exception | None) -> None:
        if self._delivery is not None:
            self._endpoint.drop(self._delivery)  # it is sent again, if at all: there is no one to answer
        self._state, self._delivery = State.CLOSED, None
        self._release()
        self._endpoint.closed(self)

    def data_received(self, data: bytes) -> None:
        if self._state is State.LINGERING:
            self._ignored += len(data)
            if self._ignored > self._endpoint.patience.ignored_bytes:
                self._close()
            return
        self._received += data
        if self._state not in BUSY:
            self._advance()
        elif len(self._received) > self._endpoint.patience.ahead_bytes and self._transport is not None:
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        self._is_clogged = True
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._is_clogged = False
        self._write_deadline = self._endpoint.now() + self._endpoint.patience.write  # it has read some
        self._continue()

    def eof_received(self) -> bool:
        """Keep the connection for the response to a complete request, whose client still reads; TLS ends both ways."""
        is_awaited = self._state in BUSY and self._transport is not None and self._transport.can_write_eof()
        self._has_ended = is_awaited
        return is_awaited

    def settled(self, delivery: Delivery) -> None:
        """Answer a request whose events are all delivered or on disk."""
        if self._delivery is delivery:
            self._delivery = None
            self._answer(self._endpoint.judge.success)
            self._advance()

    def tick(self, now: float) -> None:
        """Apply the time limits."""
        if self._transport is not None and now >= self._write_deadline:
            if self._transport.get_write_buffer_size():
                self._transport.abort()
                return
            self._write_deadline = float("inf")
        if now < self._deadline:
            return
        match self._state:
            case State.IDLE | State.LINGERING:
                self._close()
            case State.HEAD | State.BODY:
                self._refuse(RefusedRequest(408, "the request took too long to arrive"), ends=True)
            case State.READING:
                self._refuse(RefusedRequest(503, "the request was not processed in time: send it again"), ends=True)
            case State.WAITING:
                self._give_up("the events were neither delivered nor written to disk in time")

    def stop(self, *, answers_waiting: bool) -> None:
        """End the connection: at once, or when the request that was handed over is answered."""
        self._closes = True
        match self._state:
            case State.IDLE:
                self._close()
            case State.HEAD | State.BODY:
                self._refuse(self._stopping(), ends=True)
            case State.READING if not answers_waiting:
                self._refuse(self._stopping(), ends=True)
            case State.WAITING if not answers_waiting:
                self._give_up("the shipper is stopping")

    def take_back(self) -> None:
        """Refuse the request, if it was handed over and not taken yet."""
        if self._delivery is not None and not self._delivery.is_taken:
            self._give_up("the shipper no longer accepts requests")

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _stopping(self) -> RefusedRequest:
        return RefusedRequest(503, "the shipper is stopping: send the request again", {"Retry-After": "1"})

    def _give_up(self, why: str) -> None:
        delivery, accepted = self._delivery, self._accepted
        assert delivery is not None
        assert accepted is not None
        self._endpoint.drop(delivery)
        self._delivery = None
        status = 503 if self._closes else accepted.late_status
        self._refuse(RefusedRequest(status, f"{why}: send the request again"), ends=False)
        self._advance()

    def _advance(self) -> None:
        """Process the received bytes as far as possible."""
        more, steps = True, 0
        while more and not self._is_clogged and self._state in (State.IDLE, State.HEAD, State.BODY):
            if steps == STEPS_AT_ONCE:
                self._give_way()
                return
            steps += 1
            try:
                more = self._step()
            except RefusedRequest as refused:
                # The next request can follow a complete one.
                self._refuse(refused, ends=self._state is not State.BODY or not self._body.is_complete)
        if self._has_ended and not self._is_clogged and self._state in (State.IDLE, State.HEAD, State.BODY):
            self._close()  # all complete requests are answered

    def _give_way(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()
        self._endpoint.soon(self._continue)

    def _continue(self) -> None:
        if self._state is State.CLOSED:
            return
        if self._state not in BUSY:
            self._read_on()
        self._advance()

    def _read_on(self) -> None:
        if self._transport is not None and not self._is_clogged:
            self._transport.resume_reading()

    def _step(self) -> bool:
        """Do one step. Return False if more bytes are needed. Raises RefusedRequest."""
        return self._read_body() if self._state is State.BODY else self._read_head()

    def _read_head(self) -> bool:
        received, patience = self._received, self._endpoint.patience
        while received[:2] == b"\r\n":  # older clients send it after a body
            del received[:2]
        if not received:
            return False
        if self._state is State.IDLE:
            self._state = State.HEAD
            self._deadline = self._endpoint.now() + patience.head
        end = received.find(b"\r\n\r\n", 0, patience.head_bytes)
        if end < 0:
            if b"\n" in received:
                check_request_line(bytes(received[: patience.head_bytes]))
            if len(received) >= patience.head_bytes:
                raise RefusedRequest(431, f"the headers exceed {patience.head_bytes} bytes")
            return False
        data = bytes(received[:end])
        if data.count(b"\n") != data.count(b"\r\n"):  # some programs end the head there, and others do not
            raise RefusedRequest(400, "a header line ends without a carriage return")
        head = read_head(data)
        del received[: end + 4]
        self._begin(head)
        return True

    def _begin(self, head: Head) -> None:
        endpoint = self._endpoint
        self._is_head = head.method == "HEAD"
        connection = head.headers.get("connection", "").lower()
        self._closes = self._closes or not head.minor_version or "close" in connection
        self._body = endpoint.judge.body_of(head)
        self._state, self._deadline = State.BODY, endpoint.now() + endpoint.patience.request
        self._body.consume(self._received)  # the next request can follow a refused complete one
        judged = endpoint.judge.accept(head)
        if isinstance(judged, HttpResponse):
            if not self._body.is_complete:
                raise RefusedRequest(400, f"{head.method} requests must not have a body")
            self._answer(judged)
            return
        self._accepted = judged
        expects = head.headers.get("expect", "").lower()
        if expects and expects != "100-continue":
            raise RefusedRequest(417, "unsupported value of the Expect header")
        if expects and head.minor_version and not self._body.content:
            self._write(answers.CONTINUE)

    def _read_body(self) -> bool:
        body = self._body
        has_more = body.consume(self._received)
        size = len(body.content)
        self._endpoint.in_flight.reserve(size - self._counted)
        self._counted = size
        if not body.is_complete:
            return has_more
        accepted = self._accepted
        assert accepted is not None
        content = bytes(body.content)
        if self._endpoint.takes_long(accepted, content):
            counted, self._counted = self._counted, 0
            self._state, self._deadline = State.READING, self._endpoint.now() + self._endpoint.patience.request
            self._endpoint.read_in_background(accepted, content, counted, self._was_read)
            return False
        received = self._endpoint.judge.events(accepted, content)
        self._release()
        return self._hand_over(accepted, received)

    def _was_read(self, accepted: AcceptedRequest, received: RequestEvents | RefusedRequest) -> None:
        """Answer a complete request, or hand it over; its client may have left."""
        if self._state is not State.READING or self._accepted is not accepted:
            return
        try:
            if isinstance(received, RefusedRequest):
                raise received
            self._hand_over(accepted, received)
        except RefusedRequest as refused:
            self._refuse(refused, ends=False)
        self._advance()

    def _hand_over(self, accepted: AcceptedRequest, received: RequestEvents) -> bool:
        """Return True if the request is answered already. Raises RefusedRequest."""
        if not received.messages.texts:
            self._answer(self._endpoint.judge.success)
            return True
        self._delivery = self._endpoint.deliver(received, self)
        self._state, self._deadline = State.WAITING, self._endpoint.now() + accepted.wait
        return False

    def _release(self) -> None:
        counted, self._counted = self._counted, 0
        if counted:
            self._endpoint.in_flight.reserve(-counted)

    def _answer(self, answer: HttpResponse) -> None:
        self._endpoint.answered(answer.status)
        self._write_answer(answer)
        self._next()

    def _refuse(self, refused: RefusedRequest, *, ends: bool) -> None:
        """Answer with an error; `ends`: what follows cannot be parsed, and is not read."""
        self._closes = self._closes or ends
        status = refused.response.status
        headers = refused.headers
        if status in (503, 504) and "Retry-After" not in headers:
            headers = {**headers, "Retry-After": str(self._endpoint.retry_after)}
        self._endpoint.answered(status)
        self._write_answer(HttpResponse(status, answers.message(str(refused)), headers))
        self._endpoint.refused(self._peer, refused)
        self._release()
        if ends:
            self._linger(reads_on=True)
        else:
            self._next()

    def _next(self) -> None:
        """Prepare for the next request, or end."""
        self._accepted, self._body, self._is_head = None, SizedBody(0), False
        if self._closes:
            self._linger(reads_on=False)
            return
        self._state = State.IDLE
        self._deadline = self._endpoint.now() + self._endpoint.patience.idle
        self._read_on()

    def _linger(self, *, reads_on: bool) -> None:
        """End the connection. `reads_on`: the client may still be sending."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        self._state, self._deadline = State.LINGERING, self._endpoint.now() + self._endpoint.patience.linger
        self._received.clear()
        transport.resume_reading()
        if transport.can_write_eof():
            try:
                transport.write_eof()
            except OSError:  # the client has reset the connection
                transport.abort()
        elif not reads_on:  # TLS ends in both directions at once
            self._close()

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _write_answer(self, answer: HttpResponse) -> None:
        status, body, headers = answer.status, answer.body, answer.headers
        self._write(answers.answer(status, body, headers, closes=self._closes, without_body=self._is_head))

    def _write(self, data: bytes) -> None:
        transport = self._transport
        if transport is not None and not transport.is_closing():
            if not transport.get_write_buffer_size():
                self._write_deadline = self._endpoint.now() + self._endpoint.patience.write
            transport.write(data)
