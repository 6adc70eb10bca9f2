"""Queries a running shipper or sink by HTTP, over its unix socket or an address."""

import math
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPException, HTTPResponse, IncompleteRead, RemoteDisconnected
from pathlib import Path
from urllib.parse import urlsplit

from log_shipper.runtime.http import Address, Connection, Place, TooLarge, UnixSocket

MAX_BYTES = 64 * 1024 * 1024  # of a whole response, and of a line of a streamed one
MAX_SECONDS = 60.0  # seconds for a whole response
MAX_ERROR_BYTES = 2000  # bytes of an error's text


class Refused(Exception):
    """Raised for a response with a status other than 200. The text is the server's, on one line; empty if it is
    HTML."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class NotHttp(OSError):
    """Raised if the server does not speak HTTP, or its response ends early; the text is a part of a sentence."""


def place_of(url: str) -> Place:
    """Return the address of http://host:port, https://host or unix:///path. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme == "unix" and parts.path:
        return UnixSocket(Path(parts.path))
    if parts.scheme in ("http", "https") and parts.hostname:
        parts.hostname.encode("idna")  # raises ValueError for an impossible host
        secure = parts.scheme == "https"
        return Address(parts.hostname, parts.port or (443 if secure else 80), parts.path.rstrip("/"), secure)
    raise ValueError(f"{url!r} is not a URL; write http://host:5066, or unix:///path/to/shipper.sock")


@contextmanager
def opened(place: Place, path: str, timeout: float, max_seconds: float = math.inf) -> Iterator[Connection]:
    """Give the connection with the response to a GET, which the block reads. Time limits in seconds: `timeout` for each
    step (connecting and each read), and `max_seconds` for all of them.

    Raises OSError if the server is unreachable or does not respond, and Refused.
    """
    with closing(Connection(place, timeout)) as connection:
        try:
            answer = connection.ask(path, until=time.monotonic() + max_seconds)
            if answer.status != 200:
                raise Refused(answer.status, _words(answer))
            yield connection
        except RemoteDisconnected as error:
            raise NotHttp("the connection was closed without a response") from error
        except IncompleteRead as error:
            raise NotHttp("the response is incomplete") from error
        except TooLarge as error:
            raise NotHttp(f"the response is larger than {MAX_BYTES} bytes") from error
        except HTTPException as error:
            raise NotHttp("the response is not HTTP") from error


def _words(answer: HTTPResponse) -> str:
    """Return the reason for a refusal: the body, or the target of a redirection."""
    target = answer.getheader("Location")
    if target is not None:
        return f"it redirects to {target}"
    if "html" in answer.getheader("Content-Type", "").lower():
        return ""
    return " ".join(answer.read(MAX_ERROR_BYTES).decode("utf-8", "replace").split())


def get(place: Place, path: str, timeout: float = 5.0) -> bytes:
    """Return the body of the response. Raises as `opened`."""
    with opened(place, path, timeout, MAX_SECONDS) as connection:
        return connection.body(MAX_BYTES)
