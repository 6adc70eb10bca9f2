"""Read from the connections of an input that listens, and close ended and silent ones."""

import selectors
import ssl
from collections.abc import Callable

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs import server_tls
from log_shipper.shipper.inputs.mailbox import Mailbox
from log_shipper.shipper.inputs.sockets.accepting import ConnectionLimits
from log_shipper.shipper.inputs.sockets.connection import Connection
from log_shipper.shipper.inputs.sockets.counts import PeerReporter, SocketCounts
from log_shipper.shipper.inputs.sockets.intake import OVERHEAD, Piece
from log_shipper.shipper.inputs.sockets.system_calls import StreamReader

READ_SIZE = 128 * 1024
HANDSHAKE_SECONDS = 10.0
RECORDS_AT_ONCE = 8
DRAIN_SECONDS = 0.3  # time to wait for more at the end: peers could not send it before, as their windows were full
MAX_DRAIN_SECONDS = 1.0  # the same if more keeps coming
PEER_BYTES = 4 * 1024**2  # maximum that a peer's system keeps until it is sent (net.ipv4.tcp_wmem)


class Connections:
    """The open connections. Used by the receiver's thread only, except the size of `open`, which any thread may read.
    `selector` has an entry for each of them."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        mailbox: Mailbox[Piece],
        limits: ConnectionLimits,
        counts: SocketCounts,
        report: PeerReporter,
        clock: Clock,
    ) -> None:
        self.open: dict[Connection, None] = {}
        self._selector = selector
        self._mailbox = mailbox
        self._limits = limits
        self._counts = counts
        self._report = report
        self._clock = clock
        self._stream = StreamReader(READ_SIZE)
        self._left_of: dict[Connection, int] = {}  # how many bytes more are read of each, at the end

    def add(self, connection: Connection) -> None:
        """Add a connection. Raises OSError, and closes it, if the system watches no more sockets."""
        try:
            self._selector.register(connection.socket, selectors.EVENT_READ, connection)
        except OSError:
            connection.close()
            raise
        self.open[connection] = None
        if not connection.is_secured:
            self._shake_hands(connection)

    def read(self, connection: Connection) -> int:
        """Read received bytes, or some of them. Return how many bytes that is. Does nothing for a closed connection."""
        if connection not in self.open:
            return 0
        if not connection.is_secured:
            return self._shake_hands(connection)
        size = 0
        # A read of TLS returns one record of at most 16 KiB.
        for _ in range(RECORDS_AT_ONCE if connection.is_encrypted else 1):
            if self._mailbox.is_full or not (came := self._read(connection)):
                break
            size += came
        return size

    def close(self, connection: Connection, *, is_ours: bool = False) -> None:
        """Close a connection. `is_ours`: its peer has not closed it. Does nothing for a closed one."""
        if connection in self.open:
            self._selector.unregister(connection.socket)
            del self.open[connection]
            connection.close()
            self._mailbox.put(Piece(connection=connection, is_ours=is_ours), OVERHEAD)

    def extend_deadlines(self, seconds: float) -> None:
        """Note that nothing was read for so long because there was no room, or the host was busy or suspended: the
        silence is not the peers' fault."""
        for connection in self.open:
            connection.active += seconds

    def close_silent(self, now: float) -> None:
        """Close connections that were silent for too long."""
        for connection in list(self.open):
            if self._mailbox.is_full:
                return
            if self._is_silent(connection, now):
                self.read(connection)  # the others may have left it no turn
                if connection in self.open and self._is_silent(connection, now):
                    self._close_silent(connection, now - connection.active)

    def drain(self, may_read: Callable[[], bool]) -> None:
        """Read what the kernel has, and what peers could not send before, while `may_read`, which waits for room."""
        end: float | None = None
        while may_read():
            if self.take_turn(may_read):
                continue
            now = self._clock.monotonic()
            end = end or now + MAX_DRAIN_SECONDS
            if self.open.keys().isdisjoint(self._left_of) or not self.take_turn(
                may_read, min(DRAIN_SECONDS, end - now)
            ):
                return

    def take_turn(self, may_read: Callable[[], bool], wait: float = 0.0) -> bool:
        """Read once from each connection with data; close it once it has sent more than can have been in transit when
        the end began, so that a peer that keeps sending is not waited for. Return True if one had data within `wait`
        seconds. Only connections may be registered at the selector."""
        ready = self._selector.select(wait)
        for key, _ in ready:
            if not may_read():
                return False
            connection = key.data
            if connection not in self._left_of:
                self._left_of[connection] = connection.waiting + PEER_BYTES
            if self._left_of[connection] < 0:
                self.close(connection, is_ours=True)
            else:
                self._left_of[connection] -= self.read(connection)
        return bool(ready)

    def _read(self, connection: Connection) -> int:
        """Return the number of bytes read."""
        try:
            data = connection.read(self._stream)
        except OSError as error:
            self._report.debug("%s: connection of %s lost: %s", connection.place, connection.peer, error)
            data = b""
        if data is None:
            return 0
        if not data:
            self.close(connection)
            return 0
        connection.active = self._clock.monotonic()
        self._mailbox.put(Piece(connection=connection, data=data), len(data) + OVERHEAD)
        return len(data)

    def _shake_hands(self, connection: Connection) -> int:
        """Continue the handshake. Return the number of bytes read after it."""
        try:
            connection.handshake()
        except ssl.SSLWantReadError:
            self._selector.modify(connection.socket, selectors.EVENT_READ, connection)
        except ssl.SSLWantWriteError:
            self._selector.modify(connection.socket, selectors.EVENT_WRITE, connection)
        except OSError as error:
            self._fail_handshake(connection, server_tls.reason(error))
        else:
            connection.active = self._clock.monotonic()
            self._selector.modify(connection.socket, selectors.EVENT_READ, connection)
            return self.read(connection)  # bytes after its last part are not reported again
        return 0

    def _fail_handshake(self, connection: Connection, reason: str) -> None:
        self._report.warn(
            "handshake", "%s: TLS handshake with %s failed: %s", connection.place, connection.peer, reason
        )
        self._counts.handshakes_failed += 1
        self.close(connection)

    def _is_silent(self, connection: Connection, now: float) -> bool:
        timeout = self._limits.timeout
        return now - connection.active >= (timeout if connection.is_secured else min(HANDSHAKE_SECONDS, timeout))

    def _close_silent(self, connection: Connection, seconds: float) -> None:
        if not connection.is_secured:
            self._fail_handshake(connection, f"no handshake within {seconds:.0f} seconds")
            return
        message = "%s: closed the connection of %s: no data for %.0f seconds (timeout)"
        self._report.warn("timeout", message, connection.place, connection.peer, seconds)
        self._counts.connections_timed_out += 1
        self.close(connection, is_ours=True)
