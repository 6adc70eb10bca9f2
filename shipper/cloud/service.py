"""Requests to a metadata service, which may be anything that has this address in a network that is not a cloud.

So an answer is bounded in size, all answers together in time, no redirection is followed, and no proxy is used: what is
link-local for a proxy is not what it is for this machine.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException, HTTPSConnection

import orjson

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import ShipperError
from log_shipper.shipper.event import Doc

LINK_LOCAL = "169.254.169.254"
MOST_BYTES = 1024**2  # a machine of Google Cloud may have 512 kB of metadata
# An id, a name, a zone. A page that some gateway answers to everything is none.
_TEXT = re.compile(r"[^\x00-\x1f\x7f<>]{1,256}")


class NoMetadata(ShipperError):
    """Raised when a service does not answer, or not as it documents."""


def is_name(text: str) -> bool:
    """True if a text can be what a service knows of a machine: events have it, each of them."""
    return _TEXT.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Service:
    """Where the requests go. `deadline` is monotonic, and for all of them."""

    host: str
    deadline: float
    clock: Clock
    tls: ssl.SSLContext | None = None

    def until(self, deadline: float) -> Service:
        """Return the same with an earlier deadline."""
        return replace(self, deadline=min(deadline, self.deadline))

    def get(self, path: str, headers: Mapping[str, str] = {}) -> bytes:
        """Return the body of the answer. Raises NoMetadata."""
        return self._request("GET", path, headers)

    def put(self, path: str, headers: Mapping[str, str] = {}) -> bytes:
        """Return the body of the answer. Raises NoMetadata."""
        return self._request("PUT", path, headers)

    def text(self, path: str, headers: Mapping[str, str] = {}) -> str:
        """Return an answer that is one line. Raises NoMetadata."""
        text = self.get(path, headers).decode("utf-8", "replace").strip()
        if not is_name(text):
            raise NoMetadata(f"{path} is not the name of anything: {text[:50]!r}")
        return text

    def document(self, path: str, headers: Mapping[str, str] = {}) -> Doc:
        """Return an answer that is a JSON object. Raises NoMetadata."""
        try:
            document = orjson.loads(self.get(path, headers))
        except ValueError as error:
            raise NoMetadata(f"{path} is not JSON: {error}") from error
        if not isinstance(document, dict):
            raise NoMetadata(f"{path} is not a JSON object")
        return document

    def _request(self, method: str, path: str, headers: Mapping[str, str]) -> bytes:
        connection = self._connection()
        try:
            connection.connect()
            connection.request(method, path, headers=dict(headers))
            return self._body(connection, path)
        except (OSError, HTTPException, ValueError) as error:
            raise NoMetadata(f"{path}: {error!r}") from error
        finally:
            connection.close()

    def _connection(self) -> HTTPConnection:
        if self.tls is not None:
            return HTTPSConnection(self.host, timeout=self._remaining(), context=self.tls)
        return HTTPConnection(self.host, timeout=self._remaining())

    def _body(self, connection: HTTPConnection, path: str) -> bytes:
        sock = connection.sock  # the connection no longer has it when the answer is the last one
        sock.settimeout(self._remaining())
        with connection.getresponse() as response:
            if response.status != 200:
                raise NoMetadata(f"{path}: status {response.status}")
            body = bytearray()
            while piece := response.read1(65536):
                body += piece
                if len(body) > MOST_BYTES:
                    raise NoMetadata(f"{path}: more than {MOST_BYTES} bytes")
                sock.settimeout(self._remaining())
            if response.length:  # read1 takes the end of a connection for the end of the answer
                raise NoMetadata(f"{path}: the answer breaks off after {len(body)} bytes")
            return bytes(body)

    def _remaining(self) -> float:
        """Return the seconds to the deadline. Raises NoMetadata if it has passed."""
        seconds = self.deadline - self.clock.monotonic()
        if seconds <= 0:
            raise NoMetadata("no answer in time")
        return seconds
