"""`add_host_metadata`: metadata of the host."""

import os
import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path as FilePath
from typing import Annotated, Any, ClassVar

import psutil

from log_shipper.config.text.checks import Finding
from log_shipper.config.text.units import parse_ttl
from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_fields import copied
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import Processor, ProcessorContext
from log_shipper.shipper.processor.events import Event, Events
from log_shipper.shipper.processor.fields import MISSING
from log_shipper.shipper.processor.metadata.facts import Facts, Sharing, leaves

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
    """Adds metadata of the host: name, operating system and addresses."""

    name: ClassVar = "add_host_metadata"
    example: ClassVar = "add_host_metadata: {netinfo.enabled: false, geo.name: rack-7}"
    netinfo: bool = field(
        default=True,
        metadata={"key": "netinfo.enabled", "doc": "Whether the host's addresses are added: host.ip and host.mac."},
    )
    ttl: Annotated[float, parse_ttl] = field(
        default=300.0,
        metadata={
            "key": "cache.ttl",
            "doc": "How long the metadata is cached; a negative value disables the cache.",
        },
    )
    replace_fields: bool = field(
        default=True,
        metadata={
            "doc": "Whether existing fields are overwritten; when false, an event with more than `host.name` "
            "below `host` is skipped."
        },
    )
    host_name: str | None = field(default=None, metadata={"key": "name", "doc": "The value of host.name."})
    geo: GeoConfig | None = field(default=None, metadata={"doc": "The location of the host, added as host.geo."})

    def build(self, context: ProcessorContext) -> Processor:
        return AddHostMetadata(self, context)


FAMILIES = {
    "redhat": ("redhat", "rhel", "fedora", "centos", "scientific", "oraclelinux", "ol", "amzn", "almalinux", "rocky"),
    "debian": ("debian", "ubuntu", "raspbian", "linuxmint"),
    "suse": ("suse", "sles", "opensuse", "opensuse-leap", "opensuse-tumbleweed"),
    "arch": ("arch", "antergos", "manjaro"),
}
MACHINE_IDS = ("etc/machine-id", "var/lib/dbus/machine-id", "var/db/dbus/machine-id")
CONTAINER_MARKS = (".dockerenv", "run/.containerenv")
CONTAINER_GROUPS = ("docker", "kubepods", "containerd", "crio", "libpod", "lxc", "garden")
HOST = frozenset({"host"})


class AddHostMetadata:
    def __init__(
        self, config: AddHostMetadataConfig, context: ProcessorContext, root: FilePath = FilePath("/")
    ) -> None:
        self._config = config
        self._clock = context.clock
        self._root = root
        self._sharing = Sharing(config.name, HOST, context.metrics)
        self._facts = Facts(self._sharing, self._read())
        self._fresh_until = self._clock.monotonic() + config.ttl

    def run(self, events: Events, indices: Sequence[int]) -> None:
        if self._clock.monotonic() >= self._fresh_until:
            self._refresh()
        self._sharing.run(events, indices, self._facts, self._apply)

    def _refresh(self) -> None:
        self._fresh_until = self._clock.monotonic() + self._config.ttl
        members = self._read()
        if members != self._facts.members:
            self._facts = Facts(self._sharing, members)

    def _apply(self, event: Event) -> None:
        before = event.get(("host",))
        if not self._config.replace_fields and isinstance(before, dict) and before.keys() - {"name"}:
            return
        if event.get(("host", "name")) is MISSING:
            event.put(("host", "name"), self._facts.members["hostname"])
        for path, value in leaves(self._facts.members, ("host",)):
            event.put(path, copied(value))

    def _read(self) -> Doc:
        kernel = os.uname()
        members: Doc = {"hostname": kernel.nodename, "architecture": kernel.machine}
        members["os"] = operating_system(self._root) | {"kernel": kernel.release}
        members["containerized"] = containerized(self._root)
        if identity := machine_id(self._root):
            members["id"] = identity
        if self._config.netinfo:
            members |= addresses()
        if self._config.host_name:
            members["name"] = self._config.host_name
        if self._config.geo is not None:
            members["geo"] = {
                name: value for name, value in asdict(self._config.geo).items() if value and value.strip()
            }
        return members


def operating_system(root: FilePath) -> Doc:
    """Return `host.os`, from os-release."""
    try:
        release = _os_release(root)
    except OSError:
        return {"type": "linux"}
    name = release.get("ID") or release.get("NAME", "").partition(" ")[0].lower()
    family = next((family for family, names in FAMILIES.items() if name.lower() in names), "")
    codename = release.get("VERSION_CODENAME") or next(
        (release[key] for key in release if key.endswith("CODENAME")), ""
    )
    members = {
        "type": "linux",
        "platform": name,
        "name": release.get("NAME", ""),
        "version": release.get("VERSION", ""),
        "family": family,
        "codename": codename,
        "build": release.get("BUILD_ID", ""),
    }
    return {key: value for key, value in members.items() if value}


def _os_release(root: FilePath) -> dict[str, str]:
    lines = (
        line.strip().partition("=") for line in (root / "etc/os-release").read_text("utf-8", "replace").splitlines()
    )
    return {key: value.strip("\"'") for key, equals, value in lines if equals and not key.startswith("#")}


def machine_id(root: FilePath) -> str:
    for name in MACHINE_IDS:
        try:
            return (root / name).read_text("ascii", "replace").strip()
        except OSError:
            continue
    return ""


def containerized(root: FilePath) -> bool:
    """Return True if the agent runs in a container."""
    if any((root / mark).exists() for mark in CONTAINER_MARKS):
        return True
    try:
        groups = (root / "proc/1/cgroup").read_text("utf-8", "replace")
    except OSError:
        return False
    return any(word in groups for word in CONTAINER_GROUPS)


def addresses() -> Doc:
    """Return `ip` and `mac` of all interfaces except loopback; MAC addresses are written as in ECS."""
    states = psutil.net_if_stats()
    ips: list[str] = []
    macs: list[str] = []
    for name, interface in psutil.net_if_addrs().items():
        if name in states and "loopback" in states[name].flags.split(","):
            continue
        ips += [
            address.address.partition("%")[0]
            for address in interface
            if address.family in (socket.AF_INET, socket.AF_INET6)
        ]
        macs += [address.address.replace(":", "-").upper() for address in interface if address.family == psutil.AF_LINK]
    known = {"ip": list(dict.fromkeys(ips)), "mac": sorted(set(macs) - {"00-00-00-00-00-00"})}
    return {name: values for name, values in known.items() if values}
