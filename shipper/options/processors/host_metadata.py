"""Processors that add metadata of this host and its processes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.patterns import Pattern
from log_shipper.config.text.units import Duration, parse_ttl
from log_shipper.shipper.options.processors.base import ProcessorConfig

_LOCATION = re.compile(r"\s*-?\d+(\.\d+)?\s*,\s*-?\d+(\.\d+)?\s*")


def _place(doc: str) -> Any:
    return field(default=None, metadata={"doc": doc})


@dataclass(frozen=True, slots=True, kw_only=True)
class GeoConfig:
    name: str | None = _place("A name for the location, such as a rack in a data centre.")
    location: str | None = _place("Latitude and longitude, as in '40.7128, -74.0060'.")
    continent_name: str | None = _place("The continent's name.")
    country_name: str | None = _place("The country's name.")
    country_iso_code: str | None = _place("The country's ISO code.")
    region_name: str | None = _place("The region's name.")
    region_iso_code: str | None = _place("The region's ISO code.")
    city_name: str | None = _place("The city's name.")

    def check(self) -> Iterator[Finding]:
        if self.location and not _LOCATION.fullmatch(self.location):
            yield "location", "must be latitude, longitude, as in '40.7128, -74.0060'"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddHostMetadataConfig(ProcessorConfig):
    """Adds metadata of the host: its name, operating system and addresses."""

    name: ClassVar = "add_host_metadata"
    netinfo: bool = field(
        default=True, metadata={"key": "netinfo.enabled", "doc": "Adds the host's addresses: host.ip and host.mac."}
    )
    ttl: Annotated[float, parse_ttl] = field(
        default=300.0,
        metadata={
            "key": "cache.ttl",
            "doc": "How long the metadata is cached before it is read again; a negative value turns the cache off.",
        },
    )
    replace_fields: bool = field(
        default=True,
        metadata={
            "doc": "Whether existing fields are overwritten; when false, an event is skipped that has more of host "
            "than its name."
        },
    )
    host_name: str | None = field(default=None, metadata={"key": "name", "doc": "The value of host.name."})
    geo: GeoConfig | None = field(default=None, metadata={"doc": "The host's location, added as host.geo."})


PROCESS_FIELDS = (
    "process.name",
    "process.title",
    "process.executable",
    "process.args",
    "process.pid",
    "process.parent.pid",
    "process.start_time",
    "process.owner.name",
    "process.owner.id",
    "container.id",
)
RESTRICTED_FIELDS = ("process.env",)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddProcessMetadataConfig(ProcessorConfig):
    """Adds metadata of a running process, found by its id."""

    name: ClassVar = "add_process_metadata"
    match_pids: tuple[str, ...] = field(
        default=("process.pid", "process.parent.pid"),
        metadata={"doc": "Fields with a process id; the first that an event has is used."},
    )
    target: str = field(
        default="", metadata={"doc": "The object that the fields are added to; the event itself when absent."}
    )
    include_fields: tuple[str, ...] = field(
        default=("process", "container"),
        metadata={"doc": "Which fields are added: single fields, or all of process or container."},
    )
    ignore_missing: bool = field(
        default=True, metadata={"doc": "Whether an event without any of match_pids is skipped without an error."}
    )
    overwrite_keys: bool = field(
        default=False,
        metadata={
            "doc": "Whether existing fields are overwritten; when false, nothing is added and the event gets an error."
        },
    )
    restricted_fields: bool = field(
        default=False, metadata={"doc": "Adds process.env too, which often contains secrets."}
    )
    host_path: str = field(
        default="/", metadata={"doc": "Where the host's file system, with /proc, is mounted.", "check": not_blank}
    )
    cgroup_prefixes: tuple[str, ...] = field(
        default=(), metadata={"doc": "Parents of control groups that are named after their container."}
    )
    cgroup_regex: Pattern | None = field(
        default=None,
        metadata={"doc": "A regular expression whose group is the container's id in the path of a control group."},
    )
    cgroup_cache_expire_time: Duration = field(
        default=30.0, metadata={"doc": "How long the metadata of a process is cached."}
    )

    def check(self) -> Iterator[Finding]:
        known = (*PROCESS_FIELDS, *(RESTRICTED_FIELDS if self.restricted_fields else ()))
        for index, wanted in enumerate(self.include_fields):
            if not any(name == wanted or name.startswith(f"{wanted}.") for name in known):
                restricted = wanted in RESTRICTED_FIELDS
                hint = "it needs restricted_fields: true" if restricted else f"known: {', '.join(known)}"
                yield f"include_fields[{index}]", f"unknown field {wanted!r}; {hint}"
        if not self.match_pids:
            yield "match_pids", "must not be empty"
        if self.cgroup_regex is not None and self.cgroup_prefixes:
            yield "cgroup_regex", "give it or cgroup_prefixes, not both"

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the fields to add, without `target`."""
        known = (*PROCESS_FIELDS, *(RESTRICTED_FIELDS if self.restricted_fields else ()))
        wanted = self.include_fields
        return tuple(
            name for name in known if any(name == prefix or name.startswith(f"{prefix}.") for prefix in wanted)
        )
