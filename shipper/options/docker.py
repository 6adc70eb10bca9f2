"""The address of a Docker daemon: options of the processor add_docker_metadata and the provider docker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.config.text.secrets import Secret

DEFAULT_HOST = "unix:///var/run/docker.sock"
HOST: dict[str, Any] = {
    "doc": "The Docker API: unix:///path/to/socket or tcp://host:port. Empty: no requests to Docker."
}
SSL: dict[str, Any] = {"doc": "TLS for `host: tcp://...`."}


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerTlsConfig:
    certificate_authority: str | None = field(
        default=None,
        metadata={"doc": "CA file to trust; the system's CAs when absent.", "check": not_blank},
    )
    certificate: str | None = field(
        default=None, metadata={"doc": "File with the client certificate.", "check": not_blank}
    )
    key: Secret | None = field(
        default=None, metadata={"doc": "File with the private key of `certificate`.", "check": not_blank}
    )

    def check(self) -> Iterator[Finding]:
        for name, other in (("certificate", "key"), ("key", "certificate")):
            if getattr(self, name) and not getattr(self, other):
                yield name, f"also needs {other}"


@dataclass(frozen=True, slots=True)
class DockerHost:
    """The path of a socket, or a host and port."""

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
        raise ValueError(f"{text!r} has no valid port; {right}") from None
    if parts.scheme == "unix" and parts.path.startswith("/") and not parts.netloc:
        return DockerHost(socket=parts.path)
    if parts.scheme in ("tcp", "http", "https") and parts.hostname and port and parts.path in ("", "/"):
        return DockerHost(host=parts.hostname, port=port)
    if parts.scheme == "npipe":
        raise ValueError(f"{text!r} is a Windows named pipe, which is not supported; {right}")
    raise ValueError(f"{text!r} is not an address of Docker; {right}")


def check_access(host: str, ssl: DockerTlsConfig | None) -> Iterator[Finding]:
    """Yield what is wrong with `host`, and with `ssl` together with it."""
    if not host:
        return
    try:
        where = docker_host(host)
    except ValueError as error:
        yield "host", str(error)
        return
    if ssl is not None and where.socket:
        yield "ssl", f"applies only to tcp:// hosts; {host} is a local socket"
    if ssl is None and host.startswith("https:"):
        yield "host", "https needs a section ssl; an empty one trusts the system's CAs"
