"""Asks a running shipper or sink by HTTP, over its unix socket or an address."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import (
    HTTPConnection,
    HTTPException,
    HTTPResponse,
    HTTPSConnection,
    IncompleteRead,
    RemoteDisconnected,
)
from pathlib import Path
from urllib.parse import urlsplit

from log_shipper.runtime.monitor.sockets import check_length

MOST_BYTES = 64 * 1024 * 1024  # of an answer that is read as a whole
MOST_WORDS = 2000  # bytes of an error's text


class Refused(Exception):
    """An answer with another status than 200. The text is the server's, on one line; empty where it is a page, and not
    words."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class NotHttp(OSError):
    """What answers is no HTTP server, or its answer breaks off; the text is a part of a sentence."""


@dataclass(frozen=True, slots=True)
class UnixSocket:
    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def connection(self, timeout: float) -> HTTPConnection:
        return _UnixConnection(self.path, timeout)

    def below(self, path: str) -> str:
        return path


@dataclass(frozen=True, slots=True)
class Address:
    """`base` is the path below which the server is, without a slash at its end."""

    host: str
    port: int
    base: str = ""
    is_secure: bool = False

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_secure else 'http'}://{host}:{self.port}{self.base}"

    def connection(self, timeout: float) -> HTTPConnection:
        return (HTTPSConnection if self.is_secure else HTTPConnection)(self.host, self.port, timeout=timeout)

    def below(self, path: str) -> str:
        return f"{self.base}{path}"


Place = UnixSocket | Address


def place_of(url: str) -> Place:
    """Return where http://host:port, https://host or unix:///path leads. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme == "unix" and parts.path:
        return UnixSocket(Path(parts.path))
    if parts.scheme in ("http", "https") and parts.hostname:
        parts.hostname.encode("idna")  # raises a ValueError for what can be no host
        secure = parts.scheme == "https"
        return Address(parts.hostname, parts.port or (443 if secure else 80), parts.path.rstrip("/"), secure)
    raise ValueError(f"{url!r} is not a URL; write http://host:5066, or unix:///path/to/shipper.sock")


class _UnixConnection(HTTPConnection):
    def __init__(self, path: Path, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        check_length(self._path)
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.settimeout(self.timeout)
            self.sock.connect(str(self._path))
        except OSError:
            self.sock.close()
            raise


@contextmanager
def opened(place: Place, path: str, timeout: float) -> Iterator[HTTPResponse]:
    """Give the answer to a GET, to be read in the block. `timeout`: seconds for each step, connecting and each read.

    Raises OSError where the server cannot be reached or does not answer, and Refused.
    """
    with closing(place.connection(timeout)) as connection:
        try:
            connection.request("GET", place.below(path))
            with connection.getresponse() as response:
                if response.status != 200:
                    raise Refused(response.status, _words(response))
                yield response
        except RemoteDisconnected as error:
            raise NotHttp("the connection is closed without an answer") from error
        except IncompleteRead as error:
            raise NotHttp("the answer is not complete") from error
        except HTTPException as error:
            raise NotHttp("the answer is not one of HTTP") from error


def _words(response: HTTPResponse) -> str:
    """Return the reason for a refusal: the body, or where the answer leads instead."""
    target = response.getheader("Location")
    if target is not None:
        return f"it leads to {target}"
    if "html" in response.getheader("Content-Type", "").lower():
        return ""
    return " ".join(response.read(MOST_WORDS).decode("utf-8", "replace").split())


def get(place: Place, path: str, timeout: float = 5.0) -> bytes:
    """Return the body of the answer. Raises as `opened`."""
    with opened(place, path, timeout) as response:
        body = response.read(MOST_BYTES + 1)
    if len(body) > MOST_BYTES:
        raise NotHttp(f"the answer has more than {MOST_BYTES} bytes")
    return body
