"""Ports of 127.0.0.1 for a server that will be stopped and started again on the same port."""

import random
import socket
from pathlib import Path

FIRST = 20_000


def free_ports(count: int) -> list[int]:
    """Return ports on which nothing listens, below the range from which the kernel gives ports to outgoing connections.

    In that range a client that retries while the server is down can be given the server's own port: it connects to
    itself, and the server cannot bind again.
    """
    below = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    candidates = range(FIRST, below) if below > FIRST + 1000 else range(FIRST, 32_768)
    ports: list[int] = []
    for port in random.sample(candidates, len(candidates)):
        if len(ports) == count:
            break
        if _is_free(port):
            ports.append(port)
    return ports


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
