"""`ssl`: TLS with Filebeat's options. `runtime/kafka/tls.py` checks the files that they name."""

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal, Self

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.secrets import Secret
from log_shipper.config.text.units import Duration

# Filebeat's names of the suites up to TLS 1.2 -> OpenSSL's, which are accepted, too.
SUITES = {
    "ECDHE-ECDSA-AES-128-CBC-SHA": "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-ECDSA-AES-128-CBC-SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "ECDHE-ECDSA-AES-128-GCM-SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES-256-CBC-SHA": "ECDHE-ECDSA-AES256-SHA",
    "ECDHE-ECDSA-AES-256-GCM-SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-AES-128-CBC-SHA": "ECDHE-RSA-AES128-SHA",
    "ECDHE-RSA-AES-128-CBC-SHA256": "ECDHE-RSA-AES128-SHA256",
    "ECDHE-RSA-AES-128-GCM-SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES-256-CBC-SHA": "ECDHE-RSA-AES256-SHA",
    "ECDHE-RSA-AES-256-GCM-SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-RSA-CHACHA20-POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    # Filebeat's own spelling of the suite above.
    "ECDHE-RSA-CHACHA20-POLY1205": "ECDHE-RSA-CHACHA20-POLY1305",
    "RSA-AES-128-CBC-SHA": "AES128-SHA",
    "RSA-AES-128-CBC-SHA256": "AES128-SHA256",
    "RSA-AES-128-GCM-SHA256": "AES128-GCM-SHA256",
    "RSA-AES-256-CBC-SHA": "AES256-SHA",
    "RSA-AES-256-GCM-SHA384": "AES256-GCM-SHA384",
}
_OPENSSL_SUITES = frozenset(SUITES.values())
TLS_1_3_SUITES = ("TLS-AES-128-GCM-SHA256", "TLS-AES-256-GCM-SHA384", "TLS-CHACHA20-POLY1305-SHA256")
_BROKEN = re.compile("RC4|3DES|DES-CBC3")

Protocol = Literal["TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3"]
PROTOCOLS: tuple[Protocol, ...] = ("TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3")
Curve = Literal["P-256", "P-384", "P-521", "X25519", "X25519MLKEM768"]
VerificationMode = Literal["full", "strict", "certificate", "none"]


def parse_suite(text: str) -> str:
    """Return OpenSSL's name of a cipher suite; TLS 1.3 suites have only one name. Raises ValueError."""
    name = text.strip().upper()
    if name.replace("_", "-") in TLS_1_3_SUITES:
        return name.replace("_", "-")
    if name in SUITES or name in _OPENSSL_SUITES:
        return SUITES.get(name, name)
    if _BROKEN.search(name):
        raise ValueError(f"{text!r} is insecure, and OpenSSL no longer supports it; remove it")
    raise ValueError(f"{text!r} is not a supported cipher suite; supported: {', '.join(SUITES)}")


def parse_protocol(text: str) -> Protocol:
    """Return the TLS version; Filebeat has two names for the first. Raises ValueError."""
    for protocol in PROTOCOLS:
        if text.strip().lower() in (protocol.lower(), protocol.lower().removesuffix(".0")):
            return protocol
    raise ValueError(f"{text!r} must be one of: {', '.join(PROTOCOLS)}")


def parse_fingerprint(text: str) -> str:
    """Return a SHA-256 in lower-case hexadecimal digits, without the colons that openssl writes. Raises ValueError."""
    digits = text.strip().replace(":", "").lower()
    if not re.fullmatch("[0-9a-f]{64}", digits):
        raise ValueError(f"{text!r} must be the SHA-256 of a certificate: 64 hexadecimal digits")
    return digits


def pins(values: tuple[str, ...]) -> Iterator[Finding]:
    for index, value in enumerate(values):
        try:
            size = len(base64.b64decode(value, validate=True))
        except (binascii.Error, ValueError):
            size = 0
        if size != 32:
            yield f"[{index}]", f"{value!r} must be the SHA-256 of a CA's public key, in base64"


