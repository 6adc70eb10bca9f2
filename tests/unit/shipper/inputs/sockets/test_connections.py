"""When a connection is closed because nothing comes, and how long more is awaited at the end."""

import errno
import selectors
import socket
from typing import NoReturn

import pytest

from log_shipper.shipper.inputs.mailbox import Mailbox
from log_shipper.shipper.inputs.sockets.accepting import ConnectionLimits
from log_shipper.shipper.inputs.sockets.connection import Connection
from log_shipper.shipper.inputs.sockets.connections import DRAIN_SECONDS, Connections
from log_shipper.shipper.inputs.sockets.counts import PeerReporter, SocketCounts
from log_shipper.shipper.inputs.sockets.framing import DelimiterFraming
from log_shipper.shipper.inputs.sockets.intake import Piece
from log_shipper.shipper.inputs.sockets.listening import SocketListener
from tests.fakes import ManualClock


def made(
    selector: selectors.BaseSelector,
    here: socket.socket,
    clock: ManualClock,
    mailbox: Mailbox[Piece],
    counts: SocketCounts,
) -> Connections:
    """Return the connections, which are one: this end of a pair."""
    connections = no_connections(selector, clock, mailbox, counts)
    connections.add(connection_of(here, clock))
    return connections


def no_connections(
    selector: selectors.BaseSelector, clock: ManualClock, mailbox: Mailbox[Piece], counts: SocketCounts
) -> Connections:
    report = PeerReporter("in", clock.monotonic)
    return Connections(selector, mailbox, ConnectionLimits(1000, 300), counts, report, clock)


def connection_of(here: socket.socket, clock: ManualClock) -> Connection:
    listener = SocketListener(here, "unix x", is_stream=True, named=False)
    return Connection(here, ("", 0), listener, DelimiterFraming("\n", 1000), clock.monotonic())


def test_a_connection_is_not_silent_while_what_it_has_sent_was_not_read() -> None:
    clock, counts, received = ManualClock(), SocketCounts(), Mailbox[Piece](lambda: None, 64 * 1024)
    here, there = socket.socketpair()
    with here, there, selectors.DefaultSelector() as selector:
        connections = made(selector, here, clock, received, counts)
        there.sendall(b"one\n")
        clock.advance(301)
        connections.close_silent(clock.monotonic())
        assert (len(connections.open), counts.connections_timed_out) == (1, 0)
        clock.advance(301)
        connections.close_silent(clock.monotonic())
        assert (len(connections.open), counts.connections_timed_out) == (0, 1)
    pieces = [received.pop(), received.pop()]
    assert [piece.data for piece in pieces if piece is not None] == [b"one\n", None]


class NoMoreWatches(selectors.SelectSelector):
    def register(self, *_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_connection_that_cannot_be_watched_is_closed() -> None:
    here, there = socket.socketpair()
    with here, there, NoMoreWatches() as selector:
        there.settimeout(10)
        clock, received = ManualClock(), Mailbox[Piece](lambda: None)
        connections = no_connections(selector, clock, received, SocketCounts())
        with pytest.raises(OSError, match="No space left"):
            connections.add(connection_of(here, clock))
        assert not connections.open
        assert there.recv(1) == b""


class Waits(selectors.SelectSelector):
    """Keeps for how long it was asked to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float | None] = []

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.seconds.append(timeout)
        return super().select(0)


@pytest.mark.parametrize(("closes", "longest"), [(True, 0.0), (False, DRAIN_SECONDS)])
def test_at_the_end_more_is_awaited_of_connections_that_are_open_only(closes: bool, longest: float) -> None:
    here, there = socket.socketpair()
    with here, there, Waits() as selector:
        connections = made(selector, here, ManualClock(), Mailbox[Piece](lambda: None, 64 * 1024), SocketCounts())
        there.sendall(b"one\n")
        if closes:
            there.close()
        connections.drain(lambda: True)
        assert max(seconds or 0.0 for seconds in selector.seconds) == longest
        assert len(connections.open) == (0 if closes else 1)
