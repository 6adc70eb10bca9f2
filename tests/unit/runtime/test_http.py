"""Requests to what may be anything. What each of its users makes of an answer is with them."""

import gc
import itertools
import socket
import ssl
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import pytest
import trustme

from log_shipper.runtime.http import Address, Connection, TooLarge
from log_shipper.shipper.tls_texts import client_context

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
SECONDS = 30.0  # for what takes milliseconds
MUCH = 64 * 1024**2  # bytes, which no test reads


def trusting_all() -> ssl.SSLContext:
    return client_context(verifies=False)


def certified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    return context


@contextmanager
def answering(
    *pieces: bytes, last: bytes = b"", tls: ssl.SSLContext | None = None
) -> Iterator[tuple[Address, list[bytes]]]:
    """Give the address of a server for one connection, and its requests: each gets a piece, then `last` is sent again
    and again."""
    requests: list[bytes] = []

    def serve() -> None:
        with suppress(OSError), listening, listening.accept()[0] as accepted, speaking(accepted) as connection:
            for piece in pieces:
                requests.append(connection.recv(65536))
                connection.sendall(piece)
            for _ in range(MUCH // len(last) if last else 0):
                connection.sendall(last)

    def speaking(accepted: socket.socket) -> socket.socket:
        return tls.wrap_socket(accepted, server_side=True) if tls else accepted

    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield Address("127.0.0.1", listening.getsockname()[1], "/base", tls is not None, trusting_all), requests
    finally:
        thread.join()


def test_a_connection_is_used_until_the_server_closes_it() -> None:
    length = OK + b"Content-Length: 2\r\n"
    with (
        answering(length + b"\r\n{}", length + b"Connection: close\r\n\r\n[]") as (address, requests),
        closing(Connection(address, SECONDS)) as connection,
    ):
        assert connection.ask("/a?b=c", {"X-A": "b"}).status == 200
        assert connection.body(2) == b"{}"
        assert connection.is_open
        assert connection.ask("/d", method="PUT").status == 200
        assert connection.body(2) == b"[]"
        assert not connection.is_open
        assert requests[0].startswith(b"GET /base/a?b=c HTTP/1.1\r\n")
        assert b"\r\nX-A: b\r\n" in requests[0]
        assert requests[1].startswith(b"PUT /base/d HTTP/1.1\r\n")


def test_an_answer_that_breaks_off_says_how_much_is_missing() -> None:
    with (
        answering(OK + b"Content-Length: 9\r\n\r\n{") as (address, _),
        closing(Connection(address, SECONDS)) as connection,
    ):
        answer = connection.ask("/")
        assert (connection.body(9), answer.length) == (b"{", 8)


def read_lines(connection: Connection, most: int) -> list[bytes]:
    return list(connection.lines(most, SECONDS))


@pytest.mark.parametrize("read", [Connection.body, read_lines])
@pytest.mark.parametrize("head", [OK + b"\r\n", CHUNKED])
def test_an_answer_or_a_line_without_an_end_is_too_large(
    read: Callable[[Connection, int], object], head: bytes
) -> None:
    with (
        answering(head, last=b"5\r\n12345\r\n" if head is CHUNKED else b"12345") as (address, _),
        closing(Connection(address, SECONDS)) as connection,
    ):
        connection.ask("/")
        with pytest.raises(TooLarge) as raised:
            read(connection, 1000)
    assert raised.value.size > 1000


def test_a_whole_line_is_bounded_too() -> None:
    with (
        answering(OK + b"\r\nok\n" + b"x" * 11 + b"\n") as (address, _),
        closing(Connection(address, SECONDS)) as connection,
    ):
        connection.ask("/")
        lines = connection.lines(10, SECONDS)
        assert next(lines) == b"ok"
        with pytest.raises(TooLarge):
            next(lines)


def test_lines_come_without_their_ends_and_only_whole() -> None:
    pieces = b"4\r\none\n\r\n2\r\n\nt\r\n7\r\nwo\nthre\r\n0\r\n\r\n"
    with answering(CHUNKED + pieces) as (address, _), closing(Connection(address, SECONDS)) as connection:
        connection.ask("/")
        assert list(connection.lines(5, SECONDS)) == [b"one", b"", b"two"]


@pytest.mark.parametrize("is_secure", [False, True])
@pytest.mark.parametrize(
    ("first", "last"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (OK + b"\r\n", b"x"),
        (CHUNKED, b"1\r\nx\r\n"),
        (CHUNKED + b"0\r\n", b"Trailer: x\r\n"),
    ],
)
def test_an_answer_that_goes_on_and_on_is_given_up_at_its_time(first: bytes, last: bytes, *, is_secure: bool) -> None:
    """A second passes with each look at the clock, and each read looks at it."""
    seconds = itertools.count()

    def read(connection: Connection) -> None:
        connection.ask("/", until=50.0)
        connection.body(2 * MUCH)

    with (
        answering(first, last=last * 1000, tls=certified() if is_secure else None) as (address, _),
        closing(Connection(address, SECONDS, lambda: float(next(seconds)))) as connection,
        pytest.raises(TimeoutError),
    ):
        read(connection)
    assert next(seconds) < 60


def test_a_stream_may_last_beyond_the_time_of_its_head() -> None:
    seconds = itertools.count()
    with (
        answering(OK + b"\r\n" + b"x\n" * 500_000) as (address, _),
        closing(Connection(address, SECONDS, lambda: float(next(seconds)))) as connection,
    ):
        connection.ask("/", until=8.0)
        assert sum(1 for _ in connection.lines(1, SECONDS)) == 500_000
    assert next(seconds) > 8


def test_a_connection_that_was_interrupted_asks_nothing() -> None:
    connection = Connection(Address("127.0.0.1", 1), SECONDS)
    connection.interrupt()
    with pytest.raises(ConnectionAbortedError, match="the client is closed"):
        connection.ask("/")


def test_a_connection_that_is_reset_before_tls_begins_is_closed() -> None:
    class Resetting(ssl.SSLContext):
        def wrap_socket(self, *arguments: Any, **named: Any) -> ssl.SSLSocket:
            listening.close()  # resets what it has not accepted
            return super().wrap_socket(*arguments, **named)

    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    address = Address("127.0.0.1", port, is_secure=True, tls=lambda: Resetting(ssl.PROTOCOL_TLS_CLIENT))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(ConnectionResetError):
            Connection(address, SECONDS).ask("/")
        gc.collect()
    # What another test has left is collected here, too.
    assert [str(warning.message) for warning in warned if "TlsSocket" in str(warning.message)] == []