def is_pem(value: str) -> bool:
    """Return True if the value is the text itself instead of a path."""
    return value.lstrip().startswith("-----BEGIN ")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSslConfig:
    """The TLS options of every Kafka client. As in Filebeat, any section except `enabled: false` enables TLS."""

    enabled: bool | None = field(
        default=None,
        metadata={"doc": "Enables TLS; by default, any other option of ssl enables it."},
    )
    certificate_authorities: tuple[str, ...] = field(
        default=(),
        metadata={"doc": "PEM files or texts of the CAs to trust; the system's when empty."},
    )
    certificate: str | None = field(default=None, metadata={"doc": "PEM file or text of the client certificate."})
    key: Secret | None = field(default=None, metadata={"doc": "PEM file or text of the client's private key."})
    key_passphrase: Secret | None = field(default=None, metadata={"doc": "The passphrase of the private key."})
    key_passphrase_path: str | None = field(
        default=None,
        metadata={"since": "0.3", "doc": "File with the passphrase of the private key.", "check": not_blank},
    )
    verification_mode: VerificationMode = field(
        default="full",
        metadata={
            "doc": "How the broker's certificate is verified: completely (full, strict), without the host name "
            "(certificate), or not at all (none)."
        },
    )

    def check(self) -> Iterator[Finding]:
        if self.certificate is not None and self.key is None:
            yield "key", "missing; a certificate needs its private key"
        if self.key is not None and self.certificate is None:
            yield "certificate", "missing; a private key needs its certificate"
        if self.key_passphrase and self.key_passphrase_path:
            yield "key_passphrase_path", "conflicts with key_passphrase; set only one of them"

    def converted(self) -> Self:
        return replace(self, enabled=True) if self.enabled is None and self != type(self)() else self


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateReload:
    since: ClassVar = "0.3"
    enabled: bool = field(
        default=True,
        metadata={"doc": "Reloads certificates, keys and CAs when their files change."},
    )
    reload_interval: Duration = field(default=5.0, metadata={"doc": "How often the files are checked.", "min": 0.1})


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartOnChange:
    """The name of `certificate_reload` until Filebeat 9.3."""

    since: ClassVar = "0.3"
    enabled: bool = field(default=False, metadata={"doc": "Ignored: `certificate_reload` needs no restart."})
    period: Duration | None = field(
        default=None, metadata={"doc": "Same as `certificate_reload.reload_interval`.", "min": 0.1}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SslConfig(ClientSslConfig):
    supported_protocols: tuple[Annotated[Protocol, parse_protocol], ...] = field(
        default=(),
        metadata={
            "doc": "Allowed TLS versions: TLSv1.2 and TLSv1.3, or only TLSv1.3; both when empty. OpenSSL no longer "
            "connects with older ones."
        },
    )
    cipher_suites: tuple[Annotated[str, parse_suite], ...] = field(
        default=(),
        metadata={
            "doc": "Cipher suites for TLS 1.2, by Filebeat's or OpenSSL's names; OpenSSL's default when empty. TLS 1.3 "
            "suites cannot be chosen, as in Filebeat."
        },
    )
    curve_types: tuple[Curve, ...] = field(
        default=(), metadata={"doc": "Key exchange curves, the preferred one first; OpenSSL's default when empty."}
    )
    renegotiation: Literal["never", "once", "freely"] = field(
        default="never",
        metadata={"doc": "Has no effect: Kafka brokers never renegotiate, and TLS 1.3 has no renegotiation."},
    )
    ca_sha256: tuple[str, ...] = field(
        default=(),
        metadata={
            "since": "0.3",
            "doc": "Trusts only CAs whose public key has one of these SHA-256 hashes (base64).",
            "check": pins,
        },
    )
    ca_trusted_fingerprint: Annotated[str, parse_fingerprint] | None = field(
        default=None,
        metadata={
            "since": "0.3",
            "doc": "SHA-256 (hexadecimal) of a CA certificate that must be among the trusted ones; without "
            "`certificate_authorities`, only it is trusted.",
        },
    )
    certificate_reload: CertificateReload = field(default_factory=CertificateReload)
    restart_on_cert_change: RestartOnChange = field(default_factory=RestartOnChange)

    def check(self) -> Iterator[Finding]:
        # Names the class explicitly: slots=True creates a second class, and super() would refer to the first.
        yield from ClientSslConfig.check(self)
        if self.supported_protocols and "TLSv1.3" not in self.supported_protocols:
            newest = max(self.supported_protocols)
            if newest == "TLSv1.2":
                yield "supported_protocols", "the client cannot exclude TLSv1.3: add it, or remove the option"
            else:
                yield "supported_protocols", f"OpenSSL no longer connects with {newest}: add TLSv1.2 and TLSv1.3"
        elif self.only_tls_1_3 and self.suites:
            yield "cipher_suites", "TLS 1.2 suites have no effect without TLSv1.2 in supported_protocols; remove them"
        if self.verification_mode == "none":
            for name in ("ca_sha256", "ca_trusted_fingerprint"):
                if getattr(self, name):
                    yield (
                        name,
                        "conflicts with 'verification_mode: none', which verifies nothing; remove one of the two",
                    )

    def remarks(self) -> Iterator[Finding]:
        if {"TLSv1.0", "TLSv1.1"} & set(self.supported_protocols):
            yield (
                "supported_protocols",
                "OpenSSL no longer connects with TLSv1.0 and TLSv1.1; the other versions are used",
            )
        if set(self.cipher_suites) & set(TLS_1_3_SUITES):
            yield "cipher_suites", "all TLS 1.3 suites are offered, as in Filebeat; they cannot be chosen"
        if self.renegotiation != "never":
            yield "renegotiation", "Kafka brokers never renegotiate"
        if self.restart_on_cert_change != RestartOnChange():
            yield (
                "restart_on_cert_change",
                "now certificate_reload, which needs no restart and is on by default",
            )

    @property
    def suites(self) -> tuple[str, ...]:
        """Return the configured TLS 1.2 suites."""
        return tuple(suite for suite in self.cipher_suites if suite not in TLS_1_3_SUITES)

    @property
    def only_tls_1_3(self) -> bool:
        protocols = set(self.supported_protocols) == {"TLSv1.3"}
        return protocols or bool(self.cipher_suites and not self.suites)

    @property
    def reload_interval(self) -> float | None:
        """Return the interval for checking the files, in seconds; None for never."""
        if not self.certificate_reload.enabled:
            return None
        return self.restart_on_cert_change.period or self.certificate_reload.reload_interval
