"""Requests and responses as values, and their bytes in HTTP/1.x (RFC 9112)."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import parse_qsl, unquote, urlsplit

TEXT = "text/plain; charset=utf-8"
# Only those in use; importing http.HTTPStatus, which has all, would slow down the agent's start.
PHRASES = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
MAX_PARAMETERS = 32
REQUEST_LINE = re.compile(r"([A-Z]{1,16}) (/[!-~]*) HTTP/1\.([01])")
HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([ -~\t\x80-\xff]*)")

# Responses run and load nothing external, are not cached, and are not shown within other sites.
SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
}


@dataclass(frozen=True, slots=True)
class Request:
    path: str  # without the query
    query: Mapping[str, str]
    accept: str  # the Accept header, "" if absent
    headers: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)  # names in lower case


@dataclass(frozen=True, slots=True)
class Response:
    """The response to a request. An iterator is sent piece by piece (chunked) until it ends or the client leaves.

    An idle iterator must yield b"" at least every half second: only then is a leaving client or a closing server
    noticed. It is closed in either case, so its `finally` runs.
    """

    status: int
    content_type: str
    body: bytes | Iterator[bytes]


Handler = Callable[[Request], Response]


class RefusedRequest(Exception):
    """Raised for a refused request, also by handlers, with the status and the reason."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(text)
        self.response = Response(status, TEXT, f"{text}\n".encode())
        self.headers = headers or {}


@dataclass(frozen=True, slots=True)
class Head:
    """The request line and the headers."""

    method: str
    target: str
    minor_version: int  # of HTTP/1.x
    headers: Mapping[str, str]  # names in lower case; values of a repeated one are joined

    def request(self) -> Request:
        try:
            parts = urlsplit(self.target)
            query = dict(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=MAX_PARAMETERS))
        except ValueError as error:
            raise RefusedRequest(400, f"invalid path or query in the request: {error}") from error
        return Request(unquote(parts.path), query, self.headers.get("accept", ""), self.headers)


def check_request_line(data: bytes) -> re.Match[str]:
    """Return the parts of the first line: method, target, minor version. Raises RefusedRequest."""
    line = data.partition(b"\n")[0].removesuffix(b"\r").decode("latin-1")
    match = REQUEST_LINE.fullmatch(line)
    if match is None:
        raise RefusedRequest(400, "the first line is not an HTTP/1.1 request, such as: GET /stats HTTP/1.1")
    return match


def parse_head(data: bytes) -> Head:
    """Return the head of a request for a handler. Raises RefusedRequest."""
    head = read_head(data)
    _check(head)
    return head


def read_head(data: bytes) -> Head:
    """Return the head of any request, without the empty line at its end. Raises RefusedRequest."""
    match = check_request_line(data)
    lines = data.decode("latin-1").replace("\r\n", "\n").split("\n")[1:]
    headers: dict[str, str] = {}
    for line in lines:
        header = HEADER.fullmatch(line)
        if header is None:
            raise RefusedRequest(400, "invalid header; headers look like: Host: localhost")
        name, value = header[1].lower(), header[2].strip()
        if name == "host" and name in headers:
            raise RefusedRequest(400, "the request has more than one Host header")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return Head(match[1], match[2], int(match[3]), headers)


def _check(head: Head) -> None:
    if head.method not in ("GET", "HEAD"):
        raise RefusedRequest(405, f"{head.method} is not supported: use GET or HEAD", {"Allow": "GET, HEAD"})
    if head.headers.get("content-length", "0") != "0" or "transfer-encoding" in head.headers:
        raise RefusedRequest(400, "requests with a body are not supported")
    if head.minor_version and "host" not in head.headers:
        raise RefusedRequest(400, "the request has no Host header")


def response_head(response: Response, *, chunked: bool, headers: Mapping[str, str] | None = None) -> bytes:
    """Return the status line and headers of a response that ends the connection."""
    lines = [
        f"HTTP/1.1 {response.status} {PHRASES.get(response.status, '')}",
        f"Date: {datetime.now(UTC):%a, %d %b %Y %H:%M:%S} GMT",
        f"Content-Type: {response.content_type}",
        "Connection: close",
        *(f"{name}: {value}" for name, value in {**SECURITY_HEADERS, **(headers or {})}.items()),
    ]
    if isinstance(response.body, bytes):
        lines.append(f"Content-Length: {len(response.body)}")
    elif chunked:
        lines.append("Transfer-Encoding: chunked")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
