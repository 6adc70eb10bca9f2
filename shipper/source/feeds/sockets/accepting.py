"""Accepts the connections of an input that listens, as far as it may have more of them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from shipper.clock import Clock
from shipper.source.feeds.descriptors import check_free
from shipper.source.feeds.server_tls import ServerTls
from shipper.source.feeds.sockets.connection import Connection, MakeFraming
from shipper.source.feeds.sockets.counts import Reporter, SocketCounts
from shipper.source.feeds.sockets.listening import Listener

AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Limits:
    """`timeout` in seconds; `connections`: how many may be open, 0 for no limit; `message`: the longest datagram."""

    message: int
    timeout: float
    connections: int = 0


@dataclass(frozen=True, slots=True)
class Secured:
    """What connections are made with: `tls` is None where they are not encrypted."""

    make_framing: MakeFraming
    tls: ServerTls | None = None


class Acceptor:
    """Used by the receiver's thread only. `takes_last`: also the descriptors are used that the rest of the agent may
    need, because it stops."""

    def __init__(self, limits: Limits, secured: Secured, counts: SocketCounts, report: Reporter, clock: Clock) -> None:
        self._most = limits.connections
        self._secured = secured
        self._counts = counts
        self._report = report
        self._clock = clock
        self.takes_last = False

    def accept(self, listener: Listener, existing: Collection[Connection]) -> Iterator[Connection]:
        """Yield some of the connections that wait; the caller adds each to the existing ones. Raises OSError if
        there is no descriptor for another one."""
        for _ in range(AT_ONCE):
            if not self.takes_last:
                check_free(listener.socket)
            try:
                accepted, _ = listener.socket.accept()
            except BlockingIOError:
                return
            except ConnectionError:  # it has left already
                continue
            if self._most and len(existing) >= self._most:
                accepted.close()
                self._counts.connections_refused += 1
                message = "%s: a connection was refused, as max_connections (%d) are open"
                self._report.warn("refused", message, listener.place, self._most)
                continue
            accepted.setblocking(False)
            try:
                if self._secured.tls is not None:
                    accepted = self._secured.tls.wrap(accepted)
                yield Connection(accepted, listener, self._secured.make_framing(), self._clock.monotonic())
            except OSError:  # it has left already
                accepted.close()
