"""Accept the connections of an input that listens, within its limits."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.descriptors import check_free
from log_shipper.shipper.inputs.server_tls import ServerTls
from log_shipper.shipper.inputs.sockets.connection import Connection, MakeFraming
from log_shipper.shipper.inputs.sockets.counts import PeerReporter, SocketCounts
from log_shipper.shipper.inputs.sockets.listening import SocketListener

AT_ONCE = 64
TURNS_UNTIL_REFUSED = 3


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The limits of an input. `timeout` in seconds; `connections`: maximum number of open ones, 0 for no limit;
    `message`: maximum size of a datagram."""

    message: int
    timeout: float
    connections: int = 0


@dataclass(frozen=True, slots=True)
class ConnectionContext:
    """The context of connections: `tls` is None without encryption."""

    make_framing: MakeFraming
    tls: ServerTls | None = None


class Acceptor:
    """The acceptor. Used by the receiver's thread only. `takes_last`: also use the descriptors reserved for the rest of
    the agent, because it stops. `more_may_wait`: the last call may not have taken all waiting connections."""

    def __init__(
        self,
        limits: ConnectionLimits,
        secured: ConnectionContext,
        counts: SocketCounts,
        report: PeerReporter,
        clock: Clock,
    ) -> None:
        self._max_connections = limits.connections
        self._secured = secured
        self._counts = counts
        self._report = report
        self._clock = clock
        self._turns_full = 0
        self.takes_last = False
        self.more_may_wait = False

    def accept(self, listener: SocketListener, existing: Collection[Connection]) -> Iterator[Connection]:
        """Yield some of the waiting connections; the caller adds each to the existing ones. Raises OSError if no
        descriptor is free."""
        self.more_may_wait = True
        for _ in range(AT_ONCE):
            is_full = bool(self._max_connections) and len(existing) >= self._max_connections
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
                message = "%s: connection refused: max_connections (%d) reached"
                self._report.warn("refused", message, listener.place, self._max_connections)
                self._counts.connections_refused += 1
                continue
            accepted.setblocking(False)
            try:
                if self._secured.tls is not None:
                    accepted = self._secured.tls.wrap(accepted)
                    accepted.getpeername()  # raises if it has left: then there is no peer for TLS
                yield Connection(accepted, address, listener, self._secured.make_framing(), self._clock.monotonic())
                self._turns_full = 0
            except OSError:  # it has left already
                accepted.close()

    def _puts_off_refusing(self) -> bool:
        """Count a turn with too many open connections. Return True for the first ones: peers may have closed some of
        these, which shows after reading them. One read gives the last lines, the next one the end."""
        self._turns_full = min(self._turns_full + 1, TURNS_UNTIL_REFUSED)
        return self._turns_full < TURNS_UNTIL_REFUSED
