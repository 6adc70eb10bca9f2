"""One connection: reads a request, responds, and closes. Slow clients are dropped at a deadline."""

import logging
import socket
import struct
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.runtime.monitor.exchange import (
    TEXT,
    Handler,
    Head,
    RefusedRequest,
    Response,
    check_request_line,
    parse_head,
    response_head,
)

logger = logging.getLogger(__name__)

READ_SIZE = 4096
RESET_AT_CLOSE = struct.pack("ii", 1, 0)  # struct linger
MAX_IGNORED = 64 * 1024  # bytes that a client sends after its request


@dataclass(frozen=True, slots=True)
class MonitorLimits:
    """Limits for clients. Each listening socket has its own `connections` and `streams`."""

    connections: int = 16
    streams: int = 8  # of the connections: endless responses must not occupy all of them
    connections_a_second: float = 100.0  # further ones wait, so that no client can keep the process busy
    head_bytes: int = 8192
    head_seconds: float = 5.0
    write_seconds: float = 5.0  # for a response, or one piece of a stream
    connection_seconds: float = 15.0  # except streams
    linger_seconds: float = 1.0  # time for a client to read the end of a response


@dataclass(frozen=True, slots=True)
class Listening:
    """The state that connections of one listening socket share."""

    routes: Mapping[str, Handler]
    limits: MonitorLimits
    names: Collection[str] | None = None  # allowed host names of the server; None for all
    streaming: set[int] = field(default_factory=set)  # descriptors of streaming connections
    failures: Throttle = field(default_factory=Throttle)


class Connection:
    """Runs on its own thread. Every method may raise OSError: the client left, or took too long."""

    def __init__(self, client: socket.socket, listening: Listening) -> None:
        self._client = client
        self._listening = listening
        self._limits = listening.limits
        self._deadline = time.monotonic() + listening.limits.connection_seconds

    def serve(self) -> None:
        head: Head | None = None
        headers: Mapping[str, str] = {}
        try:
            head = parse_head(self._read_head())
            response = self._respond(head)
        except RefusedRequest as refused:
            response, headers = refused.response, refused.headers
        try:
            self._send(head, response, headers)
        finally:
            if not isinstance(response.body, bytes):
                _close(response.body)
        self._linger()

    def _read_head(self) -> bytes:
        deadline = time.monotonic() + self._limits.head_seconds
        data = b""
        while b"\r\n\r\n" not in data and b"\n\n" not in data:
            if b"\n" in data:
                check_request_line(data)  # otherwise, a client that does not speak HTTP/1.x would wait for the deadline
            if len(data) >= self._limits.head_bytes:
                raise RefusedRequest(
                    431, f"the request line and headers are larger than {self._limits.head_bytes} bytes"
                )
            try:
                piece = self._receive(READ_SIZE, deadline)
            except TimeoutError:
                if not data:  # browsers open connections that they may need later
                    raise
                raise RefusedRequest(408, f"the request took longer than {self._limits.head_seconds:g} s") from None
            if not piece:
                if not data:
                    raise ConnectionResetError
                raise RefusedRequest(400, "the request is incomplete")
            data += piece
        # Anything after it, such as a pipelined second request, is not read.
        return min(data.partition(b"\r\n\r\n")[0], data.partition(b"\n\n")[0], key=len)

    def _respond(self, head: Head) -> Response:
        request = head.request()
        if self._listening.names is not None:
            check_host(head.headers.get("host", ""), self._listening.names)
        routes = self._listening.routes  # /stats/ is /stats, as in Filebeat
        handler = routes.get(request.path) or routes.get(request.path.rstrip("/"))
        if handler is None:
            known = ", ".join(sorted(routes))
            raise RefusedRequest(404, f"unknown path; available: {known}")
        try:
            return handler(request)
        except RefusedRequest:
            raise
        except Exception:
            if self._listening.failures.is_due():
                logger.exception("http: error while creating the response for %s", request.path)
            return Response(500, TEXT, b"internal error: see the log\n")

    def _send(self, head: Head | None, response: Response, headers: Mapping[str, str]) -> None:
        body = response.body
        chunked = head is not None and head.minor_version > 0
        data = response_head(response, chunked=chunked, headers=headers)
        if head is not None and head.method == "HEAD":
            self._write(data, self._deadline)
        elif isinstance(body, bytes):
            self._write(data + body, self._deadline)
        else:
            self._stream(data, body, chunked=chunked)

    def _stream(self, head: bytes, body: Iterator[bytes], *, chunked: bool) -> None:
        streaming, descriptor = self._listening.streaming, self._client.fileno()
        streaming.add(descriptor)  # before they are counted, so that two simultaneous ones are both counted
        try:
            if len(streaming) > self._limits.streams:
                text = f"limit of {self._limits.streams} streams reached: try again later\n".encode()
                self._write(response_head(Response(503, TEXT, text), chunked=False) + text, self._deadline)
                return
            self._write(head)
            for piece in body:
                if not piece:
                    self._check_present()
                else:
                    self._write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
            if chunked:
                self._write(b"0\r\n\r\n")
        finally:
            streaming.discard(descriptor)

    def _check_present(self) -> None:
        """Raise ConnectionResetError if the client left or the server closes. Further data from the client is
        ignored."""
        self._client.settimeout(0)
        with suppress(BlockingIOError):
            if not self._client.recv(READ_SIZE):
                raise ConnectionResetError

    def _linger(self) -> None:
        """Wait until the client has read everything: closing a socket with unread bytes resets the connection, and the
        client may lose the end of the response.
        """
        self._client.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + self._limits.linger_seconds
        ignored = 0
        while ignored < MAX_IGNORED and (piece := self._receive(READ_SIZE, deadline)):
            ignored += len(piece)

    def _receive(self, size: int, deadline: float) -> bytes:
        self._limit(deadline)
        return self._client.recv(size)

    def _write(self, data: bytes, deadline: float = float("inf")) -> None:
        # The timeout of sendall covers all bytes, not each part.
        self._limit(min(deadline, time.monotonic() + self._limits.write_seconds))
        try:
            self._client.sendall(data)
        except TimeoutError:
            # Otherwise, the kernel would keep unsent data for the client for minutes.
            self._client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
            raise

    def _limit(self, deadline: float) -> None:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        self._client.settimeout(remaining)


def _close(body: Iterator[bytes]) -> None:
    close = getattr(body, "close", None)
    if close is not None:
        close()


def check_host(host: str, names: Collection[str]) -> None:
    """Raise RefusedRequest unless the header is absent, or has an address, a loopback name or one of `names`.

    Against DNS rebinding: a browser sends a page's script only to the page's own host. An attacker's name may
    resolve to our address a second later, and the script would then read our responses; but the browser still sends the
    attacker's name as Host.
    """
    name = _without_port(host).lower().rstrip(".")
    if not name or name == "localhost" or name.endswith(".localhost") or name in names or _is_address(name):
        return
    raise RefusedRequest(
        403,
        "unknown host in the Host header: use the IP address, localhost, or the configured name",
    )


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if ":" in host else host


def _is_address(name: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, name)
        except OSError:
            continue
        return True
    return False
