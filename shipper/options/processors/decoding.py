"""Processors that decode values, and that derive values from others."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from log_shipper.config.text.checks import Finding, not_blank, without_blanks
from log_shipper.config.text.timezones import Timezone
from log_shipper.config.text.units import Size
from log_shipper.shipper.options.processors.base import FAIL_ON_ERROR, IGNORE_FAILURE, IGNORE_MISSING, ProcessorConfig

MOST_XML_NODES = 100_000  # elements and attributes of one document


@dataclass(frozen=True, slots=True, kw_only=True)
class OneFieldConfig:
    source: str = field(metadata={"key": "from", "check": not_blank, "doc": "The field that is decoded."})
    to: str = field(default="", metadata={"doc": "Where the result is written; the same field when absent."})


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeBase64FieldConfig(ProcessorConfig):
    """Decodes a field from base64."""

    name: ClassVar = "decode_base64_field"
    strict: ClassVar = True
    source: OneFieldConfig = field(
        metadata={"key": "field", "doc": "The field to decode and its target.", "missing": "name field.from"}
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecompressGzipFieldConfig(ProcessorConfig):
    """Decompresses a field from gzip, for example after `decode_base64_field`."""

    name: ClassVar = "decompress_gzip_field"
    strict: ClassVar = True
    source: OneFieldConfig = field(
        metadata={"key": "field", "doc": "The field to decompress and its target.", "missing": "name field.from"}
    )
    max_bytes: Size = field(
        default=10 * 1024 * 1024,
        metadata={
            "doc": "The largest decompressed value; a larger one is an error of the event, which is still shipped.",
            "unit": "bytes",
            "min": 1,
        },
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)


def _separator(text: str) -> Iterator[Finding]:
    if len(text) != 1:
        yield "", 'must be one character; write a tab as "\\t" in double quotes'
    elif text in '"\r\n':
        yield "", "cannot be a quote or the end of a line"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeCsvFieldsConfig(ProcessorConfig):
    """Parses fields as records of comma-separated values."""

    name: ClassVar = "decode_csv_fields"
    strict: ClassVar = True
    fields: dict[str, str] = field(
        metadata={"doc": "The field that the list of values is written to, by the field that is parsed."}
    )
    separator: str = field(default=",", metadata={"doc": "The character between values.", "check": _separator})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    overwrite_keys: bool = field(default=False, metadata={"doc": "Whether an existing target is overwritten."})
    trim_leading_space: bool = field(default=False, metadata={"doc": "Whether blanks before a value are removed."})
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def check(self) -> Iterator[Finding]:
        if not self.fields:
            yield "fields", "must not be empty"
        for name, target in self.fields.items():
            if not isinstance(target, str) or not target:
                yield f"fields.{name}", "must be the name of a field"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeDurationConfig(ProcessorConfig):
    """Converts a duration in Go's notation to a number; any other value stays as it is."""

    name: ClassVar = "decode_duration"
    source: str = field(metadata={"key": "field", "check": not_blank, "doc": "The field, as in 1m30s."})
    format: Literal["milliseconds", "seconds", "minutes", "hours"] = field(
        default="milliseconds", metadata={"doc": "The unit of the number."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeJsonFieldsConfig(ProcessorConfig):
    """Parses fields that contain JSON."""

    name: ClassVar = "decode_json_fields"
    strict: ClassVar = True
    fields: tuple[str, ...] = field(metadata={"check": without_blanks, "doc": "The fields."})
    process_array: bool = field(
        default=False, metadata={"doc": "Whether max_depth also applies to texts that contain, or are in, arrays."}
    )
    max_depth: int = field(
        default=1, metadata={"doc": "How many levels of JSON within texts of JSON are decoded.", "min": 1, "max": 100}
    )
    target: str | None = field(
        default=None,
        metadata={"doc": "Where the result is written; the same field when absent, the event itself when empty."},
    )
    overwrite_keys: bool = field(
        default=False, metadata={"doc": "With an empty target: whether existing fields are overwritten."}
    )
    expand_keys: bool = field(
        default=False, metadata={"doc": "With an empty target: whether keys with dots are expanded into objects."}
    )
    add_error_key: bool = field(
        default=False,
        metadata={
            "doc": "Whether an event whose field is not JSON gets an error: error.message, error.field and error.data, "
            "the first 1,000 characters of the field."
        },
    )
    document_id: str = field(default="", metadata={"doc": "A key whose text is moved to @metadata._id."})

    def may_set(self, root: str) -> bool:
        return self.target == "" or (self.target or "").partition(".")[0] == root


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeCefConfig(ProcessorConfig):
    """Parses messages in Common Event Format (version 25). What precedes `CEF:` is ignored. A value that cannot be
    parsed is an error of the event, and the others are written."""

    name: ClassVar = "decode_cef"
    source: str = field(
        default="message", metadata={"key": "field", "check": not_blank, "doc": "The field that is decoded."}
    )
    target_field: str = field(
        default="cef", metadata={"doc": "The object that the result is written to; the event itself when empty."}
    )
    ecs: bool = field(
        default=True,
        metadata={"doc": "Whether fields of Elastic Common Schema are written too, `message` among them."},
    )
    timezone: Timezone = field(default="UTC", metadata={"doc": "The time zone of times that have none."})
    ignore_empty_values: bool = field(
        default=False, metadata={"doc": "Whether extensions with an empty value are left out."}
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    ignore_failure: bool = field(default=False, metadata=IGNORE_FAILURE)
    id: str = field(default="", metadata={"doc": "A name for this processor, for readers of the configuration."})


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeXmlConfig(ProcessorConfig):
    """Parses a field that contains XML. Entities are not expanded: a document that declares its own is an error of the
    event, as is one of more than 200 levels or 100,000 elements and attributes."""

    name: ClassVar = "decode_xml"
    strict: ClassVar = True
    source: str = field(
        default="message", metadata={"key": "field", "check": not_blank, "doc": "The field that is decoded."}
    )
    target_field: str | None = field(
        default=None,
        metadata={"doc": "Where the result is written; the same field when absent, the event itself when empty."},
    )
    overwrite_keys: bool = field(
        default=True, metadata={"doc": "With an empty target_field: whether existing fields are overwritten."}
    )
    to_lower: bool = field(
        default=True, metadata={"doc": "Whether the names of elements and attributes are changed to lower case."}
    )
    document_id: str = field(default="", metadata={"doc": "An element or attribute that is moved to @metadata._id."})
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    ignore_failure: bool = field(default=False, metadata=IGNORE_FAILURE)

    def may_set(self, root: str) -> bool:
        return True


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
    destination_port: str = field(
        default="destination.port", metadata={"doc": "The field with the destination's port."}
    )
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
