"""Ports of 127.0.0.1 for servers that are restarted on the same port.

A port without a listener may belong to another process whose server is starting or restarting. So each process reserves
blocks of ports until it ends, and uses each port once.
"""

import random
import socket
import threading
from pathlib import Path

FIRST = 20_000
BLOCK = 50  # ports


class NoPorts(OSError):
    """Raised when other processes have reserved all blocks."""


class Ports:
    """The ports of one process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._marks: list[socket.socket] = []
        self._left: list[int] = []

    def free(self, count: int) -> list[int]:
        """Return ports without a listener, below the kernel's range of ephemeral ports. Raises NoPorts.

        A client that retries while the server is down could get the server's port as its ephemeral port: it would
        connect to itself, and the server could not bind again.
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
        """Reserve the block that begins at the port. Return False if another process has it."""
        mark = socket.socket(socket.AF_UNIX)
        try:
            mark.bind(f"\0{__name__} {first}")  # an abstract name, which the kernel frees with the process
        except OSError:
            mark.close()
            return False
        self._marks.append(mark)
        return True

    def close(self) -> None:
        """Release all blocks."""
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
        last = blocks[-1] + BLOCK - 1
        raise NoPorts(f"no free ports: {FIRST} to {last}: other processes have reserved all. Stop some of them.")


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
    """Return ports for this process, as `Ports.free` does."""
    return _OWN.free(count)
