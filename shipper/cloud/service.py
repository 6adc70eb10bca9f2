"""Requests to a metadata service, which may be anything with this address in a network that is not a cloud.

Therefore, each response has a size limit, and all responses together a time limit. No proxy is used: link-local
addresses of a proxy are not this machine's.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import orjson

from log_shipper.runtime.http import FAILURES, Address, Connection, TooLarge
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import ShipperError
from log_shipper.shipper.event import Doc

LINK_LOCAL = "169.254.169.254"
MAX_BYTES = 1024**2  # a Google Cloud machine may have 512 kB of metadata
# An id, a name, a zone. Excludes pages that a gateway returns for everything.
_TEXT = re.compile(r"[^\x00-\x1f\x7f<>]{1,256}")


class NoMetadata(ShipperError):
    """Raised when a service does not respond, or not as documented."""


def is_name(text: str) -> bool:
    """Return True if the text is plausible metadata of a machine: it is added to every event."""
    return _TEXT.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Service:
    """A metadata service; `deadline` is monotonic, and applies to all requests."""

    host: str
    deadline: float
    clock: Clock
    tls: ssl.SSLContext | None = None

    def until(self, deadline: float) -> Service:
        """Return the same with an earlier deadline."""
        return replace(self, deadline=min(deadline, self.deadline))

    def get(self, path: str, headers: Mapping[str, str] = {}) -> bytes:
        """Return the body of the response. Raises NoMetadata."""
        return self._request("GET", path, headers)

    def put(self, path: str, headers: Mapping[str, str] = {}) -> bytes:
        """Return the body of the response. Raises NoMetadata."""
        return self._request("PUT", path, headers)

    def text(self, path: str, headers: Mapping[str, str] = {}) -> str:
        """Return a response of one line. Raises NoMetadata."""
        text = self.get(path, headers).decode("utf-8", "replace").strip()
        if not is_name(text):
            raise NoMetadata(f"{path} is not a valid name: {text[:50]!r}")
        return text

    def document(self, path: str, headers: Mapping[str, str] = {}) -> Doc:
        """Return a response that is a JSON object. Raises NoMetadata."""
        try:
            document = orjson.loads(self.get(path, headers))
        except ValueError as error:
            raise NoMetadata(f"{path} is not JSON: {error}") from error
        if not isinstance(document, dict):
            raise NoMetadata(f"{path} is not a JSON object")
        return document

    def _request(self, method: str, path: str, headers: Mapping[str, str]) -> bytes:
        try:
            with closing(Connection(self._address(), self._remaining(), self.clock.monotonic)) as connection:
                answer = connection.ask(path, headers, method, self.deadline)
                if answer.status != 200:
                    raise NoMetadata(f"{path}: status {answer.status}")
                body = connection.body(MAX_BYTES)
        except TooLarge as error:
            raise NoMetadata(f"{path}: more than {MAX_BYTES} bytes") from error
        except FAILURES as error:
            raise NoMetadata(f"{path}: {error!r}") from error
        if answer.length:
            raise NoMetadata(f"{path}: response truncated after {len(body)} bytes")
        return body

    def _address(self) -> Address:
        parts, tls = urlsplit(f"//{self.host}"), self.tls
        host = parts.hostname or ""
        if tls is None:
            return Address(host, parts.port or 80)
        return Address(host, parts.port or 443, is_secure=True, tls=lambda: tls)

    def _remaining(self) -> float:
        """Return the seconds until the deadline. Raises NoMetadata after it."""
        seconds = self.deadline - self.clock.monotonic()
        if seconds <= 0:
            raise NoMetadata("no response in time")
        return seconds
