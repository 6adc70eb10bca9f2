"""A broker with a listener that asks for TLS and a password, and the certificates for it."""

from collections.abc import Mapping
from pathlib import Path

import trustme
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but imported there without `as`
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from demo.broker import Broker
from demo.ports import free_ports

PASSWORD = 'pa"ss\\word;'


class SecureBroker(Broker):
    """Beside the ordinary listener two more: `secure` (TLS and SASL), `mutual` (TLS with the client's certificate)."""

    def __init__(self, directory: Path) -> None:
        self.authority = trustme.CA()
        self.authority_file = directory / "authority.pem"
        self.authority.cert_pem.write_to_path(self.authority_file)
        self.secure, self.mutual = (f"localhost:{port}" for port in free_ports(2))
        super().__init__(directory, heap="256m")

    def client(self, directory: Path) -> tuple[Path, Path]:
        """Files of a client's certificate and its key."""
        issued = self.authority.issue_cert("client@sink.example")
        certificate, key = directory / "client.pem", directory / "client.key"
        certificate.write_bytes(_chain(issued))
        key.write_bytes(_key(issued))
        return certificate, key

    def add_user(self, name: str, password: str) -> None:
        """Add a user who authenticates by SCRAM; the user `plain` does by PLAIN."""
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        change = UserScramCredentialUpsertion(name, info, password.encode())
        admin = self.admin()  # kept until the answer is there
        admin.alter_user_scram_credentials([change])[name].result(30)

    def _configure(self, controller_port: int, properties: Mapping[str, str]) -> None:
        directory = self.authority_file.parent
        issued = self.authority.issue_cert("localhost")
        (directory / "broker.pem").write_bytes(_key(issued) + _chain(issued))
        super()._configure(controller_port, {**properties, **self._listeners(controller_port), **_tls(directory)})

    def _listeners(self, controller_port: int) -> dict[str, str]:
        ordinary = f"PLAINTEXT://{self.bootstrap}"
        more = f"SECURE://{self.secure},MUTUAL://{self.mutual}"
        return {
            "listeners": f"{ordinary},CONTROLLER://127.0.0.1:{controller_port},{more}",
            "advertised.listeners": f"{ordinary},{more}",
            "listener.security.protocol.map": ("PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL,MUTUAL:SSL"),
        }


def _tls(directory: Path) -> dict[str, str]:
    quoted = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
    login = "org.apache.kafka.common.security"
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(directory / "broker.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(directory / "authority.pem"),
        "listener.name.mutual.ssl.client.auth": "required",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.secure.scram-sha-512.sasl.jaas.config": f"{login}.scram.ScramLoginModule required;",
        # A file of properties takes a backslash for its own.
        "listener.name.secure.plain.sasl.jaas.config": (
            f'{login}.plain.PlainLoginModule required user_plain="{quoted}";'.replace("\\", "\\\\")
        ),
    }


def _chain(issued: trustme.LeafCert) -> bytes:
    return b"".join(blob.bytes() for blob in issued.cert_chain_pems)


def _key(issued: trustme.LeafCert) -> bytes:
    """Return the key as PKCS #8: Java reads no other format."""
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
