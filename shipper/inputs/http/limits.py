"""Limit the connections, bytes and seconds of clients."""

from dataclasses import dataclass, replace

from log_shipper.shipper.inputs.http.options import HttpInputConfig


@dataclass(frozen=True, slots=True)
class Patience:
    """The seconds and bytes that a client may take."""

    idle: float = 75.0  # between two requests: longer than clients and proxies keep a connection, which is mostly 60 s
    head: float = 10.0
    request: float = 60.0
    response: float = 10.0
    write: float = 10.0
    linger: float = 1.0
    head_bytes: int = 16 * 1024
    ahead_bytes: int = 64 * 1024  # of requests sent ahead of the response
    ignored_bytes: int = 1024 * 1024


@dataclass(frozen=True, slots=True)
class HttpLimits:
    connections: int
    retry_after: int
    patience: Patience


def patience_of(config: HttpInputConfig, patience: Patience) -> Patience:
    return replace(patience, request=config.request_timeout, response=config.response_timeout)
