"""Datagrams that the kernel dropped, counted and logged."""

import socket
import struct

from shipper.source.feeds.sockets.counts import Reporter, SocketCounts
from shipper.source.feeds.sockets.listening import Listener, buffer_of

MEMORY_INFO = 55  # SO_MEMINFO: nine numbers, of which the last one is how many datagrams were dropped
_MEMORY_INFO = struct.Struct("9I")


class KernelDrops:
    """How many datagrams the kernel had no room for. (Of a unix socket it drops none: the senders wait.)"""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self._seen = self._now()

    def new(self) -> int:
        """Return how many it has dropped since the last call."""
        before, self._seen = self._seen, self._now()
        return (self._seen - before) % 2**32

    def _now(self) -> int:
        raw = self.listener.socket.getsockopt(socket.SOL_SOCKET, MEMORY_INFO, _MEMORY_INFO.size)
        return int(_MEMORY_INFO.unpack(raw)[-1])


class Drops:
    """Those of all sockets of an input. Used by the receiver's thread only."""

    def __init__(self, listeners: list[Listener], counts: SocketCounts, report: Reporter) -> None:
        self._counts = counts
        self._report = report
        self._of = [KernelDrops(listener) for listener in listeners if listener.named and not listener.is_stream]

    def count(self) -> None:
        """Count those since the last call."""
        for drops in self._of:
            new = drops.new()
            if new:
                self._counts.datagrams_dropped += new
                message = (
                    "%s: the kernel has dropped %d datagrams, as its buffer of %d bytes was full; raise read_buffer, "
                    "and net.core.rmem_max with it (sysctl), or find out why the output is slow"
                )
                self._report.warn("dropped", message, drops.listener.place, new, buffer_of(drops.listener.socket))
