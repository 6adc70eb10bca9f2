"""The metrics over HTTP for Prometheus, and the sink's health for a supervisor that restarts it.

`/metrics`  Prometheus' text format.
`/health`   200 while the query is healthy, else 503; both with {"status":…,"silent_seconds":…,"limit_seconds":…}.

A query is healthy if it ended a batch, or looked and found nothing new, within the limit: ten trigger intervals, and at
least five minutes, because a batch that catches up, or the first reading of a large table, takes long. Spark reports
every ten seconds that an idle query is idle.
"""

import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import ClassVar, Self

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from spark_sink.errors import SinkError
from spark_sink.monitor.metrics import SinkMetrics

LEAST_LIMIT = 300.0
INTERVALS = 10


def silence_limit(trigger_interval: float) -> float:
    """Return the seconds after which a silent query counts as stalled."""
    return max(LEAST_LIMIT, INTERVALS * trigger_interval)


class MonitorServer:
    """Serves while the `with` block runs, on threads of its own. Raises SinkError when it cannot listen."""

    def __init__(self, metrics: SinkMetrics, host: str, port: int, trigger_interval: float) -> None:
        handler = type("Handler", (_Handler,), {"metrics": metrics, "limit": silence_limit(trigger_interval)})
        try:
            self._server = _Server((host, port), handler)
        except OSError as error:
            raise SinkError(
                f"cannot serve metrics on {host}:{port}: {error.strerror or error}; "
                "set http.host and http.port to what is free on this machine, or http.enabled: false"
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)

    @property
    def port(self) -> int:
        """The port that the server listens on, also where port 0 was configured."""
        return int(self._server.server_address[1])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # a client that hangs does not keep the sink from ending

    def server_bind(self) -> None:
        # The parent's asks the resolver for the host's full name, which may take seconds and is not used.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    metrics: ClassVar[SinkMetrics]
    limit: ClassVar[float]
    timeout = 10  # seconds for a client to send its request

    def do_GET(self) -> None:
        match self.path.partition("?")[0]:
            case "/metrics":
                self._answer(200, CONTENT_TYPE_LATEST, generate_latest(self.metrics.registry))
            case "/health":
                self._health()
            case _:
                self._answer(404, "text/plain", b"/metrics and /health are here\n")

    def _health(self) -> None:
        silent = self.metrics.silent_for()
        healthy = silent <= self.limit
        body = {
            "status": "ok" if healthy else "stalled",
            "silent_seconds": round(silent, 1),
            "limit_seconds": self.limit,
        }
        self._answer(200 if healthy else 503, "application/json", json.dumps(body).encode() + b"\n")

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: a scrape every few seconds is not worth a line."""
