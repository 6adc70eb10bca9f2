"""Receive from all sockets of an input, on one thread.

It only moves bytes: the reading thread splits them into messages. When too many of them wait, nothing is read: TCP then
slows down the peers of connections, and datagrams stay in the kernel's buffer, which drops what does not fit. The
thread never touches what it has handed over.
"""

import logging
import os
import select
import selectors
import threading
from contextlib import suppress

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.descriptors import NO_MORE
from log_shipper.shipper.inputs.mailbox import Mailbox
from log_shipper.shipper.inputs.sockets.accepting import Acceptor, ConnectionContext, ConnectionLimits
from log_shipper.shipper.inputs.sockets.connection import Connection
from log_shipper.shipper.inputs.sockets.connections import Connections
from log_shipper.shipper.inputs.sockets.counts import PeerReporter, SocketCounts
from log_shipper.shipper.inputs.sockets.drops import Drops
from log_shipper.shipper.inputs.sockets.intake import OVERHEAD, Piece
from log_shipper.shipper.inputs.sockets.listening import SocketListener, buffer_of
from log_shipper.shipper.inputs.sockets.system_calls import DatagramReader

logger = logging.getLogger(__name__)

INTERVAL = 1.0  # seconds between checks without an event, less for a short timeout
MIN_INTERVAL = 0.02
RETRY_SECONDS = 1.0  # after an error of the system, such as no free descriptor


