import socket
from pathlib import Path

from demo.ports import free_ports


def test_the_ports_differ_and_can_be_bound() -> None:
    ports = free_ports(3)
    assert len(set(ports)) == 3
    for port in ports:
        with socket.socket() as server:
            # As the broker does it: a connection of an earlier server on that port may linger in TIME_WAIT.
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(("127.0.0.1", port))


def test_no_outgoing_connection_is_given_such_a_port() -> None:
    low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    if low > 21_000:
        assert not any(low <= port <= high for port in free_ports(20))
