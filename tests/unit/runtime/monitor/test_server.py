"""The HTTP server with clients that are polite, slow, many and hostile. They send bytes, as no library would."""

import errno
import os
import select
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.runtime.monitor.server import Handler, HttpServer, MonitorLimits, Request, Response

# The limits of time are for tests that wait for them; the others must pass on a machine that is busy.
PATIENT = MonitorLimits(
    connections=4,
    streams=2,
    connections_a_second=10_000,
    head_seconds=60,
    write_seconds=60,
    connection_seconds=60,
    linger_seconds=60,
)
QUICK = replace(PATIENT, head_seconds=0.15, write_seconds=0.15, connection_seconds=0.5, linger_seconds=0.1)
SECONDS = 30  # for what takes milliseconds
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Site:
    """A server with the routes that the tests ask for."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.pieces: list[bytes] = [b"one", b"", b"two"]
        self.endless = False
        self.stream_ended = threading.Event()
        self.may_answer = threading.Event()
        self.entered = threading.Event()

    def routes(self) -> dict[str, Handler]:
        return {
            "/": self.echo,
            "/large": lambda _: Response(200, "text/plain", bytes(8 * 1024 * 1024)),
            "/stream": lambda _: Response(200, "text/plain", self.stream()),
            "/broken": self.broken,
            "/stats": self.echo,
            "/waits": self.waits,
        }

    def echo(self, request: Request) -> Response:
        self.requests.append(request)
        return Response(200, "text/plain", b"hello")

    def broken(self, _: Request) -> Response:
        raise KeyError("nothing")

    def waits(self, _: Request) -> Response:
        self.entered.set()
        self.may_answer.wait(SECONDS)
        return Response(200, "text/plain", b"late")

    def stream(self) -> Iterator[bytes]:
        try:
            yield from self.pieces
            while self.endless:
                self.entered.set()
                self.may_answer.wait(0.01)
                yield b""
        finally:
            self.stream_ended.set()


Serve = Callable[[MonitorLimits], int]


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def serve(site: Site) -> Iterator[Serve]:
    """Starts a server, and returns its port."""
    servers = []

    def start(limits: MonitorLimits) -> int:
        server = HttpServer(site.routes(), limits, names=["Web-1"])
        server.listen_on("127.0.0.1", 0)
        server.start()
        servers.append(server)
        return server.ports[0]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def port(serve: Serve) -> int:
    return serve(PATIENT)


@pytest.fixture
def quick_port(serve: Serve) -> int:
    return serve(QUICK)


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=SECONDS)


def read_all(client: socket.socket) -> bytes:
    answer = b""
    try:
        while piece := client.recv(65536):
            answer += piece
    except ConnectionResetError:
        pass
    return answer


def ask(port: int, request: bytes) -> bytes:
    with connect(port) as client:
        client.sendall(request)
        return read_all(client)


def get(path: str, *headers: str, version: str = "1.1") -> bytes:
    return "\r\n".join([f"GET {path} HTTP/{version}", *headers, "", ""]).encode("latin-1")


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def test_a_request_is_answered_with_the_headers_that_keep_a_page_safe(port: int, site: Site) -> None:
    head, _, body = ask(port, get("/?a=1&b=%20x", "Host: 127.0.0.1:5066", "Accept: text/html")).partition(b"\r\n\r\n")
    assert (status(head), body) == (200, b"hello")
    assert site.requests == [Request("/", {"a": "1", "b": " x"}, "text/html")]
    lines = head.decode().split("\r\n")
    assert {
        "Content-Security-Policy: default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "img-src 'self'",
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-store",
        "Referrer-Policy: no-referrer",
        "Content-Length: 5",
        "Connection: close",
    } <= set(lines)


def test_a_request_without_carriage_returns_is_answered(port: int) -> None:
    assert status(ask(port, b"GET / HTTP/1.0\n\n")) == 200


@pytest.mark.parametrize(
    ("path", "expected"), [("/stats", 200), ("/stats/", 200), ("/stats/x", 404), ("/st%61ts", 200)]
)
def test_a_path_may_end_with_a_slash(port: int, path: str, expected: int) -> None:
    assert status(ask(port, get(path, "Host: localhost"))) == expected


@pytest.mark.parametrize(
    ("request_bytes", "expected"),
    [
        (b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
        (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", 405),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n", 400),
        (b"GET /\r\n", 400),  # HTTP/0.9
        (b"GET / HTTP/2.0\r\n", 400),
        (b"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\n" + bytes(range(256)), 400),  # TLS
        (b"\r\n\r\n", 400),
        (b"GET /?" + b"a=1&" * 40 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
        (b"GET /" + b"a" * 20_000, 431),
        (b"GET / HTTP/1.1\r\n" + b"X-Large: 1\r\n" * 2_000, 431),
    ],
)
def test_what_is_not_a_plain_request_is_refused_at_once(port: int, request_bytes: bytes, expected: int) -> None:
    began = time.monotonic()
    assert status(ask(port, request_bytes)) == expected
    assert time.monotonic() - began < SECONDS, "not after a time limit"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", 200),
        ("localhost:5066", 200),
        ("[::1]:5066", 200),
        ("192.168.1.7", 200),
        ("web-1:80", 200),
        ("WEB-1.", 200),
        ("attacker.example", 403),
        ("attacker.example:5066", 403),
        ("127.0.0.1.attacker.example", 403),
        ("localhost.attacker.example", 403),
    ],
)
def test_a_name_that_is_not_ours_is_refused_because_it_may_lead_here(port: int, host: str, expected: int) -> None:
    assert status(ask(port, get("/", f"Host: {host}"))) == expected


def test_a_server_that_is_open_to_the_network_is_asked_by_any_name() -> None:
    server = HttpServer({"/": lambda request: Response(200, "text/plain", b"")})
    with closing(server):
        server.listen_on("0.0.0.0", 0)
        server.start()
        assert status(ask(server.ports[0], get("/", "Host: web-1.corp.example:5066"))) == 200


def test_head_is_answered_without_the_body(port: int, site: Site) -> None:
    for path, length in (("/", b"Content-Length: 5"), ("/stream", b"Transfer-Encoding: chunked")):
        answer = ask(port, f"HEAD {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert status(answer) == 200
        assert length in answer
        assert answer.endswith(b"\r\n\r\n")


def test_of_pipelined_requests_the_first_one_is_answered(port: int, site: Site) -> None:
    assert ask(port, GET * 10).count(b"HTTP/1.1 200") == 1
    assert len(site.requests) == 1


def test_a_handler_that_fails_is_an_answer_and_one_log_line(port: int, caplog: pytest.LogCaptureFixture) -> None:
    answers = [ask(port, get("/broken", "Host: localhost")) for _ in range(3)]
    assert [status(answer) for answer in answers] == [500] * 3
    assert [record.message for record in caplog.records] == ["http: error while creating the response for /broken"]
    assert b"nothing" not in answers[0]


def test_a_stream_is_sent_in_chunks_or_to_an_old_client_as_it_is(port: int) -> None:
    assert ask(port, get("/stream", "Host: localhost")).endswith(b"\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")
    assert ask(port, get("/stream", version="1.0")).endswith(b"\r\n\r\nonetwo")


def test_a_stream_ends_when_the_client_leaves(port: int, site: Site) -> None:
    site.endless = True
    with connect(port) as client:
        client.sendall(get("/stream", "Host: localhost"))
        assert client.recv(65536)
        assert site.entered.wait(SECONDS)
        assert not site.stream_ended.is_set()
    assert site.stream_ended.wait(SECONDS)


def test_a_stream_may_last_longer_than_a_connection(serve: Serve, site: Site) -> None:
    port = serve(MonitorLimits(connection_seconds=0.01))
    site.endless = True
    with connect(port) as client:
        client.sendall(get("/stream", "Host: localhost"))
        assert not site.stream_ended.wait(0.1)


def test_streams_leave_connections_for_others(port: int, site: Site) -> None:
    site.endless = True
    clients = [connect(port) for _ in range(PATIENT.streams)]
    for client in clients:
        client.sendall(get("/stream", "Host: localhost"))
        while b"two" not in client.recv(65536):
            pass
    assert status(ask(port, get("/stream", "Host: localhost"))) == 503
    assert status(ask(port, GET)) == 200
    for client in clients:
        client.close()


def test_one_connection_too_many_gets_503_and_the_next_is_served_when_one_has_left(port: int, site: Site) -> None:
    clients = [connect(port) for _ in range(PATIENT.connections)]
    for client in clients:
        client.sendall(get("/waits", "Host: localhost"))
    answer = ask(port, GET)
    assert status(answer) == 503
    assert b"try again later" in answer
    site.may_answer.set()
    assert [status(read_all(client)) for client in clients] == [200] * PATIENT.connections
    for client in clients:
        client.close()
    for thread in serving():
        thread.join(SECONDS)  # each notices a moment later that its client has left
    assert status(ask(port, GET)) == 200


def serving() -> list[threading.Thread]:
    """Return the threads of the connections."""
    return [thread for thread in threading.enumerate() if thread.name == "http client"]


def test_a_client_that_does_not_finish_its_request_is_left_at_the_deadline(quick_port: int) -> None:
    for _ in range(20):
        with connect(quick_port) as client:
            client.sendall(b"GET / HT")
            if answer := read_all(client):  # else the machine was busy, and nothing was read before the deadline
                break
    assert status(answer) == 408


def test_a_client_that_sends_nothing_is_left_without_an_answer(quick_port: int) -> None:
    with connect(quick_port) as client:
        assert read_all(client) == b""


def test_a_client_that_never_reads_is_left_at_the_deadline(quick_port: int) -> None:
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", quick_port))
        client.sendall(get("/large", "Host: localhost"))
        reset = select.poll()
        reset.register(client, select.POLLHUP)
        assert reset.poll(1000 * SECONDS)


def test_a_thousand_connections_are_answered_or_refused_and_the_server_lives(port: int) -> None:
    clients, others = [], serving()
    for _ in range(1000):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(("127.0.0.1", port))
        clients.append(client)
    assert len([thread for thread in serving() if thread not in others]) <= PATIENT.connections
    for client in clients:
        client.close()
    deadline = time.monotonic() + SECONDS
    while status(ask(port, GET)) != 200:
        assert time.monotonic() < deadline


def test_connections_that_come_too_fast_wait(serve: Serve) -> None:
    port = serve(MonitorLimits(connections_a_second=20))
    began = time.monotonic()
    assert [status(ask(port, GET)) for _ in range(24)] == [200] * 24
    assert time.monotonic() - began >= 0.15, "20 at once, then 50 ms for each"


def test_it_closes_within_a_second_whatever_clients_do(site: Site) -> None:
    server = HttpServer(site.routes(), PATIENT)
    server.listen_on("127.0.0.1", 0)
    server.start()
    site.endless = True
    clients = [connect(server.ports[0]) for _ in range(4)]
    for client, path in zip(clients, ["/waits", "/stream", "/large"], strict=False):
        client.sendall(get(path, "Host: localhost"))
    assert site.entered.wait(SECONDS)
    began = time.monotonic()
    server.close()
    assert time.monotonic() - began < SECONDS, "not after a time limit"
    server.close()
    with pytest.raises(ConnectionRefusedError):
        connect(clients[0].getpeername()[1])
    site.may_answer.set()
    for client in clients:
        client.close()
    for thread in serving():
        thread.join(SECONDS)


def test_a_thread_that_is_late_ends_although_all_is_closed_by_then(site: Site) -> None:
    may_begin, ended = threading.Event(), threading.Event()

    class Late(HttpServer):
        def _run(self) -> None:
            may_begin.wait(SECONDS)
            super()._run()
            ended.set()

    server = Late(site.routes(), PATIENT)
    server.listen_on("127.0.0.1", 0)
    server.start()
    server.close()
    may_begin.set()
    assert ended.wait(SECONDS)


def test_it_closes_before_it_was_started(site: Site, tmp_path: Path) -> None:
    server = HttpServer(site.routes())
    server.listen_at(tmp_path / "s")
    server.close()
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_an_error(port: int, site: Site) -> None:
    server = HttpServer(site.routes())
    with pytest.raises(OSError, match="in use"):
        server.listen_on("127.0.0.1", port)
    server.close()


@pytest.fixture
def at_path(site: Site) -> Iterator[Callable[[Path], HttpServer]]:
    servers = []

    def start(path: Path) -> HttpServer:
        server = HttpServer(site.routes(), PATIENT)
        servers.append(server)
        server.listen_at(path)
        server.start()
        return server

    yield start
    for server in servers:
        server.close()


AtPath = Callable[[Path], HttpServer]


def ask_at(path: Path, request: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(SECONDS)
        client.connect(str(path))
        client.sendall(request)
        return read_all(client)


def test_a_path_that_does_not_exist_is_answered_with_those_that_do(port: int) -> None:
    head, _, body = ask(port, get("/nothing", "Host: localhost")).partition(b"\r\n\r\n")
    assert status(head) == 404
    assert body == b"unknown path; available: /, /broken, /large, /stats, /stream, /waits\n"


def test_a_unix_socket_is_for_its_own_user_and_any_name_may_be_asked(
    at_path: AtPath, tmp_path: Path, site: Site
) -> None:
    server = at_path(tmp_path / "shipper.sock")
    assert stat.S_IMODE((tmp_path / "shipper.sock").stat().st_mode) == 0o600
    assert status(ask_at(tmp_path / "shipper.sock", get("/", "Host: whatever"))) == 200
    assert os.listdir(tmp_path) == ["shipper.sock"]
    server.close()
    assert os.listdir(tmp_path) == []


def test_a_stale_socket_is_replaced(at_path: AtPath, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(tmp_path / "s"))
        killed.listen()
    at_path(tmp_path / "s")
    assert status(ask_at(tmp_path / "s", GET)) == 200


def test_a_socket_that_another_process_serves_is_left_to_it(at_path: AtPath, tmp_path: Path) -> None:
    at_path(tmp_path / "s")
    with pytest.raises(OSError, match="in use by another process"):
        at_path(tmp_path / "s")
    assert status(ask_at(tmp_path / "s", GET)) == 200


def test_a_socket_that_another_process_put_there_is_not_removed(at_path: AtPath, tmp_path: Path) -> None:
    first = at_path(tmp_path / "s")
    (tmp_path / "s").rename(tmp_path / "away")
    at_path(tmp_path / "s")
    first.close()
    assert status(ask_at(tmp_path / "s", GET)) == 200


def test_a_file_in_the_place_of_the_socket_is_not_removed(at_path: AtPath, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("precious")
    with pytest.raises(OSError, match="is not a socket and is not replaced: remove it"):
        at_path(tmp_path / "s")
    assert (tmp_path / "s").read_text() == "precious"


def test_a_path_that_is_too_long_for_a_socket_is_reported_with_its_length(at_path: AtPath, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"path of a unix socket is too long: .*maximum 107") as raised:
        at_path(tmp_path / ("s" * 120))
    assert raised.value.errno == errno.ENAMETOOLONG


def test_clients_at_the_address_leave_the_socket_to_its_user(site: Site, tmp_path: Path) -> None:
    server = HttpServer(site.routes(), PATIENT)
    server.listen_on("127.0.0.1", 0)
    server.listen_at(tmp_path / "s")
    server.start()
    clients = [connect(server.ports[0]) for _ in range(PATIENT.connections + 1)]
    for client in clients:
        client.sendall(get("/waits", "Host: localhost"))
    assert status(ask_at(tmp_path / "s", GET)) == 200
    site.may_answer.set()
    server.close()
    for client in clients:
        client.close()
