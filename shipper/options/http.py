"""`http`: the interface for status and metrics of the running shipper."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import ClassVar

from log_shipper.config.text.checks import Finding, not_blank
from log_shipper.shipper.options import filebeat

SOCKET = "unix://"
HTTP = "http://"  # an optional prefix, as in Filebeat
SOCKET_FILE = "shipper.sock"  # below path.data


def address(host: str) -> Iterator[Finding]:
    yield from not_blank(host)
    if host.startswith("npipe://"):
        yield "", "is a Windows named pipe; use localhost, or unix:///path for a socket"
    elif host.startswith(SOCKET) and not PurePath(host.removeprefix(SOCKET)).is_absolute():
        yield "", "must be an absolute path, as in unix:///run/shipper/http.sock"
    elif "://" in host.removeprefix(HTTP) and not host.startswith(SOCKET):
        yield "", "must be only a host name or address, as in localhost; set the port with http.port"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpConfig:
    as_in: ClassVar = "http: {enabled: true}"
    ignored: ClassVar = filebeat.HTTP_IGNORED
    since: ClassVar = "0.3"
    enabled: bool = field(
        default=False,
        metadata={"doc": "Serves status, metrics and probes over HTTP. With `--once`, only if set explicitly."},
    )
    host: str = field(
        default="localhost",
        metadata={
            "doc": "The address to listen on: 0.0.0.0 for all interfaces, or unix:///path for a socket that only the "
            "shipper's user may open.",
            "check": address,
        },
    )
    port: int = field(default=5066, metadata={"doc": "The port; 0 picks a free one.", "min": 0, "max": 65535})
    socket: bool = field(
        default=True,
        metadata={
            "doc": "Also serves status and metrics on shipper.sock in path.data, for `shipper top` and `shipper tap`. "
            "Only the shipper's user may open it."
        },
    )

    def converted(self) -> "HttpConfig":
        return replace(self, host=self.host.removeprefix(HTTP))

    @property
    def socket_path(self) -> str | None:
        """Return the path if `host` is a unix socket."""
        return self.host.removeprefix(SOCKET) if self.host.startswith(SOCKET) else None
