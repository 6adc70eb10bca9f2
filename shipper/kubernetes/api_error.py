"""Errors between the agent and an API server."""

from typing import Literal

from log_shipper.shipper.errors import ShipperError

Kind = Literal[
    "connection",  # no connection, or it broke
    "tls",  # the server's or our certificate is rejected
    "timeout",  # no response in time
    "unauthorized",  # 401
    "forbidden",  # 403: a permission is missing (RBAC)
    "expired",  # 410: the watched version is too old; objects are listed again
    "throttled",  # 429: the server asks for fewer requests
    "server",  # 5xx
    "refused",  # any other status
    "malformed",  # not the expected JSON
    "too_large",  # a response or object larger than the limit
]


class ApiError(ShipperError):
    """Raised when a request to the API server fails. `retry_after`: seconds that the server asks to wait."""

    def __init__(self, kind: Kind, text: str, retry_after: float = 0.0) -> None:
        super().__init__(text)
        self.kind = kind
        self.retry_after = retry_after
