"""A stand-in for an OpenID Connect provider: its token endpoint, over TLS."""

import base64
import json
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs

import trustme

CLIENT = ("shipper", "s3cret")


class TokenEndpoint:
    """Gives tokens to CLIENT that are valid for so many seconds. `scopes` has the scope of each request that was
    granted."""

    def __init__(self, authority: trustme.CA, lifetime: float) -> None:
        self.scopes: list[str] = []
        self.refused = 0
        self._lifetime = lifetime
        self._server = ThreadingHTTPServer(("localhost", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(context)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        return f"https://localhost:{self._server.server_port}/oauth2/token"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, path: str, authorization: str, form: dict[str, list[str]]) -> tuple[int, dict[str, Any]]:
        expected = base64.b64encode(":".join(CLIENT).encode()).decode()
        if path != "/oauth2/token" or authorization != f"Basic {expected}":
            self.refused += 1
            return 401, {"error": "invalid_client"}
        assert form["grant_type"] == ["client_credentials"]
        self.scopes += form.get("scope", [""])
        return 200, {"access_token": _token(self._lifetime), "token_type": "Bearer", "expires_in": self._lifetime}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                status, answer = endpoint.answer(self.path, self.headers.get("Authorization", ""), form)
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        return Handler


def _token(lifetime: float) -> str:
    """Return a JWT without a signature."""
    issued = time.time()
    parts = ({"alg": "none"}, {"sub": CLIENT[0], "iat": issued, "exp": issued + lifetime})
    return "".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() + "." for part in parts)
