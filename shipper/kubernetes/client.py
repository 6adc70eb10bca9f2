"""Asks an API server by HTTP/1.1, and translates whatever goes wrong into an ApiError.

Everything is bounded: how long a connection, an answer and a silence may last, and how large an answer and an event may
be. Nothing else of the agent waits for it, because it runs on threads of its own.
"""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import urlencode

import orjson

from log_shipper import VERSION
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Doc
from log_shipper.shipper.kubernetes.access import Access
from log_shipper.shipper.kubernetes.api_error import ApiError, Kind
from log_shipper.shipper.kubernetes.tls import tls_context

MOST_WORDS = 500  # characters of the server's own message
BLOCK = 64 * 1024
JSON = "application/json"
METADATA_ONLY = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{JSON}"
_KINDS: dict[int, Kind] = {401: "unauthorized", 403: "forbidden", 410: "expired", 429: "throttled"}
_BROKEN = (ssl.SSLEOFError, ssl.SSLZeroReturnError)
_NO_PARAMETERS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Limits:
    """`timeout`: seconds for a connection, and between two pieces of an answer; `longest`: for a whole answer.
    `answer` and `event` are bytes; etcd refuses objects beyond 1.5 MiB."""

    timeout: float = 10.0
    longest: float = 60.0
    answer: int = 64 * 1024**2
    event: int = 8 * 1024**2


LIMITS = Limits()


