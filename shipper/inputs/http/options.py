"""Define the options of the input `http`, Filebeat's `http_endpoint`: programs send events in the bodies of
requests."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from log_shipper.config.text.checks import Finding, each, not_blank
from log_shipper.config.text.secrets import Secret
from log_shipper.config.text.units import Duration, Size
from log_shipper.shipper.options import filebeat
from log_shipper.shipper.options.feeds import FeedConfig
from log_shipper.shipper.options.server_ssl import ServerSslConfig

MIB = 1024**2
JSON_TYPES = ("application/json", "application/x-ndjson")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_WITHOUT_SECRET = "missing; {} needs both options"


def header_name(text: str) -> Iterator[Finding]:
    if not _HEADER.fullmatch(text):
        yield "", f"{text!r} is not a header name such as X-Api-Key"


def _path(text: str) -> Iterator[Finding]:
    if not re.fullmatch(r"/[!-~]*", text) or "?" in text or "#" in text:
        yield "", f"{text!r} must be a URL path such as /logs"


def _prefix(text: str) -> Iterator[Finding]:
    yield from not_blank(text)
    if text != "." and "" in text.split("."):
        yield "", f"{text!r} must be a dotted field name, or '.' for the event itself"


def _json(text: str) -> Iterator[Finding]:
    try:
        json.loads(text)
    except ValueError as error:
        yield "", f"must be JSON, as a quoted string or an object: {error}"


def _texts(headers: dict[str, Any]) -> Iterator[Finding]:
    for name, values in headers.items():
        yield from ((name, message) for _, message in header_name(name))
        for value in values if isinstance(values, list | tuple) else [values]:
            if not isinstance(value, str) or not re.fullmatch(r"[ -~\t\x80-\xff]*", value):
                yield name, "must be the value of a header, or a list of them"


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretConfig:
    header: str = field(default="", metadata={"doc": "The header that must contain the secret."})
    value: Secret = field(default=Secret(""), metadata={"doc": "The secret."})

    def check(self) -> Iterator[Finding]:
        if self.header:
            yield from (("header", message) for _, message in header_name(self.header))
        if self.header and not self.value:
            yield "value", _WITHOUT_SECRET.format("a secret header")
        if self.value and not self.header:
            yield "header", _WITHOUT_SECRET.format("a secret header")


@dataclass(frozen=True, slots=True, kw_only=True)
class HmacConfig:
    header: str = field(
        default="", metadata={"doc": "The header with the signature of the body, hexadecimal or base64."}
    )
    key: Secret = field(default=Secret(""), metadata={"doc": "The key shared with the sender."})
    type: Literal["sha256", "sha1"] = field(default="sha256", metadata={"doc": "The hash function of the signature."})
    prefix: str = field(default="", metadata={"doc": "The prefix of the signature, such as `sha256=`."})

    def check(self) -> Iterator[Finding]:
        if self.header:
            yield from (("header", message) for _, message in header_name(self.header))
        if self.header and not self.key:
            yield "key", _WITHOUT_SECRET.format("a signature")
        if self.key and not self.header:
            yield "header", _WITHOUT_SECRET.format("a signature")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpInputConfig(FeedConfig):
    """A request is answered with success once all of its events are delivered, or on disk."""

    since: ClassVar = "0.3"
    not_yet: ClassVar = filebeat.HTTP_INPUT_NOT_YET
    ignored: ClassVar = filebeat.HTTP_INPUT_IGNORED
    type: str = field(default="http", metadata={"doc": "The type of input: http, or Filebeat's http_endpoint."})
    listen_address: str = field(
        default="127.0.0.1",
        metadata={"doc": "The address to listen on; 0.0.0.0 for all addresses.", "check": not_blank},
    )
    listen_port: int = field(
        default=8000, metadata={"doc": "The port to listen on; 0 picks a free one.", "min": 0, "max": 65535}
    )
    url: str = field(
        default="/",
        metadata={"doc": "The path of requests; a trailing slash includes all paths below it.", "check": _path},
    )
    method: Literal["POST", "PUT", "PATCH"] = field(default="POST", metadata={"doc": "The HTTP method of requests."})
    prefix: str = field(
        default="json",
        metadata={
            "doc": "The dotted field for the members of a JSON object; `.` is the event itself.",
            "check": _prefix,
        },
    )
    expand_keys: bool = field(
        default=False, metadata={"doc": 'Expands dotted names such as `{"log.level": "info"}` into objects.'}
    )
    content_type: tuple[str, ...] = field(
        default=JSON_TYPES,
        metadata={
            "doc": "Accepted content types. `text/plain` is one event per line, every other type is JSON. Empty "
            "accepts all types."
        },
    )
    basic_auth: bool = field(default=False, metadata={"doc": "Whether requests need `username` and `password`."})
    username: str = field(default="", metadata={"doc": "The user name for `basic_auth`."})
    password: Secret = field(default=Secret(""), metadata={"doc": "The password for `basic_auth`."})
    bearer_token: Secret = field(
        default=Secret(""),
        metadata={"doc": "The token that requests must send, as `Authorization: Bearer TOKEN`; empty for none."},
    )
    secret: SecretConfig = field(default_factory=SecretConfig)
    hmac: HmacConfig = field(default_factory=HmacConfig)
    include_headers: tuple[str, ...] = field(
        default=(), metadata={"doc": "Request headers to copy into `headers`.", "check": each(header_name)}
    )
    preserve_original_event: bool = field(
        default=False, metadata={"doc": "Copy the JSON or the line of the event into `event.original`."}
    )
    response_code: int = field(default=200, metadata={"doc": "Response status on success.", "min": 200, "max": 299})
    response_body: str = field(
        default='{"message": "success"}', metadata={"doc": "Response body on success, as JSON.", "check": _json}
    )
    options_headers: dict[str, Any] = field(
        default_factory=dict,
        repr=False,
        metadata={"doc": "Response headers for OPTIONS requests, which browsers send first.", "check": _texts},
    )
    options_response_code: int = field(
        default=200, metadata={"doc": "Response status for OPTIONS requests.", "min": 200, "max": 299}
    )
    max_body_bytes: Size = field(
        default=10 * MIB, metadata={"doc": "Maximum size of a body, before and after decompression.", "min": 1}
    )
    max_in_flight_bytes: Size = field(
        default=64 * MIB,
        metadata={
            "doc": "Approximate maximum memory of requests in flight: the bytes of each body, and 600 bytes per event "
            "or the size of its values. When it is reached, requests are refused with 503; a single request "
            "that exceeds it is refused with 413.",
            "min": 1,
        },
    )
    high_water_in_flight_bytes: Size = field(
        default=0,
        metadata={"doc": "New requests are refused with 503 from this value on; 0 means half of the maximum."},
    )
    low_water_in_flight_bytes: Size = field(
        default=0,
        metadata={
            "doc": "Requests are accepted again below this value; 0 means 64KiB or a fifth below the high water, "
            "whichever is lower."
        },
    )
    retry_after: int = field(
        default=10,
        metadata={"doc": "The Retry-After header of responses with 503, in seconds.", "unit": "seconds", "min": 0},
    )
    response_timeout: Duration = field(
        default=10.0,
        metadata={
            "doc": "How long a request waits until its events are delivered or on disk; after that, the response is "
            "503.",
            "min": 0.001,
        },
    )
    request_timeout: Duration = field(
        default=60.0,
        metadata={"doc": "How long a request may take to arrive; after that, the response is 408.", "min": 0.001},
    )
    max_connections: int = field(
        default=256, metadata={"doc": "Maximum number of connections.", "unit": "connections", "min": 1, "max": 65536}
    )
    ssl: ServerSslConfig = field(default_factory=ServerSslConfig)

    def check(self) -> Iterator[Finding]:
        if self.basic_auth:
            for name in ("username", "password"):
                if not getattr(self, name):
                    yield name, "missing; basic_auth needs it"
        if self.basic_auth and self.bearer_token:
            yield (
                "bearer_token",
                "conflicts with basic_auth, because a request has only one Authorization header; keep one of them",
            )
        if self.max_body_bytes > self.max_in_flight_bytes:
            yield "max_body_bytes", f"must be at most max_in_flight_bytes ({self.max_in_flight_bytes})"
        if self.high_water >= self.max_in_flight_bytes:
            yield "high_water_in_flight_bytes", f"must be less than max_in_flight_bytes ({self.max_in_flight_bytes})"
        elif self.low_water >= self.high_water:
            yield "low_water_in_flight_bytes", f"must be less than high_water_in_flight_bytes ({self.high_water})"

    def remarks(self) -> Iterator[Finding]:
        for index, name in enumerate(self.include_headers):
            secrets = [header.lower() for header in ("authorization", self.secret.header) if header]
            if name.lower() in secrets:
                yield f"include_headers[{index}]", f"{name} contains a secret, which would be in every event"

    def cautions(self) -> Iterator[Finding]:
        secured = self.basic_auth or self.bearer_token or self.secret.header or self.hmac.header or self.ssl.enabled
        if self.listen_address not in ("127.0.0.1", "localhost", "::1") and not secured:
            yield (
                "listen_address",
                "any program that can reach this address can send events; set basic_auth, bearer_token or ssl",
            )

    @property
    def high_water(self) -> int:
        return self.high_water_in_flight_bytes or max(self.max_in_flight_bytes // 2, 1)

    @property
    def low_water(self) -> int:
        high = self.high_water
        below = high - 64 * 1024
        return self.low_water_in_flight_bytes or max(min(high * 4 // 5, below) if below > 0 else high * 4 // 5, 1)

    @property
    def reads(self) -> tuple[str, ...]:
        return (f"http {self.listen_address}:{self.listen_port}{self.url}",)
