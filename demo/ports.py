"""Ports of 127.0.0.1 for a server that will be stopped and started again on the same port.

A port on which nothing listens may be that of a server of another process which is about to start, or is down for a
moment. So each process takes its ports from blocks that are its own until it ends, and none of them twice.
"""

import random
import socket
import threading
from pathlib import Path

FIRST = 20_000
BLOCK = 50  # ports


class NoPorts(OSError):
    """Other processes have every block."""


class Ports:
    """The ports of one process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._marks: list[socket.socket] = []
        self._left: list[int] = []

    def free(self, count: int) -> list[int]:
        """Return ports on which nothing listens, below the range from which the kernel gives ports to outgoing
        connections. Raises NoPorts.

        In that range a client that retries while the server is down can be given the server's own port: it connects to
        itself, and the server cannot bind again.
        """
        ports: list[int] = []
        with self._lock:
            while len(ports) < count:
                if not self._left:
                    self._left.extend(self._next_block())
                if _is_free(port := self._left.pop()):
                    ports.append(port)
        return ports

    def reserve(self, first: int) -> bool:
        """Return True if the block that begins at the port is this process's from now on."""
        mark = socket.socket(socket.AF_UNIX)
        try:
            mark.bind(f"\0{__name__} {first}")  # a name without a file, which the kernel frees with the process
        except OSError:
            mark.close()
            return False
        self._marks.append(mark)
        return True

    def close(self) -> None:
        """Leave all blocks to others."""
        for mark in self._marks:
            mark.close()
        self._marks.clear()
        self._left.clear()

    def _next_block(self) -> range:
        below = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
        blocks = range(FIRST, (below if below > FIRST + 1000 else 32_768) - BLOCK, BLOCK)
        for first in random.sample(blocks, len(blocks)):
            if self.reserve(first):
                return range(first, first + BLOCK)
        raise NoPorts(f"other processes have all ports from {FIRST} to {blocks[-1] + BLOCK - 1}: end some of them")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


_OWN = Ports()


def free_ports(count: int) -> list[int]:
    """As `Ports.free`, for this process."""
    return _OWN.free(count)
