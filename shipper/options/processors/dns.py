"""The processor `dns`, which queries name servers."""

import ipaddress
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from log_shipper.config.text.checks import Finding
from log_shipper.config.text.units import Duration
from log_shipper.shipper.options.processors.base import ProcessorConfig

_KINDS = {"a": "A", "aaaa": "AAAA", "ptr": "PTR", "reverse": "PTR", "txt": "TXT"}


def parse_kind(text: str) -> str:
    """Return the type of record. Raises ValueError."""
    kind = _KINDS.get(text.lower())
    if kind is None:
        raise ValueError(f"{text!r} must be one of: reverse (or PTR), A, AAAA, TXT")
    return kind


@dataclass(frozen=True, slots=True)
class Nameserver:
    """`host` is an address, or a name that the system resolves."""

    host: str
    port: int | None

    @property
    def is_address(self) -> bool:
        return _is_address(self.host)


def nameserver(text: str) -> Nameserver:
    """Parse `host`, `host:port` or `[address]:port`. Raises ValueError."""
    if _is_address(text):
        return Nameserver(text, None)
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, ""
    host = host.removeprefix("[").removesuffix("]")
    if not host or (":" in host and not _is_address(host)) or (colon and port and not port.isdecimal()):
        raise ValueError(f"{text!r} is not a name server; write an address, or address:port")
    return Nameserver(host, int(port) if port else None)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessCacheConfig:
    ignored: ClassVar = {"capacity.initial": "the cache grows as needed"}
    enabled: bool = field(default=True, metadata={"doc": "Whether answers are cached."})
    capacity: int = field(
        default=10000, metadata={"key": "capacity.max", "doc": "The most answers that are cached.", "min": 1}
    )
    min_ttl: Duration = field(
        default=60.0,
        metadata={"doc": "The shortest time that an answer is cached, if its own time to live is shorter."},
    )

    def check(self) -> Iterator[Finding]:
        if self.min_ttl <= 0:
            yield "min_ttl", "must be more than 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCacheConfig:
    ignored: ClassVar = SuccessCacheConfig.ignored
    enabled: bool = field(default=True, metadata={"doc": "Whether failures are cached."})
    capacity: int = field(
        default=10000, metadata={"key": "capacity.max", "doc": "The most failures that are cached.", "min": 1}
    )
    ttl: Duration = field(default=60.0, metadata={"doc": "How long a failure is cached."})

    def check(self) -> Iterator[Finding]:
        if self.ttl <= 0:
            yield "ttl", "must be more than 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsConfig(ProcessorConfig):
    """Looks up names of addresses, or addresses of names, in DNS."""

    name: ClassVar = "dns"
    awaits: ClassVar = True
    kind: Annotated[str, parse_kind] = field(
        metadata={"key": "type", "doc": "The type of query: reverse (or PTR), A, AAAA, TXT."}
    )
    fields: dict[str, str] = field(
        metadata={"doc": "The field that the answer is written to, by the field with the address (or the name)."}
    )
    action: Literal["append", "replace"] = field(
        default="append", metadata={"doc": "What happens to an existing target."}
    )
    nameservers: tuple[str, ...] = field(
        default=(),
        metadata={
            "doc": "Name servers in order of preference, as address or address:port; those of /etc/resolv.conf when "
            "absent."
        },
    )
    timeout: Duration = field(default=0.5, metadata={"doc": "How long to wait for an answer of each name server."})
    transport: Literal["udp", "tls"] = field(default="udp", metadata={"doc": "tls is DNS over TLS, port 853."})
    tag_on_failure: tuple[str, ...] = field(default=(), metadata={"doc": "Tags for an event with a failed lookup."})
    order: Literal["kept", "free"] = field(
        default="kept",
        metadata={"doc": "kept: later events of a file wait for a pending lookup; free: they overtake it."},
    )
    success_cache: SuccessCacheConfig = field(default_factory=SuccessCacheConfig)
    failure_cache: FailureCacheConfig = field(default_factory=FailureCacheConfig)

    def check(self) -> Iterator[Finding]:
        if not self.fields:
            yield "fields", "must not be empty"
        for source, target in self.fields.items():
            if not isinstance(target, str) or not target:
                yield f"fields.{source}", "must be the name of a field"
        if self.timeout <= 0:
            yield "timeout", "must be more than 0"
        for index, address in enumerate(self.nameservers):
            try:
                nameserver(address)
            except ValueError as error:
                yield f"nameservers[{index}]", str(error)
