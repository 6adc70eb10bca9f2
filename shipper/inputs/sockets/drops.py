"""Count and log datagrams that the kernel dropped."""

import socket
import struct

from log_shipper.shipper.inputs.sockets.counts import PeerReporter, SocketCounts
from log_shipper.shipper.inputs.sockets.listening import SocketListener, buffer_of

MEMORY_INFO = 55  # SO_MEMINFO: nine numbers, the last of which is the number of dropped datagrams
_MEMORY_INFO = struct.Struct("9I")


class Drops:
    """The dropped datagrams of all sockets whose peers have addresses. (The kernel drops none on a unix socket: the
    senders wait.) Used by the receiver's thread only."""

    def __init__(self, listeners: list[SocketListener], counts: SocketCounts, report: PeerReporter) -> None:
        self._counts = counts
        self._report = report
        self._counted = {
            listener: _dropped(listener.socket) for listener in listeners if listener.named and not listener.is_stream
        }

    def count(self) -> None:
        """Count the drops since the last call."""
        for listener, before in self._counted.items():
            now = self._counted[listener] = _dropped(listener.socket)
            new = (now - before) % 2**32
            if new:
                message = (
                    "%s: the kernel dropped %d datagrams, because its buffer of %d bytes was full; raise "
                    "read_buffer and net.core.rmem_max (sysctl), or find out why the output is slow"
                )
                self._report.warn("dropped", message, listener.place, new, buffer_of(listener.socket))
                self._counts.datagrams_dropped += new


def _dropped(listening: socket.socket) -> int:
    """Return how many datagrams the kernel dropped since the socket was opened, modulo 2**32."""
    raw = listening.getsockopt(socket.SOL_SOCKET, MEMORY_INFO, _MEMORY_INFO.size)
    return int(_MEMORY_INFO.unpack(raw)[-1])
