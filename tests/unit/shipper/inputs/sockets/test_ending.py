"""What an input that listens does at a stop, or at a reload that changes it, with what its senders believe to be
delivered: all that the kernel has taken."""

import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from tests.certificates import CertificateDirectory
from tests.unit.shipper.inputs.sockets.conftest import Listen, Listening

FULL = b"f" * 200_000  # an unfinished message, with more bytes than may wait
LINE = b"x" * 99 + b"\n"


@pytest.fixture
def certificates(tmp_path: Path) -> CertificateDirectory:
    return CertificateDirectory(tmp_path)


def secured(certificates: CertificateDirectory) -> str:
    certificate, key = certificates.issue_for("localhost")
    return f'type: tcp, host: "127.0.0.1:0", pending_bytes: 64KiB, ssl: {{certificate: {certificate}, key: {key}}}'


def connect(listening: Listening, certificates: CertificateDirectory) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=certificates.authorities("server-authority.pem"))
    return context.wrap_socket(listening.connect(), server_hostname="localhost")


def texts(listening: Listening) -> list[str]:
    return [event["message"] for event in listening.rest()]


def test_many_small_records_of_tls_are_read_at_a_stop(listen: Listen, certificates: CertificateDirectory) -> None:
    listening = listen(secured(certificates))
    with connect(listening, certificates) as connection, connect(listening, certificates) as other:
        listening.await_sockets(3)
        other.sendall(FULL)
        listening.await_full()
        for number in range(300):
            connection.sendall(b"%d\n" % number)
        assert [text for text in texts(listening) if text[0] != "f"] == [str(number) for number in range(300)]


def test_what_came_right_behind_a_handshake_is_read_at_a_stop(
    listen: Listen, certificates: CertificateDirectory
) -> None:
    listening = listen(secured(certificates))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context(cafile=certificates.authorities("server-authority.pem"))
    client = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with listening.connect() as connection, connect(listening, certificates) as other:
        listening.await_sockets(3)
        with pytest.raises(ssl.SSLWantReadError):
            client.do_handshake()
        connection.sendall(outgoing.read())
        while outgoing.pending == 0:
            incoming.write(connection.recv(65536))
            try:
                client.do_handshake()
            except ssl.SSLWantReadError:
                continue
        other.sendall(FULL)
        listening.await_full()
        client.write(b"one\ntwo\n")
        connection.sendall(outgoing.read())
        assert texts(listening)[-2:] == ["one", "two"]


@pytest.mark.parametrize("place", ["tcp", "unix"])
def test_who_connects_while_a_stop_reads_what_has_come_is_refused_and_loses_nothing(
    listen: Listen, tmp_path: Path, place: str
) -> None:
    where = {"tcp": 'type: tcp, host: "127.0.0.1:0"', "unix": f"type: unix, path: {tmp_path}/log.sock"}[place]
    listening = listen(f"{where}, pending_bytes: 64KiB")
    sent = []
    with listening.connect() as other:
        other.sendall(FULL)
        listening.await_full()
        listening.send_all(b"before\n")
        listening.source.receiver.end(60)  # which has to wait for room, to read the rest
        with suppress(OSError):
            for number in range(2000):
                with listening.connect(0.5) as connection:
                    connection.sendall(b"%d\n" % number)
                sent.append(str(number))
        assert len(sent) < 2000
        assert texts(listening) == ["before", *sent]


def test_connections_that_wait_are_taken_at_a_stop_also_where_few_may_be_open_at_once(listen: Listen) -> None:
    listening = listen('type: tcp, host: "127.0.0.1:0", pending_bytes: 64KiB, max_connections: 3')
    with listening.connect() as other:
        other.sendall(FULL)
        listening.await_full()
        for number in range(1000):
            listening.send_all(b"%d\n" % number)
        assert sorted(texts(listening)) == sorted(map(str, range(1000)))


def test_all_that_a_peer_has_sent_before_it_closed_is_read_at_a_stop(listen: Listen) -> None:
    listening = listen('type: tcp, host: "127.0.0.1:0", pending_bytes: 64KiB')
    with listening.connect() as other, listening.connect() as connection:
        other.sendall(FULL)
        listening.await_full()
        connection.setblocking(False)
        sent = 0
        with suppress(BlockingIOError):  # as much as both systems keep
            while sent < 4_000_000:
                sent += connection.send(LINE[sent % len(LINE) :])
    received = "\n".join(text for text in texts(listening) if text[0] != "f")
    assert sent > 1_000_000
    assert len(received) in (sent, sent - 1)


def test_a_peer_that_never_stops_sending_does_not_keep_a_stop(listen: Listen) -> None:
    listening = listen('type: tcp, host: "127.0.0.1:0"')
    stopped = threading.Event()

    def send(connection: socket.socket) -> None:
        try:
            while not stopped.wait(0.001):
                connection.sendall(b"line\n")
        except OSError:
            stopped.set()

    with listening.connect() as connection:
        sender = threading.Thread(target=send, args=(connection,))
        sender.start()
        listening.events(10)
        listening.rest()  # which has sixty seconds
        assert listening.source.receiver.is_done
        assert stopped.wait(30)
        sender.join()


def test_all_datagrams_that_the_kernel_has_are_read_at_a_stop_whatever_the_longest_may_be(listen: Listen) -> None:
    listening = listen('type: udp, host: "127.0.0.1:0", max_message_size: 65535, pending_bytes: 64KiB')
    full = listening.fill(b"x" * 30_000)
    listening.send(*[b"%d" % number for number in range(500)])
    received = len(listening.rest()) - full
    assert received + listening.metrics.datagrams_dropped == 500


def test_datagrams_at_a_path_are_read_at_a_stop_and_their_senders_wait_no_longer(
    listen: Listen, tmp_path: Path
) -> None:
    path = str(tmp_path / "log.sock")
    listening = listen(f"type: unix, path: {path}, socket_type: datagram, pending_bytes: 64KiB")
    sent: list[str] = []

    def send(text: str) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, suppress(ConnectionError, FileNotFoundError):
            sender.connect(path)
            sender.send(text.encode())
            sent.append(text)

    send("x" * 100_000)
    listening.await_full()
    senders = [threading.Thread(target=send, args=(str(number),)) for number in range(60)]  # most of which wait
    for sender in senders:
        sender.start()
    received = texts(listening)
    for sender in senders:
        sender.join()
    assert sorted(received) == sorted(sent)


def test_connections_that_are_too_many_are_counted_at_a_stop_where_no_one_leaves(listen: Listen) -> None:
    listening = listen('type: tcp, host: "127.0.0.1:0", pending_bytes: 64KiB, max_connections: 1')
    with listening.connect() as other:
        other.sendall(FULL[: 64 * 1024])
        listening.await_full()
        for _ in range(100):
            listening.send_all(b"refused\n")
        assert "refused" not in texts(listening)
    assert listening.metrics.connections_refused == 100
