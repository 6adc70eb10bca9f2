"""How the brokers are spoken to: TLS, and who we say we are."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from config.shipper import filebeat
from config.text.checks import Finding

Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
MECHANISMS: tuple[Mechanism, ...] = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def parse_mechanism(text: str) -> Mechanism:
    """In capitals or not; "" is PLAIN. Raises ValueError."""
    for mechanism in MECHANISMS:
        if (text or "PLAIN").upper() == mechanism:
            return mechanism
    raise ValueError(f"{text!r} must be one of: {', '.join(MECHANISMS)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SaslConfig:
    mechanism: Annotated[Mechanism, parse_mechanism] = field(
        default="PLAIN", metadata={"doc": "How username and password are proved."}
    )


_OPENSSL: dict[str, Any] = {
    "doc": "Accepted and not used: OpenSSL chooses.",
    "unused": "OpenSSL chooses; librdkafka: takes raw settings, as in ssl.cipher.suites",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SslConfig:
    """As in Filebeat, a section that says anything but `enabled: false` turns TLS on."""

    not_yet: ClassVar = filebeat.SSL_NOT_YET
    enabled: bool | None = field(
        default=None,
        metadata={"doc": "Whether the brokers are spoken to over TLS; when absent, if anything else is said here."},
    )
    certificate_authorities: tuple[str, ...] = field(
        default=(), metadata={"doc": "PEM files of the authorities to trust, or their text; the system's when empty."}
    )
    certificate: str | None = field(
        default=None, metadata={"doc": "PEM file of the client's certificate, or its text."}
    )
    key: str | None = field(
        default=None, repr=False, metadata={"doc": "PEM file of the client's private key, or its text."}
    )
    key_passphrase: str | None = field(default=None, repr=False, metadata={"doc": "Opens the private key."})
    verification_mode: Literal["full", "strict", "certificate", "none"] = field(
        default="full",
        metadata={
            "doc": "What of the broker's certificate is verified: all (full, strict), not the host name (certificate), "
            "nothing (none)."
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

    def becomes(self) -> "SslConfig":
        return replace(self, enabled=True) if self.enabled is None and self != type(self)() else self


@dataclass(frozen=True, slots=True, kw_only=True)
class KerberosConfig:
    """Every option is known, so that one that is misspelt is told as such; none works."""

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
            yield "", "not supported: the client is built without it; use username and password, or ssl.certificate"
