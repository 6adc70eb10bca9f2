"""What an input of type http takes and refuses: paths, methods, secrets, types, and how much of it at a time."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qs, unquote, urlsplit

from log_shipper.config.text.units import parse_duration
from log_shipper.runtime.monitor.exchange import Head, RefusedRequest
from log_shipper.shipper.event import Doc, Messages
from log_shipper.shipper.inputs.http.access import Access
from log_shipper.shipper.inputs.http.bodies import NDJSON, BodyReader, memory_of
from log_shipper.shipper.inputs.http.decompression import ACCEPTED, decompress, is_known
from log_shipper.shipper.inputs.http.deliveries import cost_of
from log_shipper.shipper.inputs.http.framing import ChunkedBody, SizedBody, body_of
from log_shipper.shipper.inputs.http.limits import Patience
from log_shipper.shipper.inputs.http.options import HttpInputConfig

WAIT = "wait_for_completion_timeout"  # Filebeat's parameter of the URL


@dataclass(frozen=True, slots=True)
class Accepted:
    """A request whose head was accepted: what is needed when its body is there."""

    head: Head
    content_type: str
    encoding: str
    wait: float  # seconds for which its answer may be waited for
    late_status: int  # of the answer when they are over


@dataclass(frozen=True, slots=True)
class Received:
    """The events of a request, and about how many bytes of memory they take."""

    messages: Messages
    cost: int


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    headers: Mapping[str, str]


class InFlight:
    """How many bytes of requests are received and not answered, and whether more are taken: from the high water on
    none, until they are below the low water."""

    def __init__(self, config: HttpInputConfig) -> None:
        self.bytes = 0
        self._most = config.max_in_flight_bytes
        self._high, self._low = config.high_water, config.low_water
        self._is_open = True

    @property
    def is_full(self) -> bool:
        """True if requests were refused, and the next one would be, too. Any thread may ask."""
        return not self._is_open and self.bytes >= self._low

    @property
    def takes_more(self) -> bool:
        self._is_open = self.bytes < (self._high if self._is_open else self._low)
        return self._is_open

    def check(self) -> None:
        """Raise RefusedRequest if no new request is taken."""
        if not self.takes_more:
            raise RefusedRequest(503, f"{self.bytes} bytes of requests are not delivered yet: send the request again")

    def hold(self, size: int) -> None:
        """Raises RefusedRequest if so many more are too many; they are not counted then."""
        if size > 0 and self.bytes + size > self._most:
            raise RefusedRequest(503, f"{self.bytes} bytes of requests are not delivered yet: send the request again")
        self.bytes += size

    def check_size(self, cost: int) -> None:
        """Raise RefusedRequest for a request that is too large even alone."""
        if cost > self._most:
            raise RefusedRequest(
                413,
                f"its values take about {cost} bytes of memory, of {self._most} (max_in_flight_bytes): send fewer at a "
                "time",
            )


class Judge:
    """Decides about requests. `in_flight` is what it has let in."""

    def __init__(self, config: HttpInputConfig, reader: BodyReader, in_flight: InFlight, patience: Patience) -> None:
        self._config = config
        self._reader = reader
        self.in_flight = in_flight
        self._patience = patience
        self._access = Access(config)
        self._types = {name.lower() for name in config.content_type if name}
        self.success = Answer(config.response_code, config.response_body.encode(), {})
        self._included = {name.lower(): _canonical(name) for name in config.include_headers}

    def accept(self, head: Head) -> Accepted | Answer:
        """Raises RefusedRequest."""
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
            raise RefusedRequest(405, f"{head.method} is not answered: use {config.method}", {"Allow": allowed})
        wait, late = self._wait(query)
        encoding = headers.get("content-encoding", "").strip().lower()
        if not is_known(encoding):
            raise RefusedRequest(
                415, f"the Content-Encoding {encoding[:40]!r} is not taken", {"Accept-Encoding": ACCEPTED}
            )
        content_type = self._content_type(headers.get("content-type", ""))
        self.in_flight.check()
        return Accepted(head, content_type, encoding, wait, late)

    def body_of(self, head: Head) -> SizedBody | ChunkedBody:
        """Raises RefusedRequest."""
        return body_of(head, self._config.max_body_bytes)

    def events(self, accepted: Accepted, body: bytes) -> Received:
        """Return the events of a body. Any thread may call it. Raises RefusedRequest."""
        self._access.check_signature(accepted.head.headers, body)
        content = decompress(body, accepted.encoding, self._config.max_body_bytes)
        if not content:
            raise RefusedRequest(406, "the body is empty")
        memory = memory_of(content, accepted.content_type)
        self.in_flight.check_size(memory)
        messages = self._reader.read(content, accepted.content_type, self._headers(accepted.head))
        received = Received(messages, max(memory, cost_of(messages)))
        self.in_flight.check_size(received.cost)
        return received

    def _check_path(self, path: str) -> None:
        url = self._config.url
        if path != url and not (url.endswith("/") and path.startswith(url)):
            raise RefusedRequest(404, f"nothing is taken at this path; there is {url}")

    def _options(self) -> Answer:
        values = self._config.options_headers.items()
        headers = {name: value if isinstance(value, str) else ", ".join(value) for name, value in values}
        return Answer(self._config.options_response_code, b"", headers)

    def _wait(self, query: str) -> tuple[float, int]:
        """Return for how long the answer may be waited for, and its status when that is over: Filebeat's, if the client
        has asked for it as it would ask Filebeat."""
        patience = self._patience.response
        if not query:
            return patience, HTTPStatus.SERVICE_UNAVAILABLE
        given = parse_qs(query, keep_blank_values=True, max_num_fields=32)
        others = sorted(given.keys() - {WAIT})
        if others:
            raise RefusedRequest(400, f"the URL has parameters that are not known: {', '.join(others)[:200]}")
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
        raise RefusedRequest(415, f"the Content-Type {given[:80]!r} is not taken; there is {expected}")

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
        raise RefusedRequest(400, f"the request's path cannot be read: {error}") from error


def _canonical(name: str) -> str:
    """Return the name of a header as Go writes it: X-Request-Id."""
    return "-".join(part[:1].upper() + part[1:].lower() for part in name.split("-"))
