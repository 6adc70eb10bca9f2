"""Receives from all sockets of an input, on one thread.

It only moves bytes: they are taken apart by the reading thread. When too many of them wait, nothing is read: the peers
of connections are then slowed down by TCP, and datagrams stay in the kernel's buffer, which drops what it has no room
for. The thread never touches what it has handed over.
"""

import logging
import os
import selectors
import ssl
import threading

from shipper.clock import Clock
from shipper.source.feeds import server_tls
from shipper.source.feeds.descriptors import NO_MORE
from shipper.source.feeds.sockets.accepting import Acceptor, Limits, Secured
from shipper.source.feeds.sockets.connection import Connection
from shipper.source.feeds.sockets.counts import Reporter, SocketCounts
from shipper.source.feeds.sockets.listening import BACKLOG, KernelDrops, Listener, buffer_of
from shipper.source.feeds.sockets.received import Received, end_of, of_connection, of_datagrams
from shipper.source.feeds.sockets.system_calls import DatagramReader, StreamReader

logger = logging.getLogger(__name__)

READ_SIZE = 128 * 1024
INTERVAL = 1.0  # seconds between looks at what has no event, and less for a short timeout
SHORTEST_INTERVAL = 0.02
HANDSHAKE_SECONDS = 10.0
RECORDS_AT_ONCE = 8
DRAIN_SECONDS = 0.3  # at the end: for what a peer could not send before, as its window was full
RETRY_SECONDS = 1.0  # after an error of the system, as no free descriptor