class Receiver:
    """The receiver. `start`, then `end` or `close`, by one thread; its own thread's methods begin with an underscore.
    Any thread may read `open_sockets`, `problems` and `is_waiting` (for room)."""

    def __init__(
        self,
        listeners: list[SocketListener],
        limits: ConnectionLimits,
        mailbox: Mailbox[Piece],
        report: PeerReporter,
        clock: Clock,
        secured: ConnectionContext,
    ) -> None:
        self.counts = SocketCounts()
        self.problems: dict[str, str] = {}
        self.is_done = False
        self.is_waiting = False
        self.addresses = [listener.place for listener in listeners]
        self._acceptor = Acceptor(limits, secured, self.counts, report, clock)
        self._listeners = listeners
        self._mailbox = mailbox
        self._report = report
        self._clock = clock
        self._secured = secured
        self._selector = selectors.DefaultSelector()
        self._connections = Connections(self._selector, mailbox, limits, self.counts, report, clock)
        self._drops = Drops(listeners, self.counts, report)
        self._retry: dict[SocketListener, float] = {}  # listeners that are left alone for a while
        self._refused: list[Connection] = []  # by the reading thread
        self._passed_over: set[object] = set()  # sockets with data that had no turn because there was no more room
        self._interval = max(min(INTERVAL, limits.timeout / 4), MIN_INTERVAL)
        self._waker = Waker()
        self._end_by: float | None = None
        self._datagrams = {
            listener: DatagramReader(limits.message, named=listener.named)
            for listener in listeners
            if not listener.is_stream
        }
        self._thread = threading.Thread(target=self._run, name=f"sockets {report.input_id}", daemon=True)

    @property
    def open_sockets(self) -> int:
        return len(self._listeners) + len(self._connections.open)

    def start(self) -> None:
        self._thread.start()

    def resume(self) -> None:
        """Check again for room, if it waits for that."""
        if self.is_waiting:
            self._waker.wake()

    def refuse(self, connection: Connection) -> None:
        """Close a connection whose framing is invalid."""
        self._refused.append(connection)
        self._waker.wake()

    def end(self, seconds: float) -> None:
        """Stop listening, receive what the kernel has, in at most `seconds`, and close everything. `is_done`
        then. Calling it again does nothing."""
        if self._end_by is None:
            self._end_by = self._clock.monotonic() + max(seconds, 0.0)
            self._waker.wake()

    def close(self) -> None:
        """Do the same at once, and wait for the thread. Calling it again does nothing."""
        self._end_by = self._clock.monotonic()
        self._waker.wake()
        self._thread.join()
        self._waker.close()

    def _run(self) -> None:
        try:
            self._receive_until_end()
            self._drain()
        except Exception as error:
            logger.exception(
                "input %s: receiving stopped because of an internal error; report this", self._report.input_id
            )
            self.problems = {self.addresses[0]: f"receiving stopped because of an error in the agent: {error!r}"}
        finally:
            self._close_all()
            self.is_done = True
            self._mailbox.wake()

    def _receive_until_end(self) -> None:
        self._selector.register(self._waker.fd, selectors.EVENT_READ)
        for listener in self._listeners:
            self._selector.register(listener.socket, selectors.EVENT_READ, listener)
        due = self._clock.monotonic() + self._interval
        while self._end_by is None:
            self._wait_for_room()
            self._receive(self._selector.select(self._interval))
            now = self._clock.monotonic()
            if now >= due:
                if now - due > self._interval:
                    self._connections.extend_deadlines(now - due)
                due = now + self._interval
                self._look(now)

    def _receive(self, ready: list[tuple[selectors.SelectorKey, int]]) -> None:
        """Receive from the ready sockets, skipped ones first: the system always reports the same ones first, and busy
        peers would starve the others."""
        if self._passed_over:
            ready.sort(key=lambda item: item[0].data not in self._passed_over)
        done = 0
        for key, _ in ready:
            done += 1
            if key.data is None:
                self._waker.clear()
                self._close_refused()
            elif isinstance(key.data, Connection):
                self._connections.read(key.data)
            elif key.data.is_stream:
                self._accept(key.data)
            else:
                self._take_datagrams(key.data)
            if self._mailbox.is_full or self._end_by is not None:
                break
        self._passed_over = {key.data for key, _ in ready[done:]}

    def _close_refused(self) -> None:
        while self._refused:
            self._connections.close(self._refused.pop(), is_ours=True)

    def _wait_for_room(self) -> None:
        """Wait while too many bytes wait to be processed."""
        if not self._mailbox.is_full:
            return
        self.is_waiting = True
        while not self._mailbox.has_much_room and self._end_by is None:
            self._waker.wait(self._interval)
            self._close_refused()
            self._drops.count()
        self.is_waiting = False

    def _take_datagrams(self, listener: SocketListener) -> int:
        """Return the memory of the received datagrams in bytes; 0 if there are none."""
        try:
            datagrams = self._datagrams[listener].read(listener.socket.fileno())
        except OSError as error:  # of a datagram that was sent, or the memory of the system
            self._report.warn("read", "cannot read from %s: %s", listener.place, error.strerror)
            return 0
        if not datagrams.texts:
            return 0
        cost = sum(map(len, datagrams.texts)) + OVERHEAD * len(datagrams.texts)
        self._mailbox.put(Piece(datagrams=datagrams), cost)
        return cost

    def _accept(self, listener: SocketListener) -> bool:
        """Return True if more may wait to be accepted."""
        try:
            for connection in self._acceptor.accept(listener, self._connections.open):
                self._connections.add(connection)
        except OSError as error:
            self._leave_alone(listener, error)
            return False
        return self._acceptor.more_may_wait

    def _leave_alone(self, listener: SocketListener, error: OSError) -> None:
        """Accept no connections for a moment: without a free descriptor, each attempt would fail again."""
        words = NO_MORE.format(error.strerror)
        self.problems = {**self.problems, listener.place: words}
        self._report.warn("accept", "%s: %s", listener.place, words)
        self._unwatch(listener)
        self._retry[listener] = self._clock.monotonic() + RETRY_SECONDS
        self.counts.connections_refused += 1  # last: readers of it find the problem, too

    def _unwatch(self, listener: SocketListener) -> None:
        """Stop watching a socket. Calling it again does nothing: a stop repeats it for paused ones."""
        if listener.socket in self._selector.get_map():
            self._selector.unregister(listener.socket)

    def _look(self, now: float) -> None:
        """Check what no event shows: elapsed time, dropped datagrams, renewed certificates."""
        self._drops.count()
        if self._secured.tls is not None:
            self._secured.tls.renew()
        for listener, due in list(self._retry.items()):
            if now >= due:
                del self._retry[listener]
                self.problems = {place: words for place, words in self.problems.items() if place != listener.place}
                self._selector.register(listener.socket, selectors.EVENT_READ, listener)
        self._connections.close_silent(now)

    def _drain(self) -> None:
        """Receive what the kernel has taken already: senders think that it is delivered."""
        self._selector.unregister(self._waker.fd)
        self._acceptor.takes_last = True
        for listener in self._listeners:
            listener.refuse_more()
            self._unwatch(listener)
        for listener in self._listeners.copy():
            if not listener.is_stream:
                self._drain_datagrams(listener)
                continue
            if self._secured.tls is None:  # else only the beginning of a handshake has come
                self._accept_all(listener)
            self._listeners.remove(listener)
            listener.close()
        self._connections.drain(self._may_drain)

    def _accept_all(self, listener: SocketListener) -> None:
        """Accept the waiting connections. All are read in between, because ended ones make room."""
        while self._may_drain():
            more_may_wait = self._accept(listener)
            something_came = self._connections.take_turn(self._may_drain)
            if not (more_may_wait or something_came):
                return

    def _drain_datagrams(self, listener: SocketListener) -> None:
        left = 4 * buffer_of(listener.socket)  # more than the kernel has room for
        while self._may_drain() and (listener.takes_no_more or left > 0) and (size := self._take_datagrams(listener)):
            left -= size

    def _may_drain(self) -> bool:
        """Wait for room. Return False when the time is over."""
        self.is_waiting = True
        while (left := (self._end_by or 0.0) - self._clock.monotonic()) > 0:
            if not self._mailbox.is_full:
                return True
            self._waker.wait(min(left, INTERVAL))
        return False

    def _close_all(self) -> None:
        self._drops.count()
        for listener in self._listeners:
            listener.close()
        self._listeners = []
        for connection in list(self._connections.open):
            self._connections.close(connection, is_ours=True)
        self._selector.close()


class Waker:
    """A wake-up: `fd` is readable after `wake`, which any thread may call; one thread waits."""

    def __init__(self) -> None:
        self.fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def wake(self) -> None:
        if self.fd >= 0:
            os.eventfd_write(self.fd, 1)

    def clear(self) -> None:
        with suppress(BlockingIOError):
            os.eventfd_read(self.fd)

    def wait(self, seconds: float) -> None:
        """Wait until `wake` is called, for at most so many seconds."""
        poll = select.poll()
        poll.register(self.fd, select.POLLIN)
        if poll.poll(max(seconds, 0.0) * 1000):
            self.clear()

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
