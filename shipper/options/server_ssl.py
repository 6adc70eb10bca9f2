"""`ssl` of a listening input: TLS with the options of Filebeat's servers."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal, Self

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.secrets import Secret
from log_shipper.runtime.kafka.tls_options import (
    TLS_1_3_SUITES,
    CertificateReload,
    Protocol,
    SslConfig,
    parse_protocol,
    parse_suite,
    pins,
)

ClientAuthentication = Literal["none", "optional", "required"]
ServerCurve = Literal["P-256", "P-384", "P-521", "X25519"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSslConfig:
    """TLS of a server. As in Filebeat, any section except `enabled: false` enables it."""

    since: ClassVar = "0.3"
    enabled: bool | None = field(
        default=None,
        metadata={"doc": "Enables TLS; by default, any other option of ssl enables it."},
    )
    certificate: str | None = field(
        default=None, metadata={"doc": "PEM file or text of the server's certificate chain."}
    )
    key: Secret | None = field(default=None, metadata={"doc": "PEM file or text of the server's private key."})
    key_passphrase: Secret | None = field(default=None, metadata={"doc": "The passphrase of the private key."})
    key_passphrase_path: str | None = field(
        default=None, metadata={"doc": "File with the passphrase of the private key.", "check": not_blank}
    )
    certificate_authorities: tuple[str, ...] = field(
        default=(),
        metadata={"doc": "PEM files or texts of the CAs for client certificates; the system's when empty."},
    )
    client_authentication: ClientAuthentication | None = field(
        default=None,
        metadata={
            "doc": "Whether clients must send a certificate (required), may send a valid one (optional), or are not "
            "asked (none). Default: required if `certificate_authorities` is set."
        },
    )
    verification_mode: Literal["full", "strict", "certificate", "none"] = field(
        default="full",
        metadata={"doc": "How client certificates are verified: CA and dates, or not at all (none)."},
    )
    ca_sha256: tuple[str, ...] = field(
        default=(),
        metadata={
            "doc": "Trusts only CAs whose public key has one of these SHA-256 hashes (base64).",
            "check": pins,
        },
    )
    supported_protocols: tuple[Annotated[Protocol, parse_protocol], ...] = field(
        default=(),
        metadata={"doc": "Allowed TLS versions: TLSv1.2 and TLSv1.3, or one of them; both when empty."},
    )
    cipher_suites: tuple[Annotated[str, parse_suite], ...] = field(
        default=(),
        metadata={
            "doc": "Cipher suites for TLS 1.2, by Filebeat's or OpenSSL's names; OpenSSL's default when empty. TLS 1.3 "
            "suites cannot be chosen, as in Filebeat."
        },
    )
    curve_types: tuple[ServerCurve, ...] = field(
        default=(), metadata={"doc": "The key exchange curve, at most one; OpenSSL's default when empty."}
    )
    certificate_reload: CertificateReload = field(default_factory=CertificateReload)

    def check(self) -> Iterator[Finding]:
        if self.is_on:
            if self.certificate is None:
                yield "certificate", "missing; a server needs a certificate"
            if self.key is None:
                yield "key", "missing; a certificate needs its private key"
        if self.key_passphrase and self.key_passphrase_path:
            yield "key_passphrase_path", "conflicts with key_passphrase; set only one of them"
        if self.supported_protocols and not {"TLSv1.2", "TLSv1.3"} & set(self.supported_protocols):
            newest = max(self.supported_protocols)
            yield "supported_protocols", f"OpenSSL no longer accepts {newest}: add TLSv1.2 and TLSv1.3"
        if len(self.curve_types) > 1:
            yield "curve_types", "name only one: the library takes no list"

    def converted(self) -> Self:
        return replace(self, enabled=True) if self.is_on and self.enabled is None else self

    @property
    def is_on(self) -> bool:
        return self.enabled if self.enabled is not None else self != type(self)()

    @property
    def asks_clients(self) -> ClientAuthentication:
        """Return whether clients are asked for a certificate."""
        if self.client_authentication is not None:
            return self.client_authentication
        return "required" if self.certificate_authorities else "none"

    @property
    def suites(self) -> tuple[str, ...]:
        """Return the configured TLS 1.2 suites."""
        return tuple(suite for suite in self.cipher_suites if suite not in TLS_1_3_SUITES)

    @property
    def files(self) -> SslConfig:
        """Return the options that name files, in the form that is read and checked for clients."""
        return SslConfig(
            certificate=self.certificate,
            key=self.key,
            key_passphrase=self.key_passphrase,
            key_passphrase_path=self.key_passphrase_path,
            certificate_authorities=self.certificate_authorities,
            ca_sha256=self.ca_sha256,
            certificate_reload=self.certificate_reload,
        )
