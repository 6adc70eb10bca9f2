"""Decide which requests of an http input are accepted: paths, methods, secrets, types, and the amount in flight."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qs, unquote, urlsplit

from log_shipper.config.text.units import parse_duration
from log_shipper.runtime.monitor.exchange import Head, RefusedRequest
from log_shipper.shipper.event import Doc, Messages
from log_shipper.shipper.inputs.http.access import HttpAccess
from log_shipper.shipper.inputs.http.bodies import NDJSON, BodyReader, memory_of
from log_shipper.shipper.inputs.http.decompression import ACCEPTED, decompress, is_known
from log_shipper.shipper.inputs.http.deliveries import cost_of
from log_shipper.shipper.inputs.http.framing import ChunkedBody, SizedBody, body_of
from log_shipper.shipper.inputs.http.limits import Patience
from log_shipper.shipper.inputs.http.options import HttpInputConfig

WAIT = "wait_for_completion_timeout"  # Filebeat's parameter of the URL


@dataclass(frozen=True, slots=True)
class AcceptedRequest:
    """A request whose head was accepted, until its body is there."""

    head: Head
    content_type: str
    encoding: str
    wait: float  # seconds until its response is due
    late_status: int  # of the response when they are over


@dataclass(frozen=True, slots=True)
class RequestEvents:
    """The events of a request, and their approximate memory in bytes."""

    messages: Messages
    cost: int


@dataclass(frozen=True, slots=True)
class HttpResponse:
    status: int
    body: bytes
    headers: Mapping[str, str]


class InFlight:
    """The bytes of requests that are received and not answered. From the high water on, requests are refused, until the
    bytes are below the low water."""

    def __init__(self, config: HttpInputConfig) -> None:
        self.bytes = 0
        self._max_bytes = config.max_in_flight_bytes
        self._high, self._low = config.high_water, config.low_water
        self._is_open = True

    @property
    def is_full(self) -> bool:
        """Return True if requests were refused, and the next one would be, too. Any thread may call it."""
        return not self._is_open and self.bytes >= self._low

    @property
    def takes_more(self) -> bool:
        self._is_open = self.bytes < (self._high if self._is_open else self._low)
        return self._is_open

    def check(self) -> None:
        """Raise RefusedRequest if no new request is accepted."""
        if not self.takes_more:
            raise RefusedRequest(503, f"{self.bytes} bytes of requests are in flight: send the request again")

    def reserve(self, size: int) -> None:
        """Count further bytes. Raises RefusedRequest, without counting them, if they are too many."""
        if size > 0 and self.bytes + size > self._max_bytes:
            raise RefusedRequest(503, f"{self.bytes} bytes of requests are in flight: send the request again")
        self.bytes += size

    def check_size(self, cost: int) -> None:
        """Raise RefusedRequest for a request that is too large on its own."""
        if cost > self._max_bytes:
            raise RefusedRequest(
                413,
                f"the values need about {cost} bytes of memory, more than {self._max_bytes} (max_in_flight_bytes): "
                "send fewer at a time",
            )


class Judge:
    """The rules for requests. `in_flight` is what they have accepted."""

    def __init__(self, config: HttpInputConfig, reader: BodyReader, in_flight: InFlight, patience: Patience) -> None:
        self._config = config
        self._reader = reader
        self.in_flight = in_flight
        self._patience = patience
        self._access = HttpAccess(config)
        self._types = {name.lower() for name in config.content_type if name}
        self.success = HttpResponse(config.response_code, config.response_body.encode(), {})
        self._included = {name.lower(): _canonical(name) for name in config.include_headers}

    def accept(self, head: Head) -> AcceptedRequest | HttpResponse:
        """Accept the head of a request. Raises RefusedRequest."""
        path, query = _target(head.target)
        self._check_path(path)
        config, headers = self._config, head.headers
        if head.minor_version and "host" not in headers:
            raise RefusedRequest(400, "the request has no Host header")
        if head.method == "OPTIONS" and config.options_headers:
            return self._options()
        self._access.check(headers)
        if head.method != config.method:
            allowed = f"{config.method}, OPTIONS" if config.options_headers else config.method
            raise RefusedRequest(405, f"method {head.method} is not allowed: use {config.method}", {"Allow": allowed})
        wait, late = self._wait(query)
        encoding = headers.get("content-encoding", "").strip().lower()
        if not is_known(encoding):
            raise RefusedRequest(
                415, f"Content-Encoding {encoding[:40]!r} is not supported", {"Accept-Encoding": ACCEPTED}
            )
        content_type = self._content_type(headers.get("content-type", ""))
        self.in_flight.check()
        return AcceptedRequest(head, content_type, encoding, wait, late)

    def body_of(self, head: Head) -> SizedBody | ChunkedBody:
        """Return the framing of a request's body. Raises RefusedRequest."""
        return body_of(head, self._config.max_body_bytes)

    def events(self, accepted: AcceptedRequest, body: bytes) -> RequestEvents:
        """Return the events of a body. Any thread may call it. Raises RefusedRequest."""
        self._access.check_signature(accepted.head.headers, body)
        content = decompress(body, accepted.encoding, self._config.max_body_bytes)
        if not content:
            raise RefusedRequest(406, "the body is empty")
        memory = memory_of(content, accepted.content_type)
        self.in_flight.check_size(memory)
        messages = self._reader.read(content, accepted.content_type, self._headers(accepted.head))
        received = RequestEvents(messages, max(memory, cost_of(messages)))
        self.in_flight.check_size(received.cost)
        return received

    def _check_path(self, path: str) -> None:
        url = self._config.url
        if path != url and not (url.endswith("/") and path.startswith(url)):
            raise RefusedRequest(404, f"unknown path: use {url}")

    def _options(self) -> HttpResponse:
        values = self._config.options_headers.items()
        headers = {name: value if isinstance(value, str) else ", ".join(value) for name, value in values}
        return HttpResponse(self._config.options_response_code, b"", headers)

    def _wait(self, query: str) -> tuple[float, int]:
        """Return the timeout of the response, and its status when that is over: Filebeat's, if the client asked for it
        as it would ask Filebeat."""
        patience = self._patience.response
        try:
            given = parse_qs(query, keep_blank_values=True, max_num_fields=32)
        except ValueError as error:
            raise RefusedRequest(400, f"invalid parameters in the URL: {error}") from error
        others = sorted(given.keys() - {WAIT})
        if others:
            raise RefusedRequest(400, f"unknown parameters in the URL: {', '.join(others)[:200]}")
        if WAIT not in given:
            return patience, HTTPStatus.SERVICE_UNAVAILABLE
        try:
            asked = parse_duration(given[WAIT][-1])
        except ValueError as error:
            raise RefusedRequest(400, f"{WAIT}: {error}") from error
        return min(asked or patience, patience), HTTPStatus.GATEWAY_TIMEOUT

    def _content_type(self, header: str) -> str:
        given = header.partition(";")[0].strip().lower()
        if not self._types or given in self._types:
            return given
        if given in NDJSON and not self._types.isdisjoint(NDJSON):
            return given
        expected = ", ".join(sorted(self._types))
        raise RefusedRequest(415, f"Content-Type {given[:80]!r} is not supported: use {expected}")

    def _headers(self, head: Head) -> Doc | None:
        if not self._included:
            return None
        headers = head.headers
        return {
            name.replace(".", "_"): [headers[key]] for key, name in self._included.items() if key in headers
        } or None


def _target(target: str) -> tuple[str, str]:
    try:
        parts = urlsplit(target)
        return unquote(parts.path), parts.query
    except ValueError as error:
        raise RefusedRequest(400, f"invalid request path: {error}") from error


def _canonical(name: str) -> str:
    """Return the name of a header as Go writes it: X-Request-Id."""
    return "-".join(part[:1].upper() + part[1:].lower() for part in name.split("-"))
