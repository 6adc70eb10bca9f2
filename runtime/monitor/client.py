"""Asks a running shipper or sink by HTTP, over its unix socket or an address."""

import math
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPException, HTTPResponse, IncompleteRead, RemoteDisconnected
from pathlib import Path
from urllib.parse import urlsplit

from log_shipper.runtime.http import Address, Connection, Place, TooLarge, UnixSocket

MAX_BYTES = 64 * 1024 * 1024  # of an answer that is read as a whole, and of a line of one that is not
MAX_SECONDS = 60.0  # seconds for an answer that is read as a whole
MAX_ERROR_BYTES = 2000  # bytes of an error's text


class Refused(Exception):
    """An answer with another status than 200. The text is the server's, on one line; empty where it is a page, and not
    words."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class NotHttp(OSError):
    """What answers is no HTTP server, or its answer breaks off; the text is a part of a sentence."""


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


@contextmanager
def opened(place: Place, path: str, timeout: float, longest: float = math.inf) -> Iterator[Connection]:
    """Give the connection with the answer to a GET, which is read in the block. Seconds are `timeout` for each step,
    connecting and each read, and `longest` for all of them.

    Raises OSError where the server cannot be reached or does not answer, and Refused.
    """
    with closing(Connection(place, timeout)) as connection:
        try:
            answer = connection.ask(path, until=time.monotonic() + longest)
            if answer.status != 200:
                raise Refused(answer.status, _words(answer))
            yield connection
        except RemoteDisconnected as error:
            raise NotHttp("the connection is closed without an answer") from error
        except IncompleteRead as error:
            raise NotHttp("the answer is not complete") from error
        except TooLarge as error:
            raise NotHttp(f"the answer has more than {MAX_BYTES} bytes") from error
        except HTTPException as error:
            raise NotHttp("the answer is not one of HTTP") from error


def _words(answer: HTTPResponse) -> str:
    """Return the reason for a refusal: the body, or where the answer leads instead."""
    target = answer.getheader("Location")
    if target is not None:
        return f"it leads to {target}"
    if "html" in answer.getheader("Content-Type", "").lower():
        return ""
    return " ".join(answer.read(MAX_ERROR_BYTES).decode("utf-8", "replace").split())


def get(place: Place, path: str, timeout: float = 5.0) -> bytes:
    """Return the body of the answer. Raises as `opened`."""
    with opened(place, path, timeout, MAX_SECONDS) as connection:
        return connection.body(MAX_BYTES)
