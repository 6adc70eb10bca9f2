"""`ssl` of an input that listens: TLS with the options of Filebeat's servers."""

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
    """As in Filebeat, any section but one with `enabled: false` turns TLS on."""

    since: ClassVar = "0.2"
    enabled: bool | None = field(
        default=None,
        metadata={"doc": "Whether TLS is used; when absent, it is used if any other option of ssl is set."},
    )
    certificate: str | None = field(
        default=None, metadata={"doc": "PEM file of the server's certificate and its chain, or their text."}
    )
    key: Secret | None = field(default=None, metadata={"doc": "PEM file of the server's private key, or its text."})
    key_passphrase: Secret | None = field(default=None, metadata={"doc": "The passphrase of the private key."})
    key_passphrase_path: str | None = field(
        default=None, metadata={"doc": "File with the passphrase of the private key.", "check": not_blank}
    )
    certificate_authorities: tuple[str, ...] = field(
        default=(),
        metadata={"doc": "PEM files of the authorities of clients, or their text; the system's when empty."},
    )
    client_authentication: ClientAuthentication | None = field(
        default=None,
        metadata={
            "doc": "Whether a client must show a certificate (required), may show one, which must be valid (optional), "
            "or is not asked (none). When absent, it must where `certificate_authorities` are given."
        },
    )
    verification_mode: Literal["full", "strict", "certificate", "none"] = field(
        default="full",
        metadata={
            "doc": "How the certificate of a client is verified: by its authority and dates, or not at all (none)."
        },
    )
    ca_sha256: tuple[str, ...] = field(
        default=(),
        metadata={
            "doc": "Only those authorities are trusted whose public key has one of these SHA-256 (base64).",
            "check": pins,
        },
    )
    supported_protocols: tuple[Annotated[Protocol, parse_protocol], ...] = field(
        default=(),
        metadata={"doc": "The versions of TLS that may be used: TLSv1.2 and TLSv1.3, or one of them; both when empty."},
    )
    cipher_suites: tuple[Annotated[str, parse_suite], ...] = field(
        default=(),
        metadata={
            "doc": "The cipher suites for TLS 1.2, by Filebeat's or OpenSSL's names; OpenSSL's default when empty. "
            "Those of TLS 1.3 cannot be chosen, as in Filebeat."
        },
    )
    curve_types: tuple[ServerCurve, ...] = field(
        default=(), metadata={"doc": "The curve for the exchange of keys; OpenSSL's when empty. No more than one."}
    )
    certificate_reload: CertificateReload = field(default_factory=CertificateReload)

    def check(self) -> Iterator[Finding]:
        if self.is_on:
            if self.certificate is None:
                yield "certificate", "missing; a server needs a certificate"
            if self.key is None:
                yield "key", "missing; a certificate needs its private key"
        if self.key_passphrase and self.key_passphrase_path:
            yield "key_passphrase_path", "given beside key_passphrase; keep one"
        if self.supported_protocols and not {"TLSv1.2", "TLSv1.3"} & set(self.supported_protocols):
            newest = max(self.supported_protocols)
            yield "supported_protocols", f"OpenSSL does not accept {newest} any more: add TLSv1.2 and TLSv1.3"
        if len(self.curve_types) > 1:
            yield "curve_types", "name one: the library takes no list"

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
        """Return the suites of TLS 1.2 that are wanted."""
        return tuple(suite for suite in self.cipher_suites if suite not in TLS_1_3_SUITES)

    @property
    def files(self) -> SslConfig:
        """Return the options that name files, as they are read and checked for a client, too."""
        return SslConfig(
            certificate=self.certificate,
            key=self.key,
            key_passphrase=self.key_passphrase,
            key_passphrase_path=self.key_passphrase_path,
            certificate_authorities=self.certificate_authorities,
            ca_sha256=self.ca_sha256,
            certificate_reload=self.certificate_reload,
        )
