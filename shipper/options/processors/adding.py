"""Processors that add fields: options of add_fields, add_labels, add_tags, add_id, add_locale,
add_formatted_index, add_network_direction, append, now."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from log_shipper.config.text.checks import Finding, not_blank, without_blanks
from log_shipper.shipper.options.codec import format_string
from log_shipper.shipper.options.conditions import flat, network_faults
from log_shipper.shipper.options.processors.base import FAIL_ON_ERROR, IGNORE_MISSING, PROTECTED_FIELDS, ProcessorConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class AddFieldsConfig(ProcessorConfig):
    """Sets fields to fixed values."""

    name: ClassVar = "add_fields"
    strict: ClassVar = True
    fields: dict[str, Any] = field(metadata={"doc": "The fields; existing fields are overwritten."})
    target: str = field(
        default="fields", metadata={"doc": "The object that the fields are added to; '' for the event itself."}
    )

    def remarks(self) -> Iterator[Finding]:
        if isinstance(self.fields.get("when"), dict):
            yield (
                "fields",
                "'when' is read as a field here; to make it a condition, put it beside 'fields', not below it",
            )
        below = f"{self.target}." if self.target else ""
        for name in (f"{below}{name}" for name, _ in flat(self.fields)):
            if name in PROTECTED_FIELDS:
                yield "fields", f"{name} stays as it is: duplicates of an event are recognised by it"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddLabelsConfig(ProcessorConfig):
    """Sets labels to fixed values: members of `labels` without objects, names joined by dots."""

    name: ClassVar = "add_labels"
    strict: ClassVar = True
    labels: dict[str, Any] = field(metadata={"doc": "The labels; items of a list are named by their index."})


@dataclass(frozen=True, slots=True, kw_only=True)
class AddTagsConfig(ProcessorConfig):
    """Appends tags to the existing ones."""

    name: ClassVar = "add_tags"
    strict: ClassVar = True
    tags: tuple[str, ...] = field(metadata={"check": without_blanks, "doc": "The tags."})
    target: str = field(default="tags", metadata={"check": not_blank, "doc": "The field that the tags are added to."})


@dataclass(frozen=True, slots=True, kw_only=True)
class AddIdConfig(ProcessorConfig):
    """Adds an id to each event. It is derived from log.file.id and log.offset: an event that is sent twice has the same
    id."""

    name: ClassVar = "add_id"
    target_field: str = field(
        default="@metadata._id", metadata={"check": not_blank, "doc": "The field that the id is written to."}
    )
    type: Literal["elasticsearch"] = field(
        default="elasticsearch", metadata={"doc": "The form of the id: twenty characters, safe in URLs."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AddLocaleConfig(ProcessorConfig):
    """Sets event.timezone to this machine's time zone."""

    name: ClassVar = "add_locale"
    format: Literal["offset", "abbreviation"] = field(
        default="offset", metadata={"doc": "`offset` as in +02:00, or the `abbreviation` as in CEST."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendConfig(ProcessorConfig):
    """Appends values to a list; a value that is not a list becomes the first item of one."""

    name: ClassVar = "append"
    target_field: str = field(metadata={"check": not_blank, "doc": "The list."})
    fields: tuple[str, ...] = field(
        default=(), metadata={"doc": "Fields whose values are appended; the items of a list one by one."}
    )
    values: tuple[Any, ...] = field(default=(), metadata={"doc": "Fixed values that are appended after these."})
    ignore_empty_values: bool = field(default=False, metadata={"doc": "Whether empty texts and nulls are skipped."})
    allow_duplicate: bool = field(
        default=True, metadata={"doc": "Whether a value is appended that the list already contains."}
    )
    ignore_missing: bool = field(default=False, metadata=IGNORE_MISSING)
    fail_on_error: bool = field(default=True, metadata=FAIL_ON_ERROR)

    def check(self) -> Iterator[Finding]:
        if not self.fields and not self.values:
            yield "", "needs 'fields' or 'values' to append"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddFormattedIndexConfig(ProcessorConfig):
    """Sets @metadata.raw_index, the index of Elasticsearch that an event is for."""

    name: ClassVar = "add_formatted_index"
    strict: ClassVar = True
    index: str = field(metadata={"check": format_string, "doc": "The index: a format string."})


@dataclass(frozen=True, slots=True, kw_only=True)
class NowConfig(ProcessorConfig):
    """Sets a field to the time at which the event is processed. An event that is sent twice has two such times."""

    name: ClassVar = "now"
    strict: ClassVar = True
    target: str = field(metadata={"key": "field", "check": not_blank, "doc": "The field."})


@dataclass(frozen=True, slots=True, kw_only=True)
class AddNetworkDirectionConfig(ProcessorConfig):
    """Adds the direction of a flow: inbound, outbound, internal or external, by which of its ends are in the internal
    networks. An event without two addresses is not changed."""

    name: ClassVar = "add_network_direction"
    source: str = field(default="source.ip", metadata={"check": not_blank, "doc": "The field with the source."})
    destination: str = field(
        default="destination.ip", metadata={"check": not_blank, "doc": "The field with the destination."}
    )
    target: str = field(
        default="network.direction", metadata={"check": not_blank, "doc": "The field that the direction is written to."}
    )
    internal_networks: tuple[str, ...] = field(
        metadata={
            "check": without_blanks,
            "doc": "The internal networks, each in CIDR notation or by one of the names of the condition `network`.",
        }
    )

    def check(self) -> Iterator[Finding]:
        for index, network in enumerate(self.internal_networks):
            yield from ((f"internal_networks[{index}]", fault) for fault in network_faults(network))
