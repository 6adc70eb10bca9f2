"""Provide the input `http` as a source of batches."""

import errno
import logging
import os
import socket
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from http import HTTPStatus

from log_shipper.runtime import sockets
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import EVENT_OVERHEAD, Batch, Messages, Source
from log_shipper.shipper.inputs.base import SourceContext, SourceStatus
from log_shipper.shipper.inputs.feed import REFUSED_WAIT, FeedInput
from log_shipper.shipper.inputs.http.bodies import BodyReader
from log_shipper.shipper.inputs.http.deliveries import Delivery, Part, take_run
from log_shipper.shipper.inputs.http.judging import InFlight, Judge
from log_shipper.shipper.inputs.http.limits import HttpLimits, Patience, patience_of
from log_shipper.shipper.inputs.http.options import HttpInputConfig
from log_shipper.shipper.inputs.http.placing import Placing
from log_shipper.shipper.inputs.http.server import Server
from log_shipper.shipper.inputs.mailbox import Mailbox
from log_shipper.shipper.inputs.server_tls import ServerTls
from log_shipper.shipper.pipeline.acks import Ledger

logger = logging.getLogger(__name__)

NEVER = float("inf")
PATIENCE = Patience()


class HttpSource:
    """The source of an http input. Used by the reading thread, except `status`."""

    def __init__(
        self,
        feed_input: FeedInput,
        context: SourceContext,
        wake: Callable[[], None],
        patience: Patience = PATIENCE,
    ) -> None:
        """Start the server. Raises StartError."""
        config = feed_input.config
        assert isinstance(config, HttpInputConfig)
        if context.once:
            raise StartError(
                f"input {feed_input.id}: {config.reads[0]} never ends: run without --once, or disable the input"
            )
        self._clock = feed_input.clock
        self._stage = None if feed_input.stage is None else feed_input.stage(lambda _: None)
        self._context = context
        tls = ServerTls(config.ssl, f"input {feed_input.id}: ssl", feed_input.clock) if config.ssl.is_on else None
        listener = _listen(config, feed_input.id)
        self.port: int = listener.getsockname()[1]
        self.name = replace(config, listen_port=self.port).reads[0]
        self._source = feed_input.source(uuid.uuid4().hex, self.name, repeatable=False)
        self._in_flight = InFlight(config)
        self._mailbox: Mailbox[Part] = Mailbox(wake)  # bounded by what the server accepts
        patience = patience_of(config, patience)
        judge = Judge(config, _body_reader(config, feed_input, self._source), self._in_flight, patience)
        limits = HttpLimits(config.max_connections, config.retry_after, patience)
        self._server = Server(listener, self.name, judge, self._mailbox, limits, tls)
        self._open_batches = 0
        self._is_ending = False  # the agent stops
        self._is_stopped = False
        self._counted = Counter[int]()  # the responses that are in the metrics
        self._server.start()
        logger.info("input %s: listening at %s", feed_input.id, self.name)

    @property
    def finished(self) -> bool:
        return self._is_stopped and not self._open_batches and self._server.is_port_closed

    def step(self) -> None:
        """Count the responses; there is nothing to find."""
        metrics, answers = self._context.metrics, self._server.endpoint.answers.copy()
        for status, count in (answers - self._counted).items():
            if status < HTTPStatus.BAD_REQUEST:
                metrics.requests_accepted += count
            elif status < HTTPStatus.INTERNAL_SERVER_ERROR:
                metrics.requests_refused += count
            else:
                metrics.requests_postponed += count
        self._counted = answers

    def read(self, budget: int) -> Iterator[Batch]:
        while budget > 0 and self._may_read and (taken := take_run(self._mailbox)) is not None:
            messages, deliveries = taken
            budget -= messages.end - messages.start
            self._open_batches += 1
            yield Batch(self._source, messages, self._clock.time(), self._track(messages, deliveries))

    def next_wake(self, *, reading: bool) -> float:
        if not reading or self._is_stopped or self._mailbox.await_more():
            return NEVER
        return 0.0 if self._may_read else REFUSED_WAIT

    def status(self) -> SourceStatus:
        behind = self._in_flight.bytes
        return SourceStatus(
            files_open=0,
            reading=0,
            unsettled=self._open_batches,
            waiting=0,
            bytes_waiting=0,
            bytes_behind=behind,
            is_size_known=True,
            problems={self.name: problem} if (problem := self._problem) else {},
        )

    def read_to_end(self, seconds: float) -> bool:
        """Close the port, and give out complete requests."""
        if not self._is_ending:
            self._is_ending = True
            self._server.close_port()
        return (self._server.is_port_closed and self._mailbox.is_empty) or seconds <= 0

    def stop(self) -> None:
        """Read nothing more. At a reload, requests whose events were given out are still answered."""
        if self._is_stopped:
            return
        self._is_stopped = True
        if self._is_ending:
            self._server.close()
        else:
            self._server.end_when_idle()
        self.step()

    @property
    def _problem(self) -> str:
        return self._server.problem or (
            "refusing requests with 503: too many in flight" if self._in_flight.is_full else ""
        )

    @property
    def _may_read(self) -> bool:
        return not self._is_stopped and self._context.pipeline.takes_more(self._source)

    def _track(self, messages: Messages, deliveries: list[Delivery]) -> Callable[[], None]:
        """Return the function that resolves a batch. Each has its own ledger, as requests do not wait for each other;
        with transactions, the ledger waits for the commit."""

        def settled(_: int) -> None:
            self._open_batches -= 1
            for delivery in deliveries:
                delivery.resolve_part()

        return Ledger(messages.start, settled, self._stage).track(messages.end)


def _body_reader(config: HttpInputConfig, feed_input: FeedInput, source: Source) -> BodyReader:
    members = source.constants.members
    placing = Placing(config.prefix, members, expand_keys=config.expand_keys, keep_null=config.keep_null)
    max_events = config.max_in_flight_bytes // EVENT_OVERHEAD
    return BodyReader(placing, feed_input.max_bytes, max_events, originals=config.preserve_original_event)


def _listen(config: HttpInputConfig, input_id: str) -> socket.socket:
    host, port = config.listen_address, config.listen_port
    try:
        return sockets.listen_on(host, port)
    except OSError as error:
        why = error.strerror or os.strerror(error.errno or errno.EINVAL)
        raise StartError(
            f"input {input_id}: cannot listen on {host}:{port} ({why}): choose another listen_address or "
            "listen_port, or stop the program that uses it"
        ) from error
