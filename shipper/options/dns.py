"""Options of DNS look-ups: name servers and cache times."""

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import Finding
from log_shipper.config.text.units import Duration


@dataclass(frozen=True, slots=True)
class Nameserver:
    """A name server; `host` is an address, or a name that the system resolves."""

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
    is_address = _is_address(host)
    is_name = ":" not in host and not re.fullmatch(r"[\d.]*|.*\s.*", host)
    if not (is_address or is_name) or (port and not (port.isdecimal() and 0 < int(port) < 65536)):
        raise ValueError(f"{text!r} is not a name server; write ADDRESS or ADDRESS:PORT, with a port from 1 to 65535")
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
        default=10000, metadata={"key": "capacity.max", "doc": "Maximum number of cached answers.", "min": 1}
    )
    min_ttl: Duration = field(
        default=60.0,
        metadata={"doc": "The minimum time that an answer is cached, whatever its time to live."},
    )

    def check(self) -> Iterator[Finding]:
        if self.min_ttl <= 0:
            yield "min_ttl", "must be more than 0"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCacheConfig:
    ignored: ClassVar = SuccessCacheConfig.ignored
    enabled: bool = field(default=True, metadata={"doc": "Whether failures are cached."})
    capacity: int = field(
        default=10000, metadata={"key": "capacity.max", "doc": "Maximum number of cached failures.", "min": 1}
    )
    ttl: Duration = field(default=60.0, metadata={"doc": "How long a failure is cached."})

    def check(self) -> Iterator[Finding]:
        if self.ttl <= 0:
            yield "ttl", "must be more than 0"
