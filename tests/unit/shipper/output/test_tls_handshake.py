"""What the options of `ssl` make of a handshake: the real client, and a server that offers something definite."""

import socket
import ssl as openssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer

from log_shipper.runtime.kafka.tls_options import SUITES
from log_shipper.shipper.options.kafka import KafkaOutputConfig
from log_shipper.shipper.options.model import SslConfig
from log_shipper.shipper.output.kafka_settings import refusal, settings
from tests.certificates import CertificateDirectory
from tests.unit.runtime.kafka.test_tls import pin_of

LONG = 60.0  # seconds; what takes so long has failed
TLS_1_2 = openssl.TLSVersion.TLSv1_2


@dataclass
class Server:
    """Accepts connections, and closes each after the handshake. `outcomes` has of each the version and the cipher
    suite, or the error."""

    context: openssl.SSLContext
    outcomes: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"localhost:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return  # closed
            with connection:
                self._shake_hands(connection)

    def _shake_hands(self, connection: socket.socket) -> None:
        try:
            with self.context.wrap_socket(connection, server_side=True) as secured:
                # With TLS 1.3 the client refuses after the server's part of the handshake.
                secured.recv(1)
                self.outcomes.append((secured.version() or "", (secured.cipher() or ("",))[0]))
        except OSError as error:
            self.outcomes.append(("failed", str(error)))

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@pytest.fixture
def certificates(tmp_path: Path) -> CertificateDirectory:
    return CertificateDirectory(tmp_path)


@pytest.fixture
def server(certificates: CertificateDirectory) -> Iterator[Server]:
    context = openssl.SSLContext(openssl.PROTOCOL_TLS_SERVER)
    certificates.authority.issue_cert("localhost").configure_cert(context)
    server = Server(context)
    yield server
    server.close()


def outcome(server: Server, **options: Any) -> tuple[str, str]:
    """Return how the first handshake of a client with these options ends."""
    ssl = SslConfig(enabled=True, **options)
    config = KafkaOutputConfig(hosts=(server.address,), topic="t", ssl=ssl, librdkafka={"log_level": 0})
    client: Any = Producer({**settings(config), "error_cb": lambda error: None})
    deadline = time.monotonic() + LONG
    while not server.outcomes and time.monotonic() < deadline:
        try:
            client.list_topics(timeout=0.1)
        except KafkaException:
            client.poll(0)
    return server.outcomes[0]


def test_with_tls_1_3_alone_a_server_with_tls_1_2_is_refused(
    server: Server, certificates: CertificateDirectory
) -> None:
    server.context.maximum_version = TLS_1_2
    version, reason = outcome(
        server, certificate_authorities=(certificates.authorities(),), supported_protocols=("TLSv1.3",)
    )
    assert version == "failed"
    assert "NO_SHARED_CIPHER" in reason


@pytest.mark.parametrize(
    ("protocols", "version"), [(("TLSv1.3",), "TLSv1.3"), (("TLSv1.2", "TLSv1.3"), "TLSv1.3"), ((), "TLSv1.3")]
)
def test_tls_1_3_is_used_where_both_have_it(
    protocols: tuple[str, ...], version: str, server: Server, certificates: CertificateDirectory
) -> None:
    authorities = (certificates.authorities(),)
    assert outcome(server, certificate_authorities=authorities, supported_protocols=protocols)[0] == version


@pytest.mark.parametrize(
    ("wanted", "version"), [("ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2"), ("ECDHE-RSA-AES128-GCM-SHA256", "failed")]
)
def test_only_the_suites_that_are_named_are_used(
    wanted: str, version: str, server: Server, certificates: CertificateDirectory
) -> None:
    server.context.maximum_version = TLS_1_2
    used = outcome(server, certificate_authorities=(certificates.authorities(),), cipher_suites=(wanted,))
    assert used[0] == version
    assert version == "failed" or used[1] == wanted


@pytest.mark.parametrize(("curve", "connects"), [("P-521", True), ("P-256", False)])
def test_only_the_curves_that_are_named_are_used(
    curve: str, connects: bool, server: Server, certificates: CertificateDirectory
) -> None:
    server.context.set_ecdh_curve("secp521r1")
    version, _ = outcome(server, certificate_authorities=(certificates.authorities(),), curve_types=(curve,))
    assert (version != "failed") is connects


@pytest.mark.parametrize("mine", [True, False])
def test_a_broker_whose_authority_is_not_pinned_is_refused(
    mine: bool, server: Server, certificates: CertificateDirectory
) -> None:
    other = CertificateDirectory(certificates.directory)
    authorities = (certificates.authorities(), other.authorities("other.pem"))
    pin = pin_of((certificates if mine else other).authority)
    version, reason = outcome(server, certificate_authorities=authorities, ca_sha256=(pin,))
    assert version == ("TLSv1.3" if mine else "failed"), reason


@pytest.mark.parametrize("suite", sorted(set(SUITES.values())))
def test_the_client_knows_every_suite(suite: str) -> None:
    ssl = SslConfig(enabled=True, cipher_suites=(suite,))
    assert refusal(KafkaOutputConfig(hosts=("h:1",), topic="t", ssl=ssl)) == ""
