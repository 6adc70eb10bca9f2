"""`codec` of an output. Records are always JSON, as the contract with their readers says."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

UNUSED_CODEC: dict[str, Any] = {
    "doc": "Accepted and not used.",
    "unused": "the record is JSON as the shipper writes it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonCodec:
    pretty: bool = field(default=False, metadata={"doc": "Accepted and not used."})
    escape_html: bool = field(default=False, metadata={"doc": "Accepted and not used."})


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecConfig:
    not_yet: ClassVar = {
        "format": "records are JSON: without log.file.id and log.offset readers could not recognise duplicates"
    }
    json: JsonCodec = field(default_factory=JsonCodec)
