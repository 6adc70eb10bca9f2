"""`codec` of an output: the record is JSON, as the contract with whoever reads it says."""

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
    not_yet: ClassVar = {"format": "a record is JSON: without log.file.id and log.offset nobody could tell repeats"}
    json: JsonCodec = field(default_factory=JsonCodec)
