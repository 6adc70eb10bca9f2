"""When a connection is closed because nothing comes."""

import selectors
import socket

from shipper.source.feeds.sockets.accepting import Limits
from shipper.source.feeds.sockets.connection import Connection
from shipper.source.feeds.sockets.connections import Connections
from shipper.source.feeds.sockets.counts import Reporter, SocketCounts
from shipper.source.feeds.sockets.framing import DelimiterFraming
from shipper.source.feeds.sockets.listening import Listener
from shipper.source.feeds.sockets.received import Received
from tests.fakes import ManualClock


def test_a_connection_is_not_silent_while_what_it_has_sent_was_not_read() -> None:
    clock, counts, received = ManualClock(), SocketCounts(), Received(64 * 1024, lambda: None)
    here, there = socket.socketpair()
    with here, there, selectors.DefaultSelector() as selector:
        report = Reporter("in", clock.monotonic)
        connections = Connections(selector, received, Limits(1000, 300), counts, report, clock)
        listener = Listener(here, "unix x", is_stream=True, named=False)
        connections.add(Connection(here, ("", 0), listener, DelimiterFraming("\n", 1000), clock.monotonic()))
        there.sendall(b"one\n")
        clock.advance(301)
        connections.close_silent(clock.monotonic())
        assert (len(connections.open), counts.connections_timed_out) == (1, 0)
        clock.advance(301)
        connections.close_silent(clock.monotonic())
        assert (len(connections.open), counts.connections_timed_out) == (0, 1)
    pieces = [received.take(), received.take()]
    assert [piece.data for piece in pieces if piece is not None] == [b"one\n", None]
