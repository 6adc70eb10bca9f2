"""A document of `/status`, as a shipper answers it in an incident, and a stand-in for the program that does."""

import json
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

STARTED = 1_795_558_288.0
NOW = STARTED + 93_784.0

FIGURES = [
    ("Events read", 1_234_567, "events", 101.5),
    ("Events acknowledged", 1_230_001, "events", 99.0),
    ("Bytes read", 987_654_321, "bytes", 54_321.0),
    ("Bytes acknowledged", 983_086_431, "bytes", 53_001.0),
    ("Bytes behind", 4_567_890, "bytes", None),
    ("Oldest unacknowledged", 75.2, "seconds", None),
    ("Events in the queue", 3200, "events", None),
    ("Batches in flight", 3, "", None),
    ("Batches sent again", 0, "", 0.0),
    ("Events dropped on purpose", 0, "events", 0.0),
    ("Dead letters", 3, "events", 0.0),
    ("Bytes lost", 0, "bytes", 0.0),
    ("Files open", 12, "files", None),
    ("Files waiting", None, "files", None),
]


def document(**changes: Any) -> dict[str, Any]:
    read: list[float | None] = [None, *(100.0 + number % 7 for number in range(299))]
    acknowledged: list[float | None] = [None, *(max(100.0 - number / 2, 0) for number in range(299))]
    base: dict[str, Any] = {
        "program": "shipper",
        "version": "0.3.0",
        "name": "web-1",
        "host": "web-1",
        "started": STARTED,
        "now": NOW,
        "health": {
            "state": "degraded",
            "text": "The topic logs-b takes no records: it does not exist. Create it, or correct output.kafka.topics; "
            "the files whose events go to it wait.",
        },
        "figures": [
            {"id": label, "label": label, "value": value, "unit": unit} | ({"rate": rate} if rate is not None else {})
            for label, value, unit, rate in FIGURES
        ],
        "charts": [
            _chart("Events per second", "events/s", {"read": read, "acknowledged": acknowledged}),
            _chart("Bytes behind", "bytes", {"behind": [None, *(number * 15_000.0 for number in range(299))]}),
        ],
        "tables": [
            _table(
                "Files furthest behind",
                {"File": "text", "Behind": "bytes", "Oldest unacknowledged": "seconds"},
                [[f"/var/log/service-{number:02}/app.log", 4_000_000 // number, 75.2] for number in range(1, 21)],
                "No file is behind.",
            ),
            _table(
                "Errors",
                {"Time": "time", "Level": "text", "Message": "text", "Count": "number"},
                [
                    [
                        NOW - 60,
                        "error",
                        "cannot deliver to the topic logs-b: Broker: Unknown topic or partition; create it, or allow "
                        "the broker to (auto.create.topics.enable)",
                        61,
                    ],
                    [NOW - 90_000, "warning", "/var/log/app.log was truncated: 1,234 bytes are lost", 1],
                ],
                "Nothing was logged above info.",
            ),
            _table(
                "Dead letters",
                {"Reason": "text", "Count": "number", "Last": "time", "Path": "text", "Offset": "number"},
                [["Broker: Message size too large", 3, NOW - 3600, "/var/log/app.log", 123_456]],
                "No event was refused.",
            ),
            _table(
                "Inputs",
                {
                    "Input": "text",
                    "Type": "text",
                    "Events": "number",
                    "Events/s": "number",
                    "Behind": "bytes",
                    "Files": "number",
                },
                [["app", "filestream", 1_200_000, 100.5, 4_567_890, 11], ["audit", "filestream", 34_567, 1.0, 0, 1]],
                "There is no input.",
            ),
            _table("Blocked topics", {"Topic": "text"}, [["logs-b"]], "No topic is blocked."),
        ],
        "configuration": "output.kafka: {}",
    }
    return base | changes


def _chart(title: str, unit: str, series: dict[str, list[float | None]]) -> dict[str, Any]:
    return {
        "id": title,
        "title": title,
        "unit": unit,
        "step_seconds": 2.0,
        "until": NOW,
        "series": [{"id": label, "label": label, "values": values} for label, values in series.items()],
    }


def _table(title: str, columns: dict[str, str], rows: list[list[Any]], empty: str) -> dict[str, Any]:
    kinds = [{"id": label, "label": label, "kind": kind} for label, kind in columns.items()]
    return {"id": title, "title": title, "empty": empty, "columns": kinds, "rows": rows}


# A path with its query -> status and body; an iterator is sent piece by piece, and b"" breaks the connection off.
Answer = Callable[[str], tuple[int, bytes | Iterator[bytes]]]


def status_of(served: dict[str, Any]) -> Answer:
    return lambda path: (200, json.dumps(served).encode()) if path == "/status" else (404, b"not here")


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    answer: Answer


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, _Server)
        status, body = self.server.answer(self.path)
        self.send_response(status)
        if isinstance(body, bytes):
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with suppress(ConnectionError):  # a client leaves when it has seen enough
            for piece in body:
                if not piece:
                    return
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")

    def address_string(self) -> str:
        return "a unix socket"

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(path: Path, answer: Answer) -> Iterator[None]:
    """Answer at a unix socket while the block runs."""
    with _Server(str(path), _Handler) as server:
        server.answer = answer
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()
            path.unlink()
