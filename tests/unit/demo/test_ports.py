import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from demo.ports import BLOCK, FIRST, NoPorts, Ports, free_ports


@pytest.fixture
def one() -> Iterator[Ports]:
    with closing(Ports()) as ports:
        yield ports


@pytest.fixture
def other() -> Iterator[Ports]:
    with closing(Ports()) as ports:
        yield ports


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


def test_a_port_is_given_once_although_nothing_listens_there_yet(one: Ports) -> None:
    ports = [port for _ in range(3 * BLOCK) for port in one.free(1)]
    assert len(set(ports)) == 3 * BLOCK


def test_a_port_on_which_a_server_listens_is_passed_over(one: Ports) -> None:
    (first,) = one.free(1)
    with socket.create_server(("127.0.0.1", first - 1)):
        assert first - 1 not in one.free(BLOCK)


def test_the_ports_of_a_process_are_given_to_no_other(one: Ports, other: Ports) -> None:
    for port in one.free(2 * BLOCK):
        assert not other.reserve(port - (port - FIRST) % BLOCK)


def test_where_others_have_all_ports_it_is_reported() -> None:
    class Late(Ports):
        def reserve(self, first: int) -> bool:
            return False

    with pytest.raises(NoPorts, match=rf"no free ports: {FIRST} to .*Stop some of them\."):
        Late().free(1)
