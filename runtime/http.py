"""The HTTP client: requests to an address or a unix socket, one after the other on one connection.

What answers may be anything. So whoever reads says how many bytes an answer may have, or a line of it. Each step is
bounded in time, and so is an answer as a whole, if that is asked for, however slowly its bytes come. No proxy is used,
and no redirection is followed. Imported only where something is asked: `http.client` takes 15 ms.
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
FAILURES = (OSError, HTTPException, ValueError)  # of a request and its answer; ValueError: a name that can be no host
# A server that has vanished without a word is noticed after a minute: seconds, seconds, and how often.
KEEPALIVE = ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 3))


class TooLarge(HTTPException):
    """Raised for an answer, or a line of one, with more bytes than it may have. `size`: those that have come."""

    def __init__(self, size: int) -> None:
        super().__init__(f"{size} bytes so far")
        self.size = size


class _Socket(socket.socket):
    """Asks before each read how many seconds it may take: http.client reads by `recv_into` alone."""

    seconds: Callable[[], float]

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:
        self.settimeout(self.seconds())
        return super().recv_into(buffer, nbytes, flags)


class TlsSocket(ssl.SSLSocket):
    """The same. And of a connection that was reset before TLS began, Python 3.11 raises the error from within the
    constructor and closes nothing: nobody has the socket then, and it is open until it is collected.

    Source: ssl.SSLSocket._create, which reads a byte there without the care that it takes of the handshake.
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
    host: ClassVar = "localhost"  # of the header Host
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
    """`base` is the path below which the server is, without a slash at its end. `tls` is called for each connection, as
    the files of certificates may be renewed; `server_name` is the name in the server's, if it is not the host."""

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
    """To one place, for one thread. A request opens it, and the next ones use it until the server has closed it.

    Requests raise FAILURES, and so does what reads their answers: TimeoutError when a time is over, and TooLarge.
    """

    def __init__(self, place: Place, timeout: float, now: Callable[[], float] = time.monotonic) -> None:
        """`timeout`: seconds for each step, which are to connect, to send, and each read."""
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
        """True if the next request needs no new connection, as far as is known."""
        return self._http is not None and self._http.sock is not None

    def ask(
        self, path: str, headers: Mapping[str, str] = {}, method: str = "GET", until: float = math.inf
    ) -> HTTPResponse:
        """Return the answer, of which only the head has come. It is read before the next request, or the connection is
        closed. `until`: when all of it must have come."""
        self._step, self._until = self._timeout, until
        connection = self._opened()
        connection.request(method, f"{self._place.base}{path}", headers=dict(headers))
        self._answer = connection.getresponse()
        return self._answer

    def body(self, most: int) -> bytes:
        """Return the body of the answer. If it broke off, the answer's `length` is how much is missing."""
        body = bytearray()
        for block in self._blocks():
            body += block
            _check(body, most)
        return bytes(body)

    def lines(self, most: int, silence: float) -> Iterator[bytes]:
        """Yield each line of the answer as it comes, without its end, and nothing of one without an end. The answer may
        last permanently, with up to `silence` seconds between its bytes."""
        self._step, self._until = silence, math.inf
        pending = bytearray()
        for block in self._blocks():
            *lines, rest = block.split(b"\n")
            if lines:
                lines[0] = bytes(pending) + lines[0]
                pending.clear()
            for line in lines:
                _check(line, most)
                yield line
            pending += rest
            _check(pending, most)

    def interrupt(self) -> None:
        """End the request in flight, with an error, and refuse all later ones. Any thread may call it."""
        self.is_interrupted = True
        connected = self._socket
        if connected is not None:
            with suppress(OSError):
                # An SSLSocket's own method would take the TLS layer away from the thread that reads.
                socket.socket.shutdown(connected, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close it, until the next request."""
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
            self._http.default_port = 443 if self._place.is_secure else 80  # the header Host has any other
            self._http.sock = self._socket = connected
        self._socket.settimeout(self._seconds())  # an interruption may have come before there was a socket
        return self._http

    def _seconds(self) -> float:
        """Return how long the next step may take."""
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
            answer.close()  # read1 alone does not notice the end, and the connection would not be free


def _check(content: bytes | bytearray, most: int) -> None:
    if len(content) > most:
        raise TooLarge(len(content))
