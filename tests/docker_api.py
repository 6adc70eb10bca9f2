"""Docker's end of its socket: the part of the Engine API that is asked for, with containers that a test runs and stops.

    with DockerApi(tmp_path / "docker.sock") as docker:
        docker.run("a" * 64, "web", image="nginx", labels={"app": "web"})
        ...
        docker.stop("a" * 64)

Answers come in the daemon's form (chunked, one JSON document a line), over a unix socket, on threads of its own.
"""

from __future__ import annotations

import json
import socket
import socketserver
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from log_shipper.shipper.docker.containers import DockerContainer
from log_shipper.shipper.docker.watcher import NEVER, Watcher

Document = dict[str, Any]


def existing(watcher: Watcher) -> list[DockerContainer]:
    """Return the containers that the watcher knows, but for the removed ones."""
    return [known.container for known in list(watcher._state.by_id.values()) if known.removed_at == NEVER]


MAX_EVENTS = 256  # that the daemon keeps for those who ask with `since`


class DockerApi:
    """`asked` are the paths of the requests, in order, with their queries. `refusal` is a status and a text that every
    request gets, while it is set; `raw` is sent instead of any answer."""

    def __init__(self, path: Path, time: float = 1_763_000_000.0) -> None:
        self.path = path
        self.asked: list[str] = []
        self.refusal: tuple[int, str] | None = None
        self.raw: bytes | None = None
        self._time = int(time * 10**9)
        self._closing = False
        self._answers = threading.Event()
        self._answers.set()
        self._lock = threading.RLock()
        self._containers: dict[str, Document] = {}
        self._events: list[Document] = []
        self._streams: list[SimpleQueue[Document | None]] = []
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the daemon, whose containers are as they were, and which has forgotten all events."""
        self._events.clear()
        self._closing = False
        self._server = _Server(str(self.path), self)
        # A shorter interval than the default's half second: `close` waits for it.
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the daemon: its streams break off, and its socket is removed."""
        if self._server is None or self._thread is None:
            return
        self.path.unlink()  # first: no one is to come back while it closes
        with self._lock:
            self._closing = True
            self.break_streams()
        self._answers.set()
        self._server.shutdown()
        self._thread.join()
        self._server.break_connections()
        self._server.server_close()
        self._server = None

    def run(self, identity: str, name: str, *, image: str = "nginx:1.25", labels: Mapping[str, str] = {}) -> None:
        """Create and start a container, with an address and two ports of which one is published."""
        self.create(identity, name, image=image, labels=labels)
        self.start_container(identity)

    def create(self, identity: str, name: str, *, image: str = "nginx:1.25", labels: Mapping[str, str] = {}) -> None:
        with self._lock:
            self._containers[identity] = {
                "Id": identity,
                "Names": [f"/other/{name}", f"/{name}"],
                "Image": image,
                "Labels": dict(labels),
                "State": "created",
                "Ports": [{"PrivatePort": 80, "PublicPort": 8080, "Type": "tcp"}, {"PrivatePort": 53, "Type": "udp"}],
                "NetworkSettings": {"Networks": {"bridge": {"IPAddress": "172.17.0.2"}}},
            }
            self.emit("create", identity)

    def start_container(self, identity: str) -> None:
        self._change("start", identity, State="running")

    def stop(self, identity: str) -> None:
        self._change("die", identity, State="exited")

    def rename(self, identity: str, name: str) -> None:
        self._change("rename", identity, Names=[f"/{name}"])

    def remove(self, identity: str) -> None:
        with self._lock:
            self.emit("destroy", identity)
            del self._containers[identity]

    def run_briefly(self, identity: str, name: str) -> None:
        """Run a container that has been removed again by the time that anyone hears of it."""
        with self._lock:
            self.run(identity, name)
            self.stop(identity)
            self.remove(identity)

    def replay_while_it_is_removed(self, identity: str) -> None:
        """Remove a container, and send its last event again before that of its removal."""
        with self._lock:
            for stream in self._streams:
                stream.put(self._events[-1])
            self.remove(identity)

    def emit(self, action: str, identity: str) -> None:
        """Send an event of a container."""
        with self._lock:
            container = self._containers[identity]
            attributes = {
                **container["Labels"],
                "image": container["Image"],
                "name": container["Names"][-1].removeprefix("/"),
            }
            self._time += 1_000_000
            event = {
                "Type": "container",
                "Action": action,
                "Actor": {"ID": identity, "Attributes": attributes},
                "scope": "local",
                "time": self._time // 10**9,
                "timeNano": self._time,
            }
            self._events = [*self._events, event][-MAX_EVENTS:]
            for stream in self._streams:
                stream.put(event)

    def mute(self) -> None:
        """Take connections, and answer none until the daemon is closed."""
        self._answers.clear()

    def await_answers(self) -> None:
        self._answers.wait()

    def break_streams(self) -> None:
        """End all streams of events, as a daemon that is stopped does."""
        with self._lock:
            for stream in self._streams:
                stream.put(None)
            self._streams.clear()

    @property
    def last_event(self) -> str:
        """Return the time of the last event, as `since` has it."""
        return f"{self._time // 10**9}.{self._time % 10**9:09}"

    @property
    def streams(self) -> int:
        """Return how many streams of events are open."""
        return len(self._streams)

    def listing(self, query: Mapping[str, list[str]]) -> list[Document]:
        """Return what /containers/json answers."""
        wanted = json.loads(query.get("filters", ["{}"])[0]).get("id", [""])
        everything = query.get("all", ["0"])[0] == "1"
        with self._lock:
            return [
                container
                for identity, container in self._containers.items()
                if identity.startswith(tuple(wanted)) and (everything or container["State"] == "running")
            ]

    def subscribe(self, query: Mapping[str, list[str]]) -> SimpleQueue[Document | None]:
        """Return a queue of events, which begins with those since the time of the query; None ends it."""
        seconds, _, nanoseconds = query.get("since", ["0"])[0].partition(".")
        since = int(seconds) * 10**9 + int(nanoseconds or 0)
        stream: SimpleQueue[Document | None] = SimpleQueue()
        with self._lock:
            for event in self._events:
                if event["timeNano"] >= since:
                    stream.put(event)
            if self._closing:
                stream.put(None)
            self._streams.append(stream)
        return stream

    def _change(self, action: str, identity: str, **members: Any) -> None:
        with self._lock:
            self._containers[identity] |= members
            self.emit(action, identity)


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = False
    block_on_close = True

    def __init__(self, path: str, api: DockerApi) -> None:
        self.api = api
        self._open: set[socket.socket] = set()
        super().__init__(path, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def break_connections(self) -> None:
        """Let no client keep a thread: `server_close` waits for all of them."""
        for request in list(self._open):
            with suppress(OSError):  # its own thread has just closed it
                request.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        api = self.server.api
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        api.asked.append(self.path)
        self.close_connection = True
        api.await_answers()
        try:
            if (raw := api.raw) is not None:
                self.wfile.write(raw)
            elif (refusal := api.refusal) is not None:  # which a test may take back now
                self._answer(refusal[0], {"message": refusal[1]})
            elif parts.path == "/containers/json":
                self._answer(200, api.listing(query))
            elif parts.path == "/events":
                self._stream(api.subscribe(query), json.loads(query["filters"][0])["event"])
            else:
                self._answer(404, {"message": "page not found"})
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client has left

    def address_string(self) -> str:
        return "unix"

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet: `asked` has the requests."""

    def _answer(self, status: int, document: object) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, events: SimpleQueue[Document | None], actions: list[str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while (event := events.get()) is not None:
            if event["Action"] in actions:
                self._chunk(json.dumps(event).encode() + b"\n")
        self._chunk(b"")

    def _chunk(self, content: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        self.wfile.flush()
