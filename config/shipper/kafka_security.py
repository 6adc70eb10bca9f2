"""The security of connections to Kafka: TLS and authentication."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from config.shipper import filebeat
from config.text.checks import Finding

Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
MECHANISMS: tuple[Mechanism, ...] = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def parse_mechanism(text: str) -> Mechanism:
    """Return the mechanism, whatever its case; "" is PLAIN. Raises ValueError."""
    for mechanism in MECHANISMS:
        if (text or "PLAIN").upper() == mechanism:
            return mechanism
    raise ValueError(f"{text!r} must be one of: {', '.join(MECHANISMS)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslConfig:
    mechanism: Annotated[Mechanism, parse_mechanism] = field(
        default="PLAIN", metadata={"doc": "The SASL mechanism for username and password."}
    )


_OPENSSL: dict[str, Any] = {
    "doc": "Accepted and not used: OpenSSL chooses.",
    "unused": "OpenSSL chooses; set raw client settings below librdkafka, such as ssl.cipher.suites",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SslConfig:
    """As in Filebeat, any section but one with `enabled: false` turns TLS on."""

    not_yet: ClassVar = filebeat.SSL_NOT_YET
    enabled: bool | None = field(
        default=None,
        metadata={"doc": "Whether TLS is used; when absent, it is used if any other option of ssl is set."},
    )
    certificate_authorities: tuple[str, ...] = field(
        default=(),
        metadata={"doc": "PEM files of the authorities to trust, or their text; the system's authorities when empty."},
    )
    certificate: str | None = field(
        default=None, metadata={"doc": "PEM file of the client's certificate, or its text."}
    )
    key: str | None = field(
        default=None, repr=False, metadata={"doc": "PEM file of the client's private key, or its text."}
    )
    key_passphrase: str | None = field(default=None, repr=False, metadata={"doc": "The passphrase of the private key."})
    verification_mode: Literal["full", "strict", "certificate", "none"] = field(
        default="full",
        metadata={
            "doc": "How the broker's certificate is verified: fully (full, strict), without the host name "
            "(certificate), not at all (none)."
        },
    )
    supported_protocols: tuple[str, ...] = field(default=(), metadata=_OPENSSL)
    cipher_suites: tuple[str, ...] = field(default=(), metadata=_OPENSSL)
    curve_types: tuple[str, ...] = field(default=(), metadata=_OPENSSL)
    renegotiation: Literal["never", "once", "freely"] = field(default="never", metadata=_OPENSSL)

    def check(self) -> Iterator[Finding]:
        if self.certificate is not None and self.key is None:
            yield "key", "missing; a certificate needs its private key"
        if self.key is not None and self.certificate is None:
            yield "certificate", "missing; a private key needs its certificate"

    def converted(self) -> "SslConfig":
        return replace(self, enabled=True) if self.enabled is None and self != type(self)() else self


@dataclass(frozen=True, slots=True, kw_only=True)
class KerberosConfig:
    """All options are known, so that a misspelt one is reported as such; none of them is supported."""

    enabled: bool = field(default=True, metadata={"doc": "Must be false: Kerberos is not supported."})
    auth_type: Literal["password", "keytab"] | None = field(default=None, metadata={"doc": "Not supported."})
    config_path: str | None = field(default=None, metadata={"doc": "Not supported."})
    service_name: str | None = field(default=None, metadata={"doc": "Not supported."})
    username: str | None = field(default=None, metadata={"doc": "Not supported."})
    password: str | None = field(default=None, repr=False, metadata={"doc": "Not supported."})
    keytab: str | None = field(default=None, metadata={"doc": "Not supported."})
    realm: str | None = field(default=None, metadata={"doc": "Not supported."})
    enable_krb5_fast: bool = field(default=False, metadata={"doc": "Not supported."})

    def check(self) -> Iterator[Finding]:
        if self.enabled:
            yield (
                "",
                "not supported: the client is built without Kerberos; use username and password, or ssl.certificate",
            )