class Client:
    """Used by one thread, except `interrupt`."""

    def __init__(self, access: Access, clock: Clock, limits: Limits = LIMITS) -> None:
        self._access = access
        self._clock = clock
        self._limits = limits
        self._lock = threading.Lock()
        self._connection: _Connection | None = None
        self.is_closed = False

    def get(self, path: str, parameters: Mapping[str, str] = _NO_PARAMETERS, accept: str = JSON) -> Doc:
        """Return the object, or the page of a list. Raises ApiError."""
        with self._translated(path):
            response = self._request(path, parameters, accept, self._limits.timeout)
            body = self._body(response, path)
            if response.status != 200:
                raise _refusal(response, body)
            return _document(body, path)

    def watch(
        self, path: str, parameters: Mapping[str, str], silence: float, answered: Callable[[], None] = lambda: None
    ) -> Iterator[Doc]:
        """Yield the events of a watch until the server ends it; before the first one, which may take long, `answered`
        is called. Raises ApiError, also when nothing comes for `silence` seconds."""
        with self._translated(path):
            response = self._request(path, parameters, JSON, silence)
            if response.status != 200:
                raise _refusal(response, self._body(response, path))
            answered()
            try:
                yield from self._events(response, path)
            finally:
                self._disconnect()  # what is left of the answer would be taken for the next one

    def interrupt(self) -> None:
        """End the request in flight, with an ApiError, and refuse all later ones. Any thread may call it."""
        with self._lock:
            self.is_closed = True
            if self._connection is not None:
                self._connection.interrupt()

    def close(self) -> None:
        self.interrupt()
        self._disconnect()

    def _request(self, path: str, parameters: Mapping[str, str], accept: str, timeout: float) -> HTTPResponse:
        """Send a request, and again if the connection that was kept has been closed by the server meanwhile, or the
        token was replaced."""
        token = self._bearer()
        kept = self._connection is not None
        try:
            response = self._sent(path, parameters, accept, token, timeout)
        except (ConnectionError, HTTPException):
            self._disconnect()
            if not kept:
                raise
            response = self._sent(path, parameters, accept, token, timeout)
        if response.status == 401 and (renewed := self._bearer()) != token:
            self._disconnect()
            response = self._sent(path, parameters, accept, renewed, timeout)
        return response

    def _bearer(self) -> str:
        token = self._access.bearer()
        if not (token.isascii() and token.isprintable()):  # http.client would show it in its own error
            raise ApiError("unauthorized", f"what {self._access.token_file or self._access.source} has is not a token")
        return token

    def _sent(self, path: str, parameters: Mapping[str, str], accept: str, token: str, timeout: float) -> HTTPResponse:
        connection = self._connected()
        headers = {"Accept": accept, "User-Agent": f"kafka-log-shipper/{VERSION}"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        query = f"?{urlencode(parameters)}" if parameters else ""
        connection.request("GET", f"{self._access.base}{path}{query}", headers=headers)
        response = connection.getresponse()
        connection.wait_at_most(timeout)
        return response

    def _connected(self) -> "_Connection":
        with self._lock:
            self._check_open()
            if self._connection is None:
                self._connection = _Connection(self._access, self._limits.timeout)
            connection = self._connection
        if connection.sock is None:
            connection.connect()
            with self._lock:  # an interruption did not find the socket until now
                self._check_open()
        connection.wait_at_most(self._limits.timeout)
        return connection

    def _check_open(self) -> None:
        if self.is_closed:
            raise ApiError("connection", "the client is closed")

    def _disconnect(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _body(self, response: HTTPResponse, path: str) -> bytes:
        deadline = self._clock.monotonic() + self._limits.longest
        blocks, size = [], 0
        while block := response.read1(BLOCK):
            blocks.append(block)
            size += len(block)
            if size > self._limits.answer:
                self._disconnect()
                raise ApiError("too_large", f"the answer at {path} has more than {self._limits.answer} bytes")
            if self._clock.monotonic() > deadline:
                raise TimeoutError
        response.close()  # read1 alone does not notice the end, and the connection would not be free
        return b"".join(blocks)

    def _events(self, response: HTTPResponse, path: str) -> Iterator[Doc]:
        pending, most = b"", self._limits.event
        while block := response.read1(BLOCK):
            *lines, pending = (pending + block).split(b"\n")
            for line in lines:
                if line.strip():
                    yield _document(line, path)
            if len(pending) > most:
                raise ApiError("too_large", f"an event of the watch at {path} has more than {most} bytes")

    @contextlib.contextmanager
    def _translated(self, path: str) -> Iterator[None]:
        server = f"the API server ({self._access})"
        try:
            yield
        except ApiError:
            raise
        except TimeoutError as error:
            self._disconnect()
            raise ApiError("timeout", f"{server} does not answer in time at {path}") from error
        except (OSError, HTTPException, ValueError) as error:
            self._disconnect()
            kind: Kind = "tls" if isinstance(error, ssl.SSLError) and not isinstance(error, _BROKEN) else "connection"
            raise ApiError(kind, f"no connection to {server}: {_reason(error)}") from error


class _Connection(HTTPConnection):
    """A connection that another thread can interrupt, and that notices a server that has vanished without a word."""

    def __init__(self, access: Access, timeout: float) -> None:
        super().__init__(access.host, access.port, timeout=timeout)
        self._access = access
        self._socket: socket.socket | None = None  # also when an answer with `Connection: close` has taken it over

    def connect(self) -> None:
        context = tls_context(self._access) if self._access.is_secure else None
        super().connect()
        for option, value in ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 3)):
            self.sock.setsockopt(socket.IPPROTO_TCP, option, value)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if context is not None:
            name = self._access.server_name or self._access.host
            self.sock = context.wrap_socket(self.sock, server_hostname=name)
        self._socket = self.sock

    def wait_at_most(self, timeout: float) -> None:
        if self._socket is not None:
            self._socket.settimeout(timeout)

    def interrupt(self) -> None:
        connected = self._socket or self.sock
        if connected is not None:
            with contextlib.suppress(OSError):
                # An SSLSocket's own method would take the TLS layer away from the thread that reads.
                socket.socket.shutdown(connected, socket.SHUT_RDWR)


def _document(body: bytes, path: str) -> Doc:
    try:
        document = orjson.loads(body)
    except ValueError as error:
        raise ApiError("malformed", f"the answer at {path} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise ApiError("malformed", f"the answer at {path} is not a JSON object")
    return document


def _refusal(response: HTTPResponse, body: bytes) -> ApiError:
    """Return the error of an answer with another status than 200; the text is the server's."""
    return refusal_of(response.status, _message(body) or response.reason, _seconds(response.headers["Retry-After"]))


def refusal_of(status: int, text: str, retry_after: float = 0.0) -> ApiError:
    """Return the error of a status, as an answer or an event of a watch has it."""
    kind = _KINDS.get(status, "server" if status >= 500 else "refused")
    return ApiError(kind, f"HTTP {status}: {text[:MOST_WORDS]}", retry_after)


def _message(body: bytes) -> str:
    try:
        status: Any = orjson.loads(body)
    except ValueError:
        return body[:MOST_WORDS].decode("utf-8", "replace").strip()
    return str(status.get("message") or "") if isinstance(status, dict) else ""


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {error.verify_message}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _seconds(text: str | None) -> float:
    return float(text) if text is not None and text.isdecimal() else 0.0