class Receiver:
    """`start`, then `end` or `close`, by one thread; its own thread's methods begin with an underscore. Any thread
    may read `open_sockets`, `problems` and `is_waiting` (for room)."""

    def __init__(
        self,
        listeners: list[Listener],
        limits: Limits,
        received: Received,
        report: Reporter,
        clock: Clock,
        secured: Secured,
    ) -> None:
        self.counts = SocketCounts()
        self.problems: dict[str, str] = {}
        self.is_done = False
        self.is_waiting = False
        self.addresses = [listener.place for listener in listeners]
        self.open_sockets = len(listeners)
        self._acceptor = Acceptor(limits, secured, self.counts, report, clock)
        self._listeners = listeners
        self._limits = limits
        self._received = received
        self._report = report
        self._clock = clock
        self._secured = secured
        self._selector = selectors.DefaultSelector()
        self._connections: dict[Connection, None] = {}
        self._drops = [KernelDrops(listener) for listener in listeners if listener.named and not listener.is_stream]
        self._retry: dict[Listener, float] = {}  # listeners that are left alone for a while
        self._refused: list[Connection] = []  # by the reading thread
        self._interval = max(min(INTERVAL, limits.timeout / 4), SHORTEST_INTERVAL)
        self._waker = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._end_by: float | None = None
        self._stream = StreamReader(READ_SIZE)
        named = any(listener.named for listener in listeners)
        self._datagrams = None
        if not all(listener.is_stream for listener in listeners):
            self._datagrams = DatagramReader(limits.message, named=named)
        self._thread = threading.Thread(target=self._run, name=f"sockets {report.input_id}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def resume(self) -> None:
        """Look again whether there is room, if it waits for that."""
        if self.is_waiting:
            self._wake()

    def refuse(self, connection: Connection) -> None:
        """Close a connection whose bytes make no messages."""
        self._refused.append(connection)
        self._wake()

    def end(self, longest: float) -> None:
        """Stop listening, receive what the kernel has, in at most `longest` seconds, and close everything. `is_done`
        then. Calling it again does nothing."""
        if self._end_by is None:
            self._end_by = self._clock.monotonic() + max(longest, 0.0)
            self._wake()

    def close(self) -> None:
        """Do the same at once, and wait for the thread. Calling it again does nothing."""
        if self._waker < 0:
            return
        self._end_by = self._clock.monotonic()
        self._wake()
        self._thread.join()
        os.close(self._waker)
        self._waker = -1

    def _wake(self) -> None:
        if self._waker >= 0:
            os.eventfd_write(self._waker, 1)

    def _run(self) -> None:
        try:
            self._receive_until_end()
            self._drain()
        except Exception as error:
            logger.exception("input %s: nothing more is received: report this", self._report.input_id)
            self.problems = {
                self.addresses[0]: f"nothing more is received, because of an error in the agent: {error!r}"
            }
        finally:
            self._close_all()
            self.is_done = True
            self._received.wake()

    def _receive_until_end(self) -> None:
        self._selector.register(self._waker, selectors.EVENT_READ)
        for listener in self._listeners:
            self._selector.register(listener.socket, selectors.EVENT_READ, listener)
        due = self._clock.monotonic() + self._interval
        while self._end_by is None:
            self._wait_for_room()
            self._receive(self._selector.select(self._interval))
            now = self._clock.monotonic()
            if now >= due:
                if now - due > self._interval:
                    self._excuse(now - due)
                due = now + self._interval
                self._look(now)

    def _receive(self, ready: list[tuple[selectors.SelectorKey, int]]) -> None:
        for key, _ in ready:
            if key.data is None:
                self._clear()
            elif isinstance(key.data, Connection):
                self._continue(key.data)
            elif key.data.is_stream:
                self._accept(key.data)
            else:
                self._take_datagrams(key.data)
            if self._received.is_full or self._end_by is not None:
                return

    def _clear(self) -> None:
        os.eventfd_read(self._waker)
        while self._refused:
            connection = self._refused.pop()
            if connection in self._connections:
                self._close(connection, is_ours=True)

    def _wait_for_room(self) -> None:
        """Wait while too many bytes wait to be processed."""
        if not self._received.is_full:
            return
        self.is_waiting = True
        with selectors.PollSelector() as waiting:
            waiting.register(self._waker, selectors.EVENT_READ)
            while not self._received.has_much_room and self._end_by is None:
                if waiting.select(self._interval):
                    self._clear()
                self._count_drops()
        self.is_waiting = False

    def _excuse(self, seconds: float) -> None:
        """Note that for so long nothing was read, as there was no room, or the machine was busy or suspended: what did
        not come meanwhile is no fault of the peers."""
        for connection in self._connections:
            connection.active += seconds

    def _take_datagrams(self, listener: Listener) -> bool:
        """Return True if there may be more."""
        assert self._datagrams is not None
        try:
            datagrams = self._datagrams.read(listener.socket.fileno())
        except OSError as error:  # of a datagram that was sent, or the memory of the system
            self._report.warn("read", "cannot read from %s: %s", listener.place, error.strerror)
            return False
        if datagrams.texts:
            self._received.put(of_datagrams(datagrams))
        return bool(datagrams.texts)

    def _accept(self, listener: Listener) -> bool:
        """Return True if there may be more."""
        accepted = False
        try:
            for connection in self._acceptor.accept(listener, self._connections):
                self._connections[connection] = None
                self._selector.register(connection.socket, selectors.EVENT_READ, connection)
                self._count_sockets()
                accepted = True
                if not connection.is_secured:
                    self._shake_hands(connection)
        except OSError as error:
            self._leave_alone(listener, error)
        return accepted

    def _leave_alone(self, listener: Listener, error: OSError) -> None:
        """Accept no connections for a moment: without a free descriptor, the same would be tried again and again."""
        self.counts.connections_refused += 1
        words = NO_MORE.format(error.strerror)
        self.problems = {**self.problems, listener.place: words}
        self._report.warn("accept", "%s: %s", listener.place, words)
        if listener not in self._retry:  # a stop tries those again that are left alone
            self._selector.unregister(listener.socket)
        self._retry[listener] = self._clock.monotonic() + RETRY_SECONDS

    def _continue(self, connection: Connection) -> None:
        if connection not in self._connections:
            return
        if not connection.is_secured:
            self._shake_hands(connection)
            return
        # A read of TLS returns one record of 16 KiB at most.
        for _ in range(1 if self._secured.tls is None else RECORDS_AT_ONCE):
            if self._received.is_full or not self._read(connection):
                return

    def _read(self, connection: Connection) -> bool:
        """Return True if something came."""
        try:
            data = connection.read(self._stream)
        except OSError as error:
            self._report.debug("%s: the connection of %s broke off: %s", connection.place, connection.peer, error)
            data = b""
        if data is None:
            return False
        if not data:
            self._close(connection)
            return False
        connection.active = self._clock.monotonic()
        self._received.put(of_connection(connection, data))
        return True

    def _shake_hands(self, connection: Connection) -> None:
        try:
            connection.handshake()
        except ssl.SSLWantReadError:
            self._selector.modify(connection.socket, selectors.EVENT_READ, connection)
        except ssl.SSLWantWriteError:
            self._selector.modify(connection.socket, selectors.EVENT_WRITE, connection)
        except OSError as error:
            self._fail_handshake(connection, server_tls.reason(error))
        else:
            self._selector.modify(connection.socket, selectors.EVENT_READ, connection)
            self._continue(connection)  # what came with its last part is not reported again

    def _fail_handshake(self, connection: Connection, reason: str) -> None:
        self.counts.handshakes_failed += 1
        self._report.warn("handshake", "%s: no TLS with %s: %s", connection.place, connection.peer, reason)
        self._close(connection)

    def _close(self, connection: Connection, *, is_ours: bool = False) -> None:
        self._selector.unregister(connection.socket)
        del self._connections[connection]
        connection.close()
        self._received.put(end_of(connection, is_ours=is_ours))
        self._count_sockets()

    def _count_sockets(self) -> None:
        self.open_sockets = len(self._listeners) + len(self._connections)

    def _look(self, now: float) -> None:
        """Look at what no event shows: time that has passed, datagrams that were dropped, renewed certificates."""
        self._count_drops()
        if self._secured.tls is not None:
            self._secured.tls.renew()
        for listener, due in list(self._retry.items()):
            if now >= due:
                del self._retry[listener]
                self.problems = {place: words for place, words in self.problems.items() if place != listener.place}
                self._selector.register(listener.socket, selectors.EVENT_READ, listener)
        for connection in list(self._connections):
            silent = now - connection.active
            if not connection.is_secured and silent >= min(HANDSHAKE_SECONDS, self._limits.timeout):
                self._fail_handshake(connection, f"no handshake within {silent:.0f} seconds")
            elif silent >= self._limits.timeout:
                self.counts.connections_timed_out += 1
                message = "%s: the connection of %s was closed, as nothing came for %.0f seconds (timeout)"
                self._report.warn("timeout", message, connection.place, connection.peer, silent)
                self._close(connection, is_ours=True)

    def _count_drops(self) -> None:
        for drops in self._drops:
            new = drops.new()
            if new:
                self.counts.datagrams_dropped += new
                message = (
                    "%s: the kernel has dropped %d datagrams, as its buffer of %d bytes was full; raise read_buffer, "
                    "and net.core.rmem_max with it (sysctl), or find out why the output is slow"
                )
                self._report.warn("dropped", message, drops.listener.place, new, buffer_of(drops.listener.socket))

    def _drain(self) -> None:
        """Receive what the kernel has taken already: senders think that it is delivered. Who does not stop sending is
        not waited for."""
        self._selector.unregister(self._waker)
        self._acceptor.takes_last = True
        for listener in self._listeners:
            if not listener.is_stream:
                left = 2 * buffer_of(listener.socket)
                while left > 0 and self._may_drain() and self._take_datagrams(listener):
                    left -= self._limits.message
            elif self._secured.tls is None:
                left = BACKLOG
                while left > 0 and self._accept(listener):
                    left -= 1
            if listener not in self._retry:
                self._selector.unregister(listener.socket)
        left_of = {connection: 4 * buffer_of(connection.socket) for connection in self._connections}
        wait = 0.0
        while self._may_drain() and (ready := self._selector.select(wait)):
            wait = DRAIN_SECONDS
            for key, _ in ready:
                left_of[key.data] -= READ_SIZE
                if not key.data.is_secured or left_of[key.data] < 0:
                    self._close(key.data, is_ours=True)
                else:
                    self._read(key.data)

    def _may_drain(self) -> bool:
        """Wait for room. False when the time is over."""
        self.is_waiting = True
        with selectors.PollSelector() as waiting:
            waiting.register(self._waker, selectors.EVENT_READ)
            while (left := (self._end_by or 0.0) - self._clock.monotonic()) > 0:
                if not self._received.is_full:
                    return True
                if waiting.select(min(left, INTERVAL)):
                    os.eventfd_read(self._waker)
        return False

    def _close_all(self) -> None:
        self._count_drops()
        for listener in self._listeners:
            listener.close()
        for connection in list(self._connections):
            self._close(connection, is_ours=True)
        self._selector.close()
        self.open_sockets = 0
