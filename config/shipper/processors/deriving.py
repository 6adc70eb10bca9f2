"""Processors: what derives a value from others."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from config.shipper.processors.base import IGNORE_MISSING, ProcessorConfig
from config.text.checks import Finding, not_blank, without_blanks


@dataclass(frozen=True, slots=True, kw_only=True)
class FingerprintConfig(ProcessorConfig):
    """A hash over fields."""

    name: ClassVar = "fingerprint"
    fields: tuple[str, ...] = field(metadata={"check": without_blanks, "doc": "The fields; their order is no matter."})
    target_field: str = field(default="fingerprint", metadata={"check": not_blank, "doc": "Where it goes."})
    method: Literal["sha256", "sha1", "md5", "sha384", "sha512", "xxhash"] = field(
        default="sha256", metadata={"doc": "How it is computed."}
    )
    encoding: Literal["hex", "base32", "base64"] = field(default="hex", metadata={"doc": "How it is written."})
    ignore_missing: bool = field(
        default=False, metadata={"doc": "Whether a field that is not there is left out instead of being an error."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowFieldsConfig:
    source_ip: str = field(default="source.ip", metadata={"doc": "The field with the source's address."})
    source_port: str = field(default="source.port", metadata={"doc": "With its port."})
    destination_ip: str = field(default="destination.ip", metadata={"doc": "With the destination's address."})
    destination_port: str = field(default="destination.port", metadata={"doc": "With its port."})
    iana_number: str = field(default="network.iana_number", metadata={"doc": "With the protocol's number."})
    transport: str = field(
        default="network.transport", metadata={"doc": "With the protocol's name, where there is no number."}
    )
    icmp_type: str = field(default="icmp.type", metadata={"doc": "With the type of an ICMP message."})
    icmp_code: str = field(default="icmp.code", metadata={"doc": "With its code."})


@dataclass(frozen=True, slots=True, kw_only=True)
class CommunityIdConfig(ProcessorConfig):
    """The Community ID of a network flow, by which other programs' records of it are found."""

    name: ClassVar = "community_id"
    fields: FlowFieldsConfig = field(
        default_factory=FlowFieldsConfig, metadata={"doc": "Where the flow is described, in ECS when absent."}
    )
    target: str = field(default="network.community_id", metadata={"check": not_blank, "doc": "Where it goes."})
    seed: int = field(default=0, metadata={"doc": "A number that makes ids of your own.", "min": 0, "max": 65535})


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredDomainConfig(ProcessorConfig):
    """The part of a host's name that somebody has registered, by the public suffix list that is installed with us."""

    name: ClassVar = "registered_domain"
    source: str = field(metadata={"key": "field", "check": not_blank, "doc": "The field with the host's name."})
    target_field: str = field(metadata={"check": not_blank, "doc": "Where the registered domain goes."})
    target_etld_field: str = field(default="", metadata={"doc": "Where the public suffix goes, if anywhere."})
    target_subdomain_field: str = field(
        default="", metadata={"doc": "Where the part before the registered domain goes, if anywhere."}
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    ignore_failure: bool = field(default=False, metadata={"doc": "Whether nothing that goes wrong is an error."})
    id: str = field(default="", metadata={"doc": "A name for this processor, for whoever reads the configuration."})


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectMimeTypeConfig(ProcessorConfig):
    """The type of what a field holds, by its first bytes."""

    name: ClassVar = "detect_mime_type"
    source: str = field(metadata={"key": "field", "check": not_blank, "doc": "The field."})
    target: str = field(metadata={"check": not_blank, "doc": "Where its type goes; nowhere where it is not known."})

    def check(self) -> Iterator[Finding]:
        if self.source == self.target:
            yield "target", "would replace what it is the type of"
