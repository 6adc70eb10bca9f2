"""The input as a whole: a real client over a real socket. The test is the reading thread."""

import http.client
import select
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trustme

from log_shipper.config.text.secrets import Secret
from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch
from log_shipper.shipper.inputs.feed import FeedInput
from log_shipper.shipper.inputs.http.limits import Patience
from log_shipper.shipper.inputs.http.options import HttpInputConfig
from log_shipper.shipper.inputs.http.source import HttpSource
from log_shipper.shipper.inputs.staging import MakeStage, Staging
from log_shipper.shipper.options.server_ssl import ServerSslConfig
from log_shipper.shipper.wake import Wake
from tests.builders import AGENT, Surroundings, source_context
from tests.descriptors import few_descriptors

SECONDS = 60.0  # for what takes microseconds
PATIENCE = Patience(linger=SECONDS)


class Site:
    """An input, with clients."""

    def __init__(
        self, config: HttpInputConfig, stack: ExitStack, *, once: bool = False, stage: MakeStage | None = None
    ) -> None:
        self.wake = Wake()
        self._stack = stack
        clock = SystemClock()
        self.input = FeedInput(config, AGENT, {}, 1000, clock, lambda state: None, stage=stage)
        around = Surroundings()
        around.takes_more = lambda source: self.takes_more  # type: ignore[method-assign]
        context = source_context(None, clock, once=once, around=around)
        self.takes_more = True
        self.metrics = context.metrics
        self.source = HttpSource(self.input, context, self.wake.set, PATIENCE)
        stack.callback(self._close)

    def _close(self) -> None:
        self.source.read_to_end(0)
        self.source.stop()
        self.source._server._thread.join(SECONDS)
        self.wake.close()

    def client(self, context: ssl.SSLContext | None = None) -> http.client.HTTPConnection:
        port = self.source.port
        if context is None:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        else:
            connection = http.client.HTTPSConnection("localhost", port, timeout=SECONDS, context=context)
        self._stack.callback(connection.close)
        return connection

    def send(self, body: bytes, client: http.client.HTTPConnection | None = None) -> http.client.HTTPConnection:
        client = client or self.client()
        client.request("POST", "/", body, {"Content-Type": "application/x-ndjson"})
        return client

    def take(self) -> list[Batch]:
        """Wait until there is something to read, and return it."""
        while True:
            self.wake.clear()
            batches = list(self.source.read(2**20))
            if batches:
                return batches
            if self.source.next_wake(reading=True) > 0:
                self.wake.wait(SECONDS)

    def finish(self) -> None:
        while not self.source.finished:
            self.wake.clear()
            if not self.source.finished:
                self.wake.wait(SECONDS)

    def wait_until(self, done: Callable[[], bool]) -> None:
        for _ in range(1000):
            self.wake.clear()  # or the looks would follow each other at once
            if done():
                return
            self.wake.wait(0.02)
        raise AssertionError("nothing has changed")

    def pass_barrier(self) -> None:
        """Return when the server has done all that it had to do before."""
        client = self.client()
        client.request("GET", "/")
        assert client.getresponse().status == 405


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


BASE = HttpInputConfig(id="web", listen_port=0, prefix=".")


@pytest.fixture
def site(stack: ExitStack) -> Site:
    return Site(BASE, stack)


def has_answer(client: http.client.HTTPConnection) -> bool:
    return bool(select.select([client.sock], [], [], 0)[0])


