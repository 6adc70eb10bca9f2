"""Accepts the connections of an input that listens, as far as it may have more of them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.descriptors import check_free
from log_shipper.shipper.inputs.server_tls import ServerTls
from log_shipper.shipper.inputs.sockets.connection import Connection, MakeFraming
from log_shipper.shipper.inputs.sockets.counts import Reporter, SocketCounts
from log_shipper.shipper.inputs.sockets.listening import Listener

AT_ONCE = 64
TURNS_UNTIL_REFUSED = 3


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
    """Used by the receiver's thread only. `takes_last`: the descriptors that are kept for the rest of the agent are
    used too, because it stops. `more_may_wait`: the last call may not have taken all connections that waited."""

    def __init__(self, limits: Limits, secured: Secured, counts: SocketCounts, report: Reporter, clock: Clock) -> None:
        self._most = limits.connections
        self._secured = secured
        self._counts = counts
        self._report = report
        self._clock = clock
        self._turns_full = 0
        self.takes_last = False
        self.more_may_wait = False

    def accept(self, listener: Listener, existing: Collection[Connection]) -> Iterator[Connection]:
        """Yield some of the connections that wait; the caller adds each to the existing ones. Raises OSError if
        there is no descriptor for another one."""
        self.more_may_wait = True
        for _ in range(AT_ONCE):
            is_full = bool(self._most) and len(existing) >= self._most
            if is_full and self._puts_off_refusing():
                return
            if not self.takes_last:
                check_free(listener.socket)
            try:
                accepted, address = listener.socket.accept()
            except BlockingIOError:
                self._turns_full = 0
                self.more_may_wait = False
                return
            except ConnectionError:  # it has left already
                continue
            if is_full:
                accepted.close()
                message = "%s: a connection was refused, as max_connections (%d) are open"
                self._report.warn("refused", message, listener.place, self._most)
                self._counts.connections_refused += 1
                continue
            accepted.setblocking(False)
            try:
                if self._secured.tls is not None:
                    accepted = self._secured.tls.wrap(accepted)
                    accepted.getpeername()  # raises if it has left: there is nothing to make TLS with then
                yield Connection(accepted, address, listener, self._secured.make_framing(), self._clock.monotonic())
                self._turns_full = 0
            except OSError:  # it has left already
                accepted.close()

    def _puts_off_refusing(self) -> bool:
        """Count a turn in which too many are open. True for the first ones: peers may have closed some of these, which
        is known once they were read. One read gives the last lines, the next one the end."""
        self._turns_full = min(self._turns_full + 1, TURNS_UNTIL_REFUSED)
        return self._turns_full < TURNS_UNTIL_REFUSED
