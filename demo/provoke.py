"""Malformed requests to a broker: each makes it log an exception with a stack trace."""

import itertools
import socket
import struct
from collections.abc import Iterator

NO_SUCH_REQUEST = 9999
PRODUCE = 0
METADATA = 3


def request(api: int, version: int, client_length: int = 4) -> bytes:
    """Return a request's header without a body (kafka.apache.org/protocol: size, api, version, id, client)."""
    header = struct.pack(">hhih", api, version, 1, client_length) + b"demo"
    return struct.pack(">i", len(header)) + header


REQUESTS = (
    struct.pack(">i", 2**31 - 1) + bytes(16),  # InvalidReceiveException: larger than the maximum
    request(NO_SUCH_REQUEST, 0),  # InvalidRequestException: Unexpected api key
    request(PRODUCE, 7),  # InvalidRequestException, BufferUnderflowException: the body is missing
    request(METADATA, 12, client_length=200),  # InvalidRequestException: the header is truncated
)


def provocations() -> Iterator[bytes]:
    """Return the requests in turn, endlessly."""
    return itertools.cycle(REQUESTS)


def send(address: str, malformed: bytes, timeout: float = 2) -> None:
    """Send a request, and return when the broker has logged it and closed the connection. Raises OSError."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout) as connection:
        connection.sendall(malformed)
        while connection.recv(1024):
            pass