def test_clients_do_not_take_the_last_descriptors(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    clients = [site.client() for _ in range(2)]
    with few_descriptors() as leave:
        leave(4)
        for client in clients:
            client.connect()
        site.wait_until(lambda: site.source.status().problems != {})
        assert site.source.status().problems == {
            site.source.name: (
                "cannot accept connections: Too many open files; raise LimitNOFILE, or lower max_connections"
            )
        }
    site.wait_until(lambda: site.source.status().problems == {})
    assert "cannot accept connections" in caplog.text


def test_the_answer_comes_when_the_batch_is_resolved_and_not_before(site: Site) -> None:
    client = site.send(b'{"message":"a"}\n{"message":"b","n":2}\n')
    (batch,) = site.take()
    assert batch.messages.texts == ["a", "b"]
    assert batch.messages.docs == [{}, {"n": 2}]
    site.pass_barrier()
    assert not has_answer(client)
    assert not site.source.status().problems
    assert site.source.status().bytes_behind > 0
    batch.resolve()
    response = client.getresponse()
    assert (response.status, response.read()) == (200, b'{"message": "success"}')
    batch.resolve()  # a second time does nothing
    assert site.source.status().bytes_behind == 0


def test_a_batch_that_is_resolved_twice_stands_for_no_other(site: Site) -> None:
    client = site.send(b'{"message":"a"}\n' * 6000)
    batches = site.take()
    while sum(len(batch.messages.texts) for batch in batches) < 6000:
        batches += site.take()
    assert len(batches) == 2
    batches[0].resolve()
    batches[0].resolve()
    site.pass_barrier()
    assert not has_answer(client)
    batches[1].resolve()
    assert client.getresponse().status == 200


def test_with_transactions_the_answer_comes_with_the_commit(stack: ExitStack) -> None:
    staging = Staging()
    site = Site(BASE, stack, stage=staging.stage_for)
    client = site.send(b'{"message":"a"}')
    batches = site.take()
    positions = staging.prepare(batches)
    assert positions.entries == {}
    site.pass_barrier()
    assert not has_answer(client)
    positions.commit()
    assert client.getresponse().status == 200


def test_events_cannot_be_read_again_and_are_named_by_run_and_offset(site: Site, stack: ExitStack) -> None:
    client = site.send(b'{"message":"a"}')
    (first,) = site.take()
    first.resolve()
    client.getresponse().read()
    site.send(b'{"message":"a"}', client)
    (second,) = site.take()
    second.resolve()
    source = first.source
    assert not source.repeatable
    assert source.path == f"http 127.0.0.1:{site.source.port}/"
    assert source.constants.members["log"]["file"] == {"path": source.path, "id": source.file_id}
    assert source.constants.members["input"]["type"] == "http"
    assert (second.source, second.messages.offsets) == (source, [15])
    other = Site(BASE, stack)
    other.send(b'{"message":"a"}')
    (again,) = other.take()
    again.resolve()
    assert again.source.file_id != source.file_id


def test_what_waits_to_be_read_wakes_the_loop_as_long_as_it_may_read(site: Site) -> None:
    assert site.source.next_wake(reading=True) == float("inf")
    client = site.send(b'{"message":"a"}\n' * 20_000)
    site.wake.wait(SECONDS)
    assert site.source.next_wake(reading=True) == 0
    assert site.source.next_wake(reading=False) == float("inf")
    batches = list(site.source.read(1))
    assert len(batches) == 1
    while sum(len(batch.messages.texts) for batch in batches) < 20_000:
        batches += site.take()
    for batch in batches:
        batch.resolve()
    assert client.getresponse().status == 200


def test_a_source_that_refuses_requests_has_a_problem_until_it_takes_them_again(stack: ExitStack) -> None:
    site = Site(replace(BASE, max_in_flight_bytes=2000, max_body_bytes=2000, high_water_in_flight_bytes=600), stack)
    first = site.send(b'{"message":"a"}')
    site.pass_barrier()
    refused = site.send(b'{"message":"b"}')
    assert refused.getresponse().status == 503
    assert site.source.status().problems == {site.source.name: "refusing requests with 503: too many in flight"}
    (batch,) = site.take()
    batch.resolve()
    assert first.getresponse().status == 200
    assert site.source.status().problems == {}


def test_answers_are_counted(site: Site) -> None:
    client = site.send(b'{"message":"a"}')
    (batch,) = site.take()
    batch.resolve()
    client.getresponse().read()
    site.pass_barrier()
    for _ in range(2):
        site.source.step()
        metrics = site.metrics
        assert (metrics.requests_accepted, metrics.requests_refused, metrics.requests_postponed) == (1, 1, 0)
    site.send(b'{"message":"a"}', client)
    site.take()
    site.source.read_to_end(0)
    site.source.stop()

    def is_counted() -> bool:
        site.source.step()
        return metrics.requests_postponed == 1

    site.wait_until(is_counted)  # on a busy machine not within the stop


def test_chunked_bodies_and_kept_connections_of_a_real_client(site: Site) -> None:
    client = site.client()
    for _ in range(3):
        pieces = iter([b'{"message":', b'"a"}\n', b'{"message":"b"}'])
        client.request("POST", "/", pieces, {"Content-Type": "application/json"}, encode_chunked=True)
        (batch,) = site.take()
        assert batch.messages.texts == ["a", "b"]
        batch.resolve()
        response = client.getresponse()
        assert response.status == 200
        response.read()


def test_clients_that_reset_their_connections_hold_up_no_other(site: Site) -> None:
    for _ in range(20):
        client = site.client()
        client.request("POST", "/", b'{"message":"a"}', {"Content-Type": "application/json", "Connection": "close"})
        batches = site.take()
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        for batch in batches:
            batch.resolve()
    client = site.send(b'{"message":"b"}')
    (batch,) = site.take()
    batch.resolve()
    assert client.getresponse().status == 200


def test_a_client_learns_of_a_refusal_although_it_is_sending_still(site: Site) -> None:
    with socket.create_connection(("127.0.0.1", site.source.port), SECONDS) as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n")
        client.sendall(b"x" * 500_000)
        client.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := client.recv(4096):
            answer += piece
        assert answer.startswith(b"HTTP/1.1 413 ")


def test_at_a_stop_the_port_is_closed_and_what_was_received_whole_is_given_out_and_answered(site: Site) -> None:
    client = site.send(b'{"message":"a"}')
    half = socket.create_connection(("127.0.0.1", site.source.port), SECONDS)
    half.sendall(b"POST / HTTP/1.1\r\n")
    site.pass_barrier()
    assert not site.source.read_to_end(5)
    assert half.recv(4096).startswith(b"HTTP/1.1 503 ")
    half.close()
    (batch,) = site.take()
    while not site.source.read_to_end(5):
        pass
    with pytest.raises(ConnectionRefusedError):
        site.client().connect()
    batch.resolve()
    assert client.getresponse().status == 200
    site.source.stop()
    site.finish()
    assert list(site.source.read(1)) == []


def test_at_the_end_of_a_stop_what_is_not_delivered_is_refused(site: Site) -> None:
    client = site.send(b'{"message":"a"}')
    site.take()
    site.source.read_to_end(0)
    site.source.stop()
    response = client.getresponse()
    assert response.status == 503
    assert response.getheader("Retry-After")


def test_at_a_reload_what_was_given_out_is_answered_and_a_successor_can_listen(site: Site, stack: ExitStack) -> None:
    first = site.send(b'{"message":"a"}')
    (batch,) = site.take()
    second = site.send(b'{"message":"b"}')
    site.pass_barrier()
    site.source.stop()
    assert not site.source.finished
    assert second.getresponse().status == 503
    batch.resolve()
    assert first.getresponse().status == 200
    site.finish()
    successor = Site(replace(BASE, listen_port=site.source.port), stack)
    client = successor.send(b'{"message":"b"}')
    (batch,) = successor.take()
    batch.resolve()
    assert client.getresponse().status == 200


def test_a_port_that_is_taken_is_reported_with_what_to_do(site: Site, stack: ExitStack) -> None:
    port = site.source.port
    with pytest.raises(StartError) as error:
        Site(replace(BASE, listen_port=port), stack)
    assert str(error.value) == (
        f"input web: cannot listen on 127.0.0.1:{port} (Address already in use): choose another listen_address or "
        "listen_port, or stop the program that uses it"
    )
    with pytest.raises(StartError, match=r"input web: cannot listen on no\.such\.host\.invalid:0 \("):
        Site(replace(BASE, listen_address="no.such.host.invalid"), stack)


def test_it_has_no_end_so_it_cannot_be_run_once(stack: ExitStack) -> None:
    with pytest.raises(StartError, match=r"input web: http 127\.0\.0\.1:0/ never ends: run without --once"):
        Site(BASE, stack, once=True)


@contextmanager
def certified(directory: Path) -> Iterator[tuple[ServerSslConfig, ssl.SSLContext, trustme.CA]]:
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    certificate.private_key_pem.write_to_path(directory / "key.pem")
    for blob in certificate.cert_chain_pems:
        blob.write_to_path(directory / "cert.pem", append=True)
    authority.cert_pem.write_to_path(directory / "ca.pem")
    context = ssl.create_default_context()
    authority.configure_trust(context)
    yield (
        ServerSslConfig(enabled=True, certificate=str(directory / "cert.pem"), key=Secret(str(directory / "key.pem"))),
        context,
        authority,
    )


def test_requests_are_taken_by_tls(stack: ExitStack, tmp_path: Path) -> None:
    with certified(tmp_path) as (options, context, _):
        site = Site(replace(BASE, ssl=options), stack)
        client = site.client(context)
        for _ in range(2):
            site.send(b'{"message":"a"}', client)
            (batch,) = site.take()
            batch.resolve()
            response = client.getresponse()
            assert response.status == 200
            response.read()
        plain = site.client()
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            site.send(b"{}", plain).getresponse()
        client.request("POST", "/", b"7", {"Content-Type": "application/json", "Connection": "close"})
        assert client.getresponse().status == 400


def answer_over_tls(raw: socket.socket, context: ssl.SSLContext, request: bytes) -> bytes:
    """Send the request together with the end of the handshake: a connection without one is closed within a moment."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")

    def exchange(call: Callable[[], Any]) -> Any:
        while True:
            try:
                return call()
            except ssl.SSLWantReadError:
                raw.sendall(outgoing.read())
                incoming.write(raw.recv(65536))

    exchange(tls.do_handshake)
    tls.write(request)
    raw.sendall(outgoing.read())
    answer: bytes = exchange(lambda: tls.read(4096))
    return answer


def test_a_client_that_had_connected_before_a_reload_is_refused_when_it_sends_after_it(
    stack: ExitStack, tmp_path: Path
) -> None:
    with certified(tmp_path) as (options, context, _):
        site = Site(replace(BASE, ssl=options, response_timeout=3600), stack)
        first = site.send(b'{"message":"a"}', site.client(context))
        (batch,) = site.take()
        site.wait_until(lambda: not site.source._server._opening)
        raw = socket.create_connection(("127.0.0.1", site.source.port), SECONDS)
        site.wait_until(lambda: len(site.source._server._opening) == 1)
        site.source.stop()
        site.wait_until(lambda: site.source._server.is_port_closed)
        request = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
        with raw:
            assert answer_over_tls(raw, context, request).startswith(b"HTTP/1.1 503 ")
        batch.resolve()
        assert first.getresponse().status == 200


def test_a_client_that_connects_while_the_port_is_closed_is_refused_without_an_error(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    held, released = threading.Event(), threading.Event()

    def hold() -> None:
        held.set()
        released.wait(SECONDS)

    site.source._server._call(hold)
    held.wait(SECONDS)
    with socket.create_connection(("127.0.0.1", site.source.port), SECONDS) as client:
        site.source.stop()
        released.set()
        with pytest.raises(ConnectionError):
            client.recv(1)
    assert caplog.text == ""


def test_clients_show_certificates_where_they_must(stack: ExitStack, tmp_path: Path) -> None:
    with certified(tmp_path) as (options, context, authority):
        site = Site(replace(BASE, ssl=replace(options, certificate_authorities=(str(tmp_path / "ca.pem"),))), stack)
        with pytest.raises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
            site.send(b"{}", site.client(context)).getresponse()
        authority.issue_cert("client").configure_cert(context)
        client = site.send(b'{"message":"a"}', site.client(context))
        (batch,) = site.take()
        batch.resolve()
        assert client.getresponse().status == 200
