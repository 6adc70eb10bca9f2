"""TLS of what listens, over a pair of sockets."""

import socket
import ssl
import threading
from pathlib import Path

import pytest

from log_shipper.config.text.secrets import Secret
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.inputs.server_tls import ServerTls, reason
from log_shipper.shipper.options.server_ssl import ServerSslConfig
from tests.certificates import CertificateDirectory, replace
from tests.fakes import ManualClock

SECTION = "input logs: ssl"


@pytest.fixture
def certificates(tmp_path: Path) -> CertificateDirectory:
    return CertificateDirectory(tmp_path)


def shaken(server: ServerTls, client: ssl.SSLContext) -> tuple[bytes | None, str]:
    """Return the server's certificate as a client has seen it, and why the handshake failed, if it did."""
    ours, theirs = socket.socketpair()
    seen: list[bytes | None] = [None]

    def connect() -> None:
        try:
            with client.wrap_socket(theirs, server_hostname="localhost") as connected:
                connected.recv(1)
                seen[0] = connected.getpeercert(binary_form=True)
        except OSError:
            pass

    thread = threading.Thread(target=connect)
    thread.start()
    failure = ""
    try:
        with server.wrap(ours) as accepted:
            accepted.do_handshake()
            accepted.sendall(b"x")
    except OSError as error:
        failure = reason(error)
    ours.close()
    thread.join()
    return seen[0], failure


def client(certificates: CertificateDirectory, pair: tuple[str, str] | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=certificates.authorities("server-authority.pem"))
    if pair is not None:
        context.load_cert_chain(*pair)
    return context


def test_a_client_needs_a_certificate_where_authorities_are_given(certificates: CertificateDirectory) -> None:
    certificate, key = certificates.issue_for("localhost")
    config = ServerSslConfig(
        certificate=certificate, key=Secret(key), certificate_authorities=(certificates.authorities(),)
    )
    server = ServerTls(config, SECTION, ManualClock())
    assert shaken(server, client(certificates, certificates.issue()))[1] == ""
    without = shaken(server, client(certificates))[1]
    assert without == "the client sent no certificate, but client_authentication requires one"


def test_texts_of_certificates_are_taken_as_files_are(certificates: CertificateDirectory) -> None:
    certificate, key = (Path(path).read_text() for path in certificates.issue_for("localhost"))
    server = ServerTls(ServerSslConfig(certificate=certificate, key=Secret(key)), SECTION, ManualClock())
    assert shaken(server, client(certificates))[0] is not None


def test_a_renewed_pair_is_used_once_it_fits(
    certificates: CertificateDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    clock = ManualClock()
    certificate, key = certificates.issue_for("localhost")
    server = ServerTls(ServerSslConfig(certificate=certificate, key=Secret(key)), SECTION, clock)
    before, _ = shaken(server, client(certificates))
    old_key = Path(key).read_bytes()
    certificates.issue_for("localhost")
    new_key = Path(key).read_bytes()
    replace(Path(key), old_key)
    for _ in range(3):
        clock.advance(6)
        server.renew()
    assert shaken(server, client(certificates))[0] == before
    assert "input logs: ssl.key" in caplog.text
    replace(Path(key), new_key)
    for _ in range(3):
        clock.advance(6)
        server.renew()
    after, _ = shaken(server, client(certificates))
    assert after not in (None, before)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"key": "other"}, r"ssl\.key: .* does not match the certificate"),
        ({"certificate": "/no/such.pem"}, r"ssl\.certificate: cannot read /no/such.pem: No such file"),
        ({"cipher_suites": ("NOT-A-SUITE",)}, "OpenSSL rejects it"),
    ],
)
def test_what_cannot_be_used_is_a_mistake(
    certificates: CertificateDirectory, changes: dict[str, object], message: str
) -> None:
    certificate, key = certificates.issue_for("localhost")
    other = certificates.issue("other")[1]
    options = {"certificate": certificate, "key": Secret(key)} | {
        name: Secret(other) if value == "other" else value for name, value in changes.items()
    }
    with pytest.raises(StartError, match=message):
        ServerTls(ServerSslConfig(**options), SECTION, ManualClock())  # type: ignore[arg-type]  # values of a table
