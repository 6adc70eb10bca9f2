"""The security of the sink's connection to Kafka. Its client is Java's, which lacks some abilities of the shipper's."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from config.shipper.kafka_security import SslConfig
from config.text.checks import Finding

_JAVA: dict[str, Any] = {
    "doc": "Accepted and not used: Java chooses.",
    "unused": "Java chooses; set raw client settings below kafka.options, such as kafka.ssl.cipher.suites",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSslConfig(SslConfig):
    verification_mode: Literal["full", "strict", "certificate", "none"] = field(
        default="full",
        metadata={
            "doc": "How the broker's certificate is verified: fully (full, strict), or without the host name "
            "(certificate); Java cannot skip the verification (none)."
        },
    )
    supported_protocols: tuple[str, ...] = field(default=(), metadata=_JAVA)
    cipher_suites: tuple[str, ...] = field(default=(), metadata=_JAVA)
    curve_types: tuple[str, ...] = field(default=(), metadata=_JAVA)
    renegotiation: Literal["never", "once", "freely"] = field(default="never", metadata=_JAVA)

    def check(self) -> Iterator[Finding]:
        # With its name: slots=True creates a second class, and super() would refer to the first.
        yield from SslConfig.check(self)
        if self.verification_mode == "none" and self.enabled is not False:
            yield (
                "verification_mode",
                "none is not possible: Kafka's Java client always verifies the certificate; name the broker's own "
                "in certificate_authorities, and with 'certificate' its host name is not checked",
            )
