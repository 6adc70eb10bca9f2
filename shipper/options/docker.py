"""Where a Docker daemon is: options that the processor add_docker_metadata and the provider docker share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.secrets import Secret

DEFAULT_HOST = "unix:///var/run/docker.sock"
HOST: dict[str, Any] = {
    "doc": "Where Docker is: unix:///path of its socket, or tcp://host:port. With an empty text it is not asked."
}
SSL: dict[str, Any] = {"doc": "TLS of a Docker at tcp://."}


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerTlsConfig:
    certificate_authority: str | None = field(
        default=None,
        metadata={"doc": "A file with the authorities that are trusted; the system's when absent.", "check": not_blank},
    )
    certificate: str | None = field(
        default=None, metadata={"doc": "A file with the agent's certificate.", "check": not_blank}
    )
    key: Secret | None = field(
        default=None, metadata={"doc": "A file with the key of `certificate`.", "check": not_blank}
    )

    def check(self) -> Iterator[Finding]:
        for name, other in (("certificate", "key"), ("key", "certificate")):
            if getattr(self, name) and not getattr(self, other):
                yield name, f"needs {other}, too"


@dataclass(frozen=True, slots=True)
class DockerHost:
    """The path of a socket, or a host with a port."""

    socket: str = ""
    host: str = ""
    port: int = 0


def docker_host(text: str) -> DockerHost:
    """Parse the option `host`. Raises ValueError."""
    right = "write unix:///var/run/docker.sock, or tcp://host:2375"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError(f"{text!r} has no port that is a number; {right}") from None
    if parts.scheme == "unix" and parts.path.startswith("/") and not parts.netloc:
        return DockerHost(socket=parts.path)
    if parts.scheme in ("tcp", "http", "https") and parts.hostname and port and parts.path in ("", "/"):
        return DockerHost(host=parts.hostname, port=port)
    if parts.scheme == "npipe":
        raise ValueError(f"{text!r} is a pipe of Windows, which is not supported; {right}")
    raise ValueError(f"{text!r} is not where a Docker can be; {right}")


def check_access(host: str, ssl: DockerTlsConfig | None) -> Iterator[Finding]:
    """Yield what is wrong with `host`, and with `ssl` beside it."""
    if not host:
        return
    try:
        where = docker_host(host)
    except ValueError as error:
        yield "host", str(error)
        return
    if ssl is not None and where.socket:
        yield "ssl", f"is for a Docker at tcp://; {host} is a socket of this machine"
    if ssl is None and host.startswith("https:"):
        yield "host", "https needs a section ssl; without any options in it the system's authorities are trusted"
