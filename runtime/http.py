"""The HTTP client: sequential requests on one connection to an address or unix socket.

Responses are untrusted: readers limit the bytes of a response or a line. Each step has a time limit, and optionally the
whole response, however slowly its bytes arrive. Proxies and redirections are not used. Imported only when needed:
`http.client` takes 15 ms.
"""

from __future__ import annotations

import math
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from typing import Any, ClassVar, cast

from log_shipper.runtime.sockets import check_length

BLOCK = 64 * 1024
FAILURES = (OSError, HTTPException, ValueError)  # of requests and responses; ValueError: an impossible host name
# Detects within a minute that a server vanished: seconds, seconds, and number of probes.
KEEPALIVE = ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 3))


class TooLarge(HTTPException):
    """Raised for a response or line that exceeds its limit of bytes. `size`: those received."""

    def __init__(self, size: int) -> None:
        super().__init__(f"{size} bytes so far")
        self.size = size


class _Socket(socket.socket):
    """Sets the time limit before each read: http.client reads by `recv_into` alone."""

    seconds: Callable[[], float]

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        self.settimeout(self.seconds())
        return super().recv_into(buffer, nbytes, flags)


class TlsSocket(ssl.SSLSocket):
    """The same for TLS. If the connection is reset before TLS begins, Python 3.11 raises the error in the constructor
    and leaves the socket open until it is garbage-collected.

    Source: ssl.SSLSocket._create, which reads a byte there without the error handling of the handshake.
    """

    seconds: Callable[[], float] | None = None

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        try:
            return super().recv(buflen, flags)
        except ConnectionError:
            self.close()
            raise

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        if self.seconds is not None:
            self.settimeout(self.seconds())
        return super().recv_into(buffer, nbytes, flags)


@dataclass(frozen=True, slots=True)
class UnixSocket:
    path: Path
    host: ClassVar = "localhost"  # the Host header
    port: ClassVar = 80
    base: ClassVar = ""
    is_secure: ClassVar = False

    def __str__(self) -> str:
        return str(self.path)

    def connect(self, timeout: float) -> _Socket:
        check_length(self.path)
        made = _Socket(socket.AF_UNIX)
        try:
            made.settimeout(timeout)
            made.connect(str(self.path))
        except OSError:
            made.close()
            raise
        return made


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server. `base` is the path prefix, without a trailing slash. `tls` is called for each
    connection, because certificate files may be renewed; `server_name` is the name in the certificate, if it differs
    from the host.
    """

    host: str
    port: int
    base: str = ""
    is_secure: bool = False
    tls: Callable[[], ssl.SSLContext] = field(default=ssl.create_default_context, repr=False, compare=False)
    server_name: str = ""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_secure else 'http'}://{host}:{self.port}{self.base}"

    def connect(self, timeout: float) -> _Socket | TlsSocket:
        context = self.tls() if self.is_secure else None
        made = socket.create_connection((self.host, self.port), timeout)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEPALIVE:
            made.setsockopt(socket.IPPROTO_TCP, option, value)
        if context is None:
            return _Socket(fileno=made.detach())
        context.sslsocket_class = TlsSocket
        return cast(TlsSocket, context.wrap_socket(made, server_hostname=self.server_name or self.host))


Place = UnixSocket | Address


class Connection:
    """A connection to one place, for one thread. A request opens it, and further ones use it until the server closes
    it.

    Requests, and reading their responses, raise FAILURES: TimeoutError after the time limit, and TooLarge.
    """

    def __init__(self, place: Place, timeout: float, now: Callable[[], float] = time.monotonic) -> None:
        """Connect on demand. `timeout`: seconds for each step: connecting, sending, and each read."""
        self.is_interrupted = False
        self._place = place
        self._timeout = self._step = timeout
        self._until = math.inf
        self._now = now
        self._socket: _Socket | TlsSocket | None = None
        self._http: HTTPConnection | None = None
        self._answer: HTTPResponse | None = None

    @property
    def is_open(self) -> bool:
        """Return True if the next request probably needs no new connection."""
        return self._http is not None and self._http.sock is not None

    def ask(
        self, path: str, headers: Mapping[str, str] = {}, method: str = "GET", until: float = math.inf
    ) -> HTTPResponse:
        """Return the response after reading its head. Read it before the next request, or close the connection.
        `until`: the deadline of the whole response.
        """
        self._step, self._until = self._timeout, until
        connection = self._opened()
        connection.request(method, f"{self._place.base}{path}", headers=dict(headers))
        self._answer = connection.getresponse()
        return self._answer

    def body(self, max_bytes: int) -> bytes:
        """Return the body of the response. If it was truncated, the response's `length` is the number of missing
        bytes."""
        body = bytearray()
        for block in self._blocks():
            body += block
            _check(body, max_bytes)
        return bytes(body)

    def lines(self, max_bytes: int, silence: float) -> Iterator[bytes]:
        """Yield each complete line of the response without its end. The response may last forever, with up to `silence`
        seconds between its bytes.
        """
        self._step, self._until = silence, math.inf
        pending = bytearray()
        for block in self._blocks():
            *lines, rest = block.split(b"\n")
            if lines:
                lines[0] = bytes(pending) + lines[0]
                pending.clear()
            for line in lines:
                _check(line, max_bytes)
                yield line
            pending += rest
            _check(pending, max_bytes)

    def interrupt(self) -> None:
        """Abort the request in flight with an error, and refuse all later ones. Callable from any thread."""
        self.is_interrupted = True
        connected = self._socket
        if connected is not None:
            with suppress(OSError):
                # An SSLSocket's own method would remove the TLS layer from under the reading thread.
                socket.socket.shutdown(connected, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection until the next request."""
        for part in (self._answer, self._http, self._socket):
            if part is not None:
                part.close()
        self._answer = self._http = self._socket = None

    def _opened(self) -> HTTPConnection:
        if self._http is None or self._http.sock is None or self._socket is None:
            self.close()
            connected = self._place.connect(self._seconds())
            connected.seconds = self._seconds
            self._http = HTTPConnection(self._place.host, self._place.port)
            self._http.default_port = 443 if self._place.is_secure else 80  # all other requests have a Host header
            self._http.sock = self._socket = connected
        self._socket.settimeout(self._seconds())  # an abort may come before there is a socket
        return self._http

    def _seconds(self) -> float:
        """Return the time limit of the next step."""
        if self.is_interrupted:
            raise ConnectionAbortedError("the client is closed")
        seconds = min(self._step, self._until - self._now())
        if seconds <= 0:
            raise TimeoutError("timed out")
        return seconds

    def _blocks(self) -> Iterator[bytes]:
        answer = self._answer
        if answer is not None:
            while block := answer.read1(BLOCK):
                yield block
            answer.close()  # read1 alone does not notice the end, and the connection could not be reused


def _check(content: bytes | bytearray, max_bytes: int) -> None:
    if len(content) > max_bytes:
        raise TooLarge(len(content))
