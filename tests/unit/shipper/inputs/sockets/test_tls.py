"""TLS with real certificates, of an authority that exists for one test."""

import os
import re
import socket
import ssl
from pathlib import Path

import pytest

from log_shipper.shipper.errors import StartError
from tests.certificates import CertificateDirectory
from tests.descriptors import descriptors_before, fall_to
from tests.fakes import ManualClock
from tests.unit.shipper.inputs.sockets.conftest import Listen, Listening


@pytest.fixture
def certificates(tmp_path: Path) -> CertificateDirectory:
    return CertificateDirectory(tmp_path)


def options(certificates: CertificateDirectory, more: str = "") -> str:
    certificate, key = certificates.issue_for("localhost")
    return f'type: tcp, host: "127.0.0.1:0", ssl: {{certificate: {certificate}, key: {key}{more}}}'


def client(certificates: CertificateDirectory, pair: tuple[str, str] | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=certificates.authorities("server-authority.pem"))
    if pair is not None:
        context.load_cert_chain(*pair)
    return context


def connect(listening: Listening, context: ssl.SSLContext) -> ssl.SSLSocket:
    return context.wrap_socket(listening.connect(), server_hostname="localhost")


def exchange(listening: Listening, context: ssl.SSLContext) -> None:
    """Send a line, and read: with TLS 1.3 a client learns only then that it was refused."""
    with connect(listening, context) as connection:
        connection.sendall(b"untrusted\n")
        connection.recv(1)


def test_lines_come_over_tls(listen: Listen, certificates: CertificateDirectory) -> None:
    listening = listen(options(certificates))
    line = b"x" * 999 + b"\n"
    with connect(listening, client(certificates)) as connection:
        connection.sendall(line * 500)
        assert set(listening.texts(500)) == {"x" * 999}
        connection.sendall(b"last")
    assert listening.texts(1) == ["last"]


def test_a_client_that_never_reads_leaves_nothing_unread_that_would_reset_its_connection(
    listen: Listen, certificates: CertificateDirectory
) -> None:
    listening = listen(options(certificates))
    with connect(listening, client(certificates)) as connection:
        connection.sendall(b"line\n")
        assert listening.texts(1) == ["line"]
        with socket.socket(fileno=os.dup(connection.fileno())) as encrypted, pytest.raises(BlockingIOError):
            encrypted.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_client_with_a_certificate_of_the_authority_is_accepted(
    listen: Listen, certificates: CertificateDirectory, version: ssl.TLSVersion
) -> None:
    listening = listen(options(certificates, f", certificate_authorities: [{certificates.authorities()}]"))
    context = client(certificates, certificates.issue())
    context.minimum_version = context.maximum_version = version
    with connect(listening, context) as connection:
        connection.sendall(b"trusted\n")
        assert listening.texts(1) == ["trusted"]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_clients_without_one_or_with_one_of_another_authority_are_refused_and_counted(
    listen: Listen,
    certificates: CertificateDirectory,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    version: ssl.TLSVersion,
) -> None:
    listening = listen(options(certificates, f", certificate_authorities: [{certificates.authorities()}]"))
    (tmp_path / "others").mkdir()
    stranger = CertificateDirectory(tmp_path / "others").issue()
    for number, pair in enumerate((None, stranger), start=1):
        context = client(certificates, pair)
        context.minimum_version = context.maximum_version = version
        with pytest.raises((ssl.SSLError, ConnectionError)):
            exchange(listening, context)
        listening.await_count("handshakes_failed", number)
    assert listening.rest() == []
    assert "the client sent no certificate, but client_authentication requires one" in caplog.text


def test_what_does_not_speak_tls_is_refused(
    listen: Listen, certificates: CertificateDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    listening = listen(options(certificates))
    with listening.connect() as plain:
        plain.sendall(b"<13>plain text\n")
        listening.await_count("handshakes_failed", 1)
    assert re.search(
        r": TLS handshake with 127\.0\.0\.1:\d+ failed: the client does not speak TLS$", caplog.text, re.MULTILINE
    )
    assert listening.rest() == []


def test_a_handshake_that_is_never_made_ends_the_connection(listen: Listen, certificates: CertificateDirectory) -> None:
    listening = listen(f"{options(certificates)}, timeout: 40ms")
    with listening.connect() as silent:
        assert silent.recv(1) == b""
    listening.await_count("handshakes_failed", 1)


def test_optional_certificates_may_be_absent(listen: Listen, certificates: CertificateDirectory) -> None:
    more = f", certificate_authorities: [{certificates.authorities()}], client_authentication: optional"
    listening = listen(options(certificates, more))
    with connect(listening, client(certificates)) as connection:
        connection.sendall(b"one\n")
        assert listening.texts(1) == ["one"]


def test_versions_that_are_left_out_are_refused(listen: Listen, certificates: CertificateDirectory) -> None:
    listening = listen(options(certificates, ", supported_protocols: [TLSv1.3]"))
    context = client(certificates)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises((ssl.SSLError, ConnectionError)):
        connect(listening, context)


def test_a_renewed_certificate_is_used_for_new_connections(listen: Listen, certificates: CertificateDirectory) -> None:
    clock = ManualClock()
    listening = listen(options(certificates), clock)
    with connect(listening, client(certificates)) as connection:
        before = connection.getpeercert(binary_form=True)
    certificates.issue_for("localhost")
    after = before
    while after == before:  # the files are looked at every 5 seconds, and used when they rest
        clock.advance(6)
        with connect(listening, client(certificates)) as connection:
            after = connection.getpeercert(binary_form=True)
            connection.sendall(b"hello\n")
        listening.events(1)


def test_a_key_with_a_passphrase_is_read(listen: Listen, certificates: CertificateDirectory, tmp_path: Path) -> None:
    certificate, key = certificates.issue(passphrase="secret")
    (tmp_path / "passphrase").write_text("secret\n")
    ssl_options = f"certificate: {certificate}, key: {key}, key_passphrase_path: {tmp_path}/passphrase"
    listen(f'type: tcp, host: "127.0.0.1:0", ssl: {{{ssl_options}}}')


def test_a_pair_that_does_not_match_is_a_mistake_and_leaves_no_port_open(
    listen: Listen, certificates: CertificateDirectory
) -> None:
    certificate, _ = certificates.issue("one")
    _, key = certificates.issue("two")
    before = len(descriptors_before())
    with pytest.raises(StartError, match=r"input in: ssl\.key: .* does not match the certificate in "):
        listen(f'type: tcp, host: "127.0.0.1:0", ssl: {{certificate: {certificate}, key: {key}}}')
    assert fall_to(before)


def test_a_peer_that_breaks_off_its_handshake_is_counted(listen: Listen, certificates: CertificateDirectory) -> None:
    listening = listen(options(certificates))
    connection = listening.connect()
    listening.await_sockets(2)
    connection.sendall(b"\x16\x03\x01")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()
    listening.await_count("handshakes_failed", 1)
