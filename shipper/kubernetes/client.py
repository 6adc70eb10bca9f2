"""Sends requests to an API server over HTTP/1.1, and translates all failures into ApiError.

Everything is limited: the time of a connection, response and silence, and the size of a response and event. Nothing
else in the agent waits for it, because it runs on its own threads.
"""

import contextlib
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.parse import urlencode

import orjson

from log_shipper import VERSION
from log_shipper.runtime.http import FAILURES, Connection, TooLarge
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Doc
from log_shipper.shipper.kubernetes.access import ApiAccess
from log_shipper.shipper.kubernetes.api_error import ApiError, Kind

MAX_ERROR_LENGTH = 500  # characters of the server's error message
JSON = "application/json"
METADATA_ONLY = f"{JSON};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{JSON}"
_KINDS: dict[int, Kind] = {401: "unauthorized", 403: "forbidden", 410: "expired", 429: "throttled"}
_BROKEN = (ssl.SSLEOFError, ssl.SSLZeroReturnError)
_NO_PARAMETERS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits. `timeout`: seconds for a connection, and between two parts of a response; `max_seconds`: for a whole
    response. `answer` and `event` are bytes; etcd refuses objects above 1.5 MiB.
    """

    timeout: float = 10.0
    max_seconds: float = 60.0
    answer: int = 64 * 1024**2
    event: int = 8 * 1024**2


LIMITS = RequestLimits()


class Client:
    """A client, used by one thread, except `interrupt`."""

    def __init__(self, access: ApiAccess, clock: Clock, limits: RequestLimits = LIMITS) -> None:
        self._access = access
        self._clock = clock
        self._limits = limits
        self._connection = Connection(access.address, limits.timeout, clock.monotonic)

    @property
    def is_closed(self) -> bool:
        return self._connection.is_interrupted

    def get(self, path: str, parameters: Mapping[str, str] = _NO_PARAMETERS, accept: str = JSON) -> Doc:
        """Return the object, or the page of a list. Raises ApiError."""
        max_bytes = self._limits.answer
        with self._translated(path, f"the response for {path} is larger than {max_bytes} bytes"):
            answer = self._answer(path, parameters, accept)
            body = self._connection.body(max_bytes)
            if answer.status != 200:
                raise _refusal(answer, body)
            return _document(body, path)

    def watch(
        self, path: str, parameters: Mapping[str, str], silence: float, answered: Callable[[], None] = lambda: None
    ) -> Iterator[Doc]:
        """Yield the events of a watch until the server ends it; before the first one, which may take long, `answered`
        is called. Raises ApiError, also after `silence` seconds without data.
        """
        max_bytes = self._limits.event
        with self._translated(path, f"a watch event for {path} is larger than {max_bytes} bytes"):
            answer = self._answer(path, parameters, JSON)
            if answer.status != 200:
                raise _refusal(answer, self._connection.body(self._limits.answer))
            answered()
            try:
                for line in self._connection.lines(max_bytes, silence):
                    if line.strip():
                        yield _document(line, path)
            finally:
                self._connection.close()  # the rest of the response would be taken for the next one

    def interrupt(self) -> None:
        """Abort the request in flight with an ApiError, and refuse all later ones. Callable from any thread."""
        self._connection.interrupt()

    def close(self) -> None:
        self._connection.interrupt()
        self._connection.close()

    def _answer(self, path: str, parameters: Mapping[str, str], accept: str) -> HTTPResponse:
        """Send a request; repeat it if the server closed the kept connection, or if the token was replaced."""
        token = self._bearer()
        kept = self._connection.is_open
        try:
            answer = self._sent(path, parameters, accept, token)
        except (ConnectionError, HTTPException):
            self._connection.close()
            if not kept:
                raise
            answer = self._sent(path, parameters, accept, token)
        if answer.status == 401 and (renewed := self._bearer()) != token:
            self._connection.close()
            answer = self._sent(path, parameters, accept, renewed)
        return answer

    def _bearer(self) -> str:
        token = self._access.bearer()
        if not (token.isascii() and token.isprintable()):  # http.client would show it in its own error
            raise ApiError(
                "unauthorized", f"{self._access.token_file or self._access.source} does not contain a valid token"
            )
        return token

    def _sent(self, path: str, parameters: Mapping[str, str], accept: str, token: str) -> HTTPResponse:
        headers = {"Accept": accept, "User-Agent": f"kafka-log-shipper/{VERSION}"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        query = f"?{urlencode(parameters)}" if parameters else ""
        until = self._clock.monotonic() + self._limits.max_seconds
        return self._connection.ask(f"{path}{query}", headers, until=until)

    @contextlib.contextmanager
    def _translated(self, path: str, too_large: str) -> Iterator[None]:
        server = f"the API server ({self._access})"
        try:
            yield
        except FAILURES as error:
            self._connection.close()
            if isinstance(error, TooLarge):
                raise ApiError("too_large", too_large) from error
            if isinstance(error, TimeoutError):
                raise ApiError("timeout", f"{server} does not respond in time for {path}") from error
            kind: Kind = "tls" if isinstance(error, ssl.SSLError) and not isinstance(error, _BROKEN) else "connection"
            raise ApiError(kind, f"no connection to {server}: {_reason(error)}") from error


def _document(body: bytes, path: str) -> Doc:
    try:
        document = orjson.loads(body)
    except ValueError as error:
        raise ApiError("malformed", f"the response for {path} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise ApiError("malformed", f"the response for {path} is not a JSON object")
    return document


def _refusal(answer: HTTPResponse, body: bytes) -> ApiError:
    """Return the error of a response with a status other than 200; the text is the server's."""
    return refusal_of(answer.status, _message(body) or answer.reason, _seconds(answer.headers["Retry-After"]))


def refusal_of(status: int, text: str, retry_after: float = 0.0) -> ApiError:
    """Return the error for a status in a response or a watch event."""
    kind = _KINDS.get(status, "server" if status >= 500 else "refused")
    return ApiError(kind, f"HTTP {status}: {text[:MAX_ERROR_LENGTH]}", retry_after)


def _message(body: bytes) -> str:
    try:
        status: Any = orjson.loads(body)
    except ValueError:
        return body[:MAX_ERROR_LENGTH].decode("utf-8", "replace").strip()
    return str(status.get("message") or "") if isinstance(status, dict) else ""


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate rejected: {error.verify_message}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _seconds(text: str | None) -> float:
    return float(text) if text is not None and text.isdecimal() else 0.0
