"""Check who may send: a request must contain every configured secret. They are compared in constant time."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping

from log_shipper.runtime.monitor.exchange import RefusedRequest
from log_shipper.shipper.inputs.http.options import HttpInputConfig

HASHES = {"sha256": hashlib.sha256, "sha1": hashlib.sha1}


class HttpAccess:
    """The secrets of an input. Names of headers are in lower case."""

    def __init__(self, config: HttpInputConfig) -> None:
        self._authorization: bytes | None = None
        self._scheme = "Basic"
        if config.basic_auth:
            self._authorization = base64.b64encode(f"{config.username}:{config.password.reveal()}".encode())
        elif config.bearer_token:
            self._scheme = "Bearer"
            self._authorization = config.bearer_token.reveal().encode()
        self._secret = config.secret
        self._hmac = config.hmac

    def check(self, headers: Mapping[str, str]) -> None:
        """Check the head of a request. Raises RefusedRequest."""
        if self._authorization is not None:
            scheme, _, given = headers.get("authorization", "").partition(" ")
            right = _equal(given.strip().encode("latin-1"), self._authorization)
            if scheme.lower() != self._scheme.lower() or not right:
                what = "name and password" if self._scheme == "Basic" else "token"
                challenge = {"WWW-Authenticate": f'{self._scheme} realm="shipper"'}
                raise RefusedRequest(401, f"wrong {what} in the Authorization header", challenge)
        if self._secret.header:
            given = headers.get(self._secret.header.lower(), "")
            if not _equal(given.encode("latin-1"), self._secret.value.reveal().encode()):
                raise RefusedRequest(401, f"wrong secret in the header {self._secret.header}")

    def check_signature(self, headers: Mapping[str, str], body: bytes) -> None:
        """Check the signature of a body as it was sent. Raises RefusedRequest."""
        options = self._hmac
        if not options.header:
            return
        given = headers.get(options.header.lower(), "").removeprefix(options.prefix)
        expected = hmac.new(options.key.reveal().encode(), body, HASHES[options.type]).digest()
        if not _equal(_decoded(given, len(expected)), expected):
            raise RefusedRequest(401, f"wrong signature of the body in the header {options.header}")


def _equal(given: bytes, expected: bytes) -> bool:
    return hmac.compare_digest(given, expected)


def _decoded(text: str, size: int) -> bytes:
    """Return the bytes of a signature, in hexadecimal digits or base64; empty if it is neither."""
    try:
        return bytes.fromhex(text) if len(text) == 2 * size else base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return b""
