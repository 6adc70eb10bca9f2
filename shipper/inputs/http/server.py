"""Run the thread that serves an http input: an event loop with all of its connections.

One thread for all: a connection without a request costs only its memory. It reads bodies and makes events of them, of
large and compressed ones on a second thread, so that no client waits for the work of another one; the reading thread
takes these from the mailbox, and calls back when they are delivered or on disk.
"""

import asyncio
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Protocol

from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.inputs.descriptors import NO_MORE, check_free
from log_shipper.shipper.inputs.http.conversation import Conversation
from log_shipper.shipper.inputs.http.deliveries import Part
from log_shipper.shipper.inputs.http.endpoint import HttpEndpoint
from log_shipper.shipper.inputs.http.judging import Judge
from log_shipper.shipper.inputs.http.limits import HttpLimits
from log_shipper.shipper.inputs.mailbox import Mailbox

logger = logging.getLogger(__name__)

TICK_SECONDS = 0.25
HANDSHAKE_SECONDS = 10.0
RETRY_SECONDS = 0.5  # after an error of the system, such as no free descriptor
STOP_SECONDS = 1.0
LEAVE_SECONDS = 0.05  # for the last responses, which the kernel takes at once


class Tls(Protocol):
    """The TLS of connections; certificates may be renewed (server_tls.py)."""

    @property
    def context(self) -> ssl.SSLContext: ...

    def renew(self) -> None: ...


class Server:
    """The server. Its methods are called by the reading thread. `problem`: why no connection is accepted; any thread
    may read it."""

    def __init__(
        self,
        listener: socket.socket,
        name: str,
        judge: Judge,
        mailbox: Mailbox[Part],
        limits: HttpLimits,
        tls: Tls | None,
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self.endpoint = HttpEndpoint(name, judge, mailbox, limits, self._call, self._aside)
        self._bodies = ThreadPoolExecutor(1, "http bodies")  # its thread starts with the first large body
        self.is_port_closed = False
        self.problem = ""
        self._throttle = Throttle(time.monotonic)
        self._name = name
        self._max_connections = 2 * limits.connections
        self._listener = listener
        self._wake = mailbox.wake
        self._tls = tls
        self._opening: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="http input", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close_port(self) -> None:
        """Accept no more connections and requests. Those that were handed over are answered."""
        self._call(self._close_port)

    def end_when_idle(self) -> None:
        """Refuse what was handed over and not taken; end the thread once the others are answered, which their time
        limits ensure."""
        self._call(self._end_when_idle)

    def close(self) -> None:
        """Refuse unanswered requests, and end the thread; within a second."""
        self._call(self._end)
        self._thread.join(STOP_SECONDS)

    def _call(self, function: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the thread has ended
            self._loop.call_soon_threadsafe(function)

    def _aside(self, work: Callable[[], Callable[[], None]]) -> None:
        def finish(future: "Future[Callable[[], None]]") -> None:
            if not future.cancelled():
                self._call(lambda: future.result()())  # the loop logs exceptions of the work

        self._bodies.submit(work).add_done_callback(finish)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._listener.setblocking(False)
        self._listen()
        self._loop.call_later(TICK_SECONDS, self._tick)
        try:
            self._loop.run_forever()
        finally:
            tasks = asyncio.all_tasks(self._loop)
            for task in tasks:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
            self._listener.close()
            self._loop.close()

    def _listen(self) -> None:
        """Accept connections from now on, if there are descriptors for them; else retry soon."""
        if self.is_port_closed:
            return
        try:
            check_free(self._listener)
        except OSError as error:
            self._cannot_accept(error)
        else:
            self.problem = ""
            self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        try:
            check_free(self._listener)
            client, _ = self._listener.accept()
        except (BlockingIOError, ConnectionError):  # it has left already
            return
        except OSError as error:
            self._loop.remove_reader(self._listener)
            self._cannot_accept(error)
            return
        if len(self.endpoint.conversations) + len(self._opening) >= self._max_connections:
            client.close()  # as many are being refused already
            return
        client.setblocking(False)
        task = self._loop.create_task(self._open(client))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    def _cannot_accept(self, error: OSError) -> None:
        self.problem = NO_MORE.format(error.strerror)
        if self._throttle.is_due():
            logger.warning("%s: %s", self._name, self.problem)
        self._loop.call_later(RETRY_SECONDS, self._listen)

    async def _open(self, client: socket.socket) -> None:
        tls = self._tls
        if tls is not None:
            tls.renew()
        try:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(
                lambda: Conversation(self.endpoint),
                client,
                ssl=None if tls is None else tls.context,
                ssl_handshake_timeout=None if tls is None else HANDSHAKE_SECONDS,
            )
        except OSError as error:  # of a handshake, too
            client.close()
            logger.debug("%s: a client failed to connect: %s", self._name, error)

    def _tick(self) -> None:
        self._loop.call_later(TICK_SECONDS, self._tick)
        self.endpoint.tick()

    def _close_port(self) -> None:
        if not self.is_port_closed:
            self._loop.remove_reader(self._listener)
            self._listener.close()
            self.is_port_closed = True
            self._wake()
        self.endpoint.stop(answers_waiting=True)

    def _end(self) -> None:
        self._loop.call_later(LEAVE_SECONDS, self._stop)
        self._close_port()
        self.endpoint.stop(answers_waiting=False)

    def _end_when_idle(self) -> None:
        self._close_port()
        self.endpoint.take_back()  # again and again: clients that connected before the port was closed may send later
        if self.endpoint.is_idle:
            self._stop()
        else:
            self._loop.call_later(TICK_SECONDS, self._end_when_idle)

    def _stop(self) -> None:
        self._bodies.shutdown(wait=False, cancel_futures=True)
        self.endpoint.abort()
        self._loop.call_soon(self._loop.stop)  # after the rest of `abort`
