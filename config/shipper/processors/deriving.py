"""Processors that derive a value from others."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from config.shipper.processors.base import IGNORE_MISSING, ProcessorConfig
from config.text.checks import Finding, not_blank, without_blanks


@dataclass(frozen=True, slots=True, kw_only=True)
class FingerprintConfig(ProcessorConfig):
    """Computes a hash over fields."""

    name: ClassVar = "fingerprint"
    fields: tuple[str, ...] = field(
        metadata={"check": without_blanks, "doc": "The fields; their order does not matter."}
    )
    target_field: str = field(
        default="fingerprint", metadata={"check": not_blank, "doc": "The field that it is written to."}
    )
    method: Literal["sha256", "sha1", "md5", "sha384", "sha512", "xxhash"] = field(
        default="sha256", metadata={"doc": "The hash function."}
    )
    encoding: Literal["hex", "base32", "base64"] = field(default="hex", metadata={"doc": "How the hash is written."})
    ignore_missing: bool = field(
        default=False, metadata={"doc": "Whether a missing field is skipped instead of being an error."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowFieldsConfig:
    source_ip: str = field(default="source.ip", metadata={"doc": "The field with the source's address."})
    source_port: str = field(default="source.port", metadata={"doc": "The field with the source's port."})
    destination_ip: str = field(default="destination.ip", metadata={"doc": "The field with the destination's address."})
    destination_port: str = field(default="destination.port", metadata={"doc": "The field with the source's port."})
    iana_number: str = field(default="network.iana_number", metadata={"doc": "The field with the protocol's number."})
    transport: str = field(
        default="network.transport", metadata={"doc": "The field with the protocol's name, where there is no number."}
    )
    icmp_type: str = field(default="icmp.type", metadata={"doc": "The field with the type of an ICMP message."})
    icmp_code: str = field(default="icmp.code", metadata={"doc": "The field with the code of an ICMP message."})


@dataclass(frozen=True, slots=True, kw_only=True)
class CommunityIdConfig(ProcessorConfig):
    """Computes the Community ID of a network flow, by which records of other programs are correlated."""

    name: ClassVar = "community_id"
    fields: FlowFieldsConfig = field(
        default_factory=FlowFieldsConfig,
        metadata={"doc": "The fields that describe the flow; those of ECS when absent."},
    )
    target: str = field(
        default="network.community_id", metadata={"check": not_blank, "doc": "The field that it is written to."}
    )
    seed: int = field(
        default=0, metadata={"doc": "A seed, for ids that differ from those of others.", "min": 0, "max": 65535}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredDomainConfig(ProcessorConfig):
    """Extracts the registered domain from a host name, using the public suffix list that is installed with the
    shipper."""

    name: ClassVar = "registered_domain"
    source: str = field(metadata={"key": "field", "check": not_blank, "doc": "The field with the host's name."})
    target_field: str = field(metadata={"check": not_blank, "doc": "Where the registered domain is written."})
    target_etld_field: str = field(
        default="", metadata={"doc": "Where the public suffix is written; nowhere when absent."}
    )
    target_subdomain_field: str = field(
        default="", metadata={"doc": "Where the part before the registered domain is written; nowhere when absent."}
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    ignore_failure: bool = field(default=False, metadata={"doc": "Whether failures are ignored."})
    id: str = field(default="", metadata={"doc": "A name for this processor, for readers of the configuration."})


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectMimeTypeConfig(ProcessorConfig):
    """Detects the MIME type of a field's value by its first bytes."""

    name: ClassVar = "detect_mime_type"
    source: str = field(metadata={"key": "field", "check": not_blank, "doc": "The field."})
    target: str = field(
        metadata={"check": not_blank, "doc": "Where the type is written; an unknown type is not written."}
    )

    def check(self) -> Iterator[Finding]:
        if self.source == self.target:
            yield "target", "must differ from field: it would overwrite the value itself"
