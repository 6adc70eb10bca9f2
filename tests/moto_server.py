"""The process of a bucket in memory: moto's server of S3, which fails as a test wants it to. `object_store` starts it.

Beside S3 it answers two requests: PUT /_fault sets {"fault", "requests" (a regular expression), "skip" (how many of
those are done first), "times"}, and GET /_requests returns what was requested since, as "PUT /bucket/name".
"""

import json
import re
import socket
import sys
import time
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

Environment = dict[str, Any]
Start = Callable[..., Any]
HANGS = 5.0  # seconds
SIGNED = "AWS4-HMAC-SHA256 Credential=key/20261121/eu-central-1/s3/aws4_request, SignedHeaders=host, Signature=0"


class FaultyStore:
    """A WSGI application before that of moto."""

    def __init__(self, store: Callable[[Environment, Start], Iterable[bytes]]) -> None:
        self._store = store
        self._fault: dict[str, Any] = {}
        self._requests: list[str] = []
        self._lock = Lock()
        self._writing = Lock()  # moto looks whether an object exists, and writes it, in two steps

    def __call__(self, environ: Environment, start: Start) -> Iterable[bytes]:
        path = environ["REQUEST_URI"]
        if path in ("/_fault", "/_requests"):
            start("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(self._ask(path, environ)).encode()]
        fault = self._next_fault(f"{environ['REQUEST_METHOD']} {path}")
        if fault == "unavailable":
            start("503 Slow Down", [])
            return []
        if fault == "hangs":
            time.sleep(HANGS)
        if fault in ("dropped", "hangs"):
            raise self._cut(environ)
        if _is_google(environ):
            environ["HTTP_AUTHORIZATION"] = SIGNED
            if environ.get("HTTP_X_GOOG_IF_GENERATION_MATCH") == "0":
                environ["HTTP_IF_NONE_MATCH"] = "*"
        if fault == "unconditional":  # as a store does that does not know the header
            environ.pop("HTTP_IF_NONE_MATCH", None)
        with self._writing:
            answer = list(self._store(environ, start))
        if fault == "answer lost":
            raise self._cut(environ)
        return answer

    def _ask(self, path: str, environ: Environment) -> list[str]:
        with self._lock:
            if path == "/_fault":
                self._fault = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
            requests, self._requests = self._requests, []
            return requests

    def _next_fault(self, request: str) -> str:
        with self._lock:
            self._requests.append(request)
            fault = self._fault
            if not fault or not re.search(fault["requests"], request):
                return ""
            fault["skip"] -= 1
            return str(fault["fault"]) if -fault["times"] <= fault["skip"] < 0 else ""

    def _cut(self, environ: Environment) -> ConnectionResetError:
        """Close the connection, and return the error that tells the server so."""
        environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
        return ConnectionResetError()


def _is_google(environ: Environment) -> bool:
    """Return True for a request of deltalake's client of Google's store, which only its headers tell from one to S3."""
    is_signed = environ.get("HTTP_AUTHORIZATION", "").startswith("AWS4")
    return not is_signed and "object_store" in environ.get("HTTP_USER_AGENT", "")


class QuietHandler(MotoRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:
        return


def main() -> None:
    application = FaultyStore(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=QuietHandler)
    sys.stdout.write(f"{server.port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
