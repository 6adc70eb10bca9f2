"""A broker with a listener that asks for TLS and a password, and the certificates for it."""

from collections.abc import Mapping
from pathlib import Path

import trustme
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but imported there without `as`
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from demo.broker import Broker
from demo.ports import free_ports
from tests.certificates import chain, private_key
from tests.e2e.running import PATIENCE

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
        certificate.write_bytes(chain(issued))
        key.write_bytes(private_key(issued))
        return certificate, key

    def add_user(self, name: str, password: str) -> None:
        """Add a user who authenticates by SCRAM; the user `plain` does by PLAIN."""
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        change = UserScramCredentialUpsertion(name, info, password.encode())
        admin = self.admin()  # kept until the answer is there
        admin.alter_user_scram_credentials([change])[name].result(PATIENCE)

    def _configure(self, properties: Mapping[str, str]) -> None:
        directory = self.authority_file.parent
        issued = self.authority.issue_cert("localhost")
        (directory / "broker.pem").write_bytes(private_key(issued) + chain(issued))
        super()._configure({**properties, **self._listeners(), **_tls(directory)})

    def _listeners(self) -> dict[str, str]:
        ordinary = f"PLAINTEXT://{self.bootstrap}"
        more = f"SECURE://{self.secure},MUTUAL://{self.mutual}"
        return {
            "listeners": f"{ordinary},CONTROLLER://127.0.0.1:{self._node.controller_port},{more}",
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
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512,OAUTHBEARER",
        # Takes any token that is a JWT with a subject and has not expired: what the provider signs is not tested here.
        "listener.name.secure.oauthbearer.sasl.jaas.config": f"{login}.oauthbearer.OAuthBearerLoginModule required;",
        "listener.name.secure.scram-sha-512.sasl.jaas.config": f"{login}.scram.ScramLoginModule required;",
        # A file of properties takes a backslash for its own.
        "listener.name.secure.plain.sasl.jaas.config": (
            f'{login}.plain.PlainLoginModule required user_plain="{quoted}";'.replace("\\", "\\\\")
        ),
    }
