"""What may go wrong between the agent and an API server."""

from typing import Literal

from log_shipper.shipper.errors import ShipperError

Kind = Literal[
    "connection",  # no connection, or it broke off
    "tls",  # the certificate of the server, or ours, is not accepted
    "timeout",  # no answer in time
    "unauthorized",  # 401
    "forbidden",  # 403: a right is missing (RBAC)
    "expired",  # 410: the version to watch from is too old; the objects are listed again
    "throttled",  # 429: the server asks for fewer requests
    "server",  # 5xx
    "refused",  # any other status
    "malformed",  # not the JSON that was asked for
    "too_large",  # an answer or an object beyond the limit
]


class ApiError(ShipperError):
    """Raised when a request to the API server fails. `retry_after`: the seconds that the server asks to wait."""

    def __init__(self, kind: Kind, text: str, retry_after: float = 0.0) -> None:
        super().__init__(text)
        self.kind = kind
        self.retry_after = retry_after
