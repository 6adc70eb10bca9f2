"""An HTTP server that limits everything its clients may use.

One thread accepts connections, and one per connection reads a request, responds and closes. `http.server` with its
ThreadingHTTPServer starts as many threads as there are clients, waits for each without a time limit, and speaks
HTTP/0.9.
"""

import logging
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from log_shipper.runtime import sockets
from log_shipper.runtime.monitor.connection import Connection, Listening, MonitorLimits
from log_shipper.runtime.monitor.exchange import TEXT, Handler, Request, Response, response_head

__all__ = ["Handler", "HttpServer", "MonitorLimits", "Request", "Response"]

logger = logging.getLogger(__name__)

CLOSE_SECONDS = 0.6
MAX_REFUSED = 32  # connections that got a 503 and are not closed yet
RETRY_SECONDS = 0.5  # after a system error such as no free descriptor
LIMITS = MonitorLimits()


@dataclass(frozen=True, slots=True)
class MonitorListener:
    endpoint: socket.socket
    listening: Listening
    clients: dict[socket.socket, threading.Thread] = field(default_factory=dict)


class HttpServer:
    """Serves GET and HEAD by `routes`: the handler of the path is called on a server thread, several at once.

    If only this machine can connect, `names` are the allowed hosts, besides addresses, loopback names and what it
    listens on. Otherwise, any name is allowed: a server on the network is reached by names that it cannot know, and
    every machine there may connect anyway.
    """

    def __init__(
        self, routes: Mapping[str, Handler], limits: MonitorLimits = LIMITS, *, names: Collection[str] = ()
    ) -> None:
        self._routes = routes
        self._limits = limits
        self._names = {name.lower() for name in names}
        self._listeners: list[MonitorListener] = []
        self._files: list[sockets.SocketFile] = []
        self._refused: deque[tuple[float, socket.socket]] = deque()  # deadlines, oldest first
        self._closing = threading.Event()
        self._woken, self._waker = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)

    def listen_on(self, host: str, port: int) -> None:
        """Listen at the host's address, before `start`. Raises OSError."""
        endpoint = sockets.listen_on(host, port)
        names = frozenset({*self._names, host.lower()}) if sockets.is_loopback(endpoint) else None
        listening = Listening(self._routes, self._limits, names)
        self._listeners.append(MonitorListener(endpoint, listening))

    def listen_at(self, path: Path) -> None:
        """Listen on a unix socket of mode 0600, before `start`. A stale one is replaced. Raises OSError with a message
        if another process serves it, or the path is too long.
        """
        file = sockets.SocketFile(path)
        self._files.append(file)
        self._listeners.append(MonitorListener(file.socket, Listening(self._routes, self._limits)))

    @property
    def ports(self) -> list[int]:
        """Return the ports of `listen_on`, including those that the system chose for port 0."""
        endpoints = [listener.endpoint for listener in self._listeners]
        return [endpoint.getsockname()[1] for endpoint in endpoints if endpoint.family != socket.AF_UNIX]

    def start(self) -> None:
        # Here instead of in the thread, which may start after everything is closed.
        self._selector.register(self._woken, selectors.EVENT_READ)
        for listener in self._listeners:
            listener.endpoint.setblocking(False)
            self._selector.register(listener.endpoint, selectors.EVENT_READ, listener)
        self._thread.start()

    def close(self) -> None:
        """Close all connections and sockets, within a second. A running handler ends by itself."""
        if self._closing.is_set():
            return
        self._closing.set()
        deadline = time.monotonic() + CLOSE_SECONDS
        self._waker.close()
        if self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS)
        for file in self._files:
            file.remove()
        threads = [thread for listener in self._listeners for thread in self._close_listener(listener)]
        for thread in threads:
            thread.join(max(deadline - time.monotonic(), 0))
        for _, client in self._refused:
            client.close()
        if not self._thread.is_alive():  # otherwise, it would wait for closed sockets
            self._selector.close()
            self._woken.close()

    def _close_listener(self, listener: MonitorListener) -> list[threading.Thread]:
        listener.endpoint.close()
        clients = listener.clients.copy()
        for client in clients:
            with suppress(OSError):  # the client left
                client.shutdown(socket.SHUT_RDWR)
        return list(clients.values())

    def _run(self) -> None:
        pace = Pace(self._limits.connections_a_second)
        while not self._closing.is_set():
            for key, _ in self._selector.select(self._until_next_refused()):
                if isinstance(key.data, MonitorListener):
                    self._closing.wait(pace.seconds())
                    self._accept(key.data)
            self._close_refused()

    def _accept(self, listener: MonitorListener) -> None:
        try:
            client, _ = listener.endpoint.accept()
        except BlockingIOError:  # the client left already
            return
        except OSError as error:
            if not self._closing.is_set():
                logger.debug("http: cannot accept a connection: %s", error)
                self._closing.wait(RETRY_SECONDS)
            return
        if len(listener.clients) >= self._limits.connections:
            self._refuse(client)
            return
        thread = threading.Thread(target=self._serve, args=(client, listener), name="http client", daemon=True)
        listener.clients[client] = thread
        try:
            thread.start()
        except RuntimeError:  # the system has no thread left
            del listener.clients[client]
            self._refuse(client)

    def _serve(self, client: socket.socket, listener: MonitorListener) -> None:
        try:
            Connection(client, listener.listening).serve()
        except OSError:
            pass  # the client left, or took too long
        finally:
            listener.clients.pop(client, None)
            client.close()

    def _refuse(self, client: socket.socket) -> None:
        """Respond with 503 without a thread and without waiting for the client."""
        text = f"limit of {self._limits.connections} connections reached: try again later\n"
        response = Response(503, TEXT, text.encode())
        client.setblocking(False)
        with suppress(OSError):
            client.sendall(response_head(response, chunked=False) + text.encode())
            client.shutdown(socket.SHUT_WR)
        # Closing at once would reset the connection when the request arrives, and the client may lose the response.
        self._refused.append((time.monotonic() + self._limits.linger_seconds, client))

    def _until_next_refused(self) -> float | None:
        return max(self._refused[0][0] - time.monotonic(), 0) if self._refused else None

    def _close_refused(self) -> None:
        now = time.monotonic()
        while self._refused and (self._refused[0][0] <= now or len(self._refused) > MAX_REFUSED):
            self._refused.popleft()[1].close()


class Pace:
    """Delays what exceeds `rate` per second, after the first second's worth."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._free_at = 0.0  # when everything let through is paid for

    def seconds(self) -> float:
        """Return how long the next one must wait."""
        now = time.monotonic()
        self._free_at = max(self._free_at, now) + 1 / self._rate
        return max(self._free_at - now - 1.0, 0)
