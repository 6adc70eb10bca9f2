"""A small API server of Kubernetes on localhost: lists in pages, watches with bookmarks, versions that expire, accounts
and their rights, and everything that may go wrong on the way.

    with KubernetesApi() as api:
        api.put("pods", pod("web-1", labels={"app": "web"}))
        ...                        # an agent lists and watches with api.access()
        api.put("pods", pod("web-2"))         # reaches the watches that are open
        api.delete("pods", "web-1")

What a watch sends is what happened after its version, as in the real server; so a test needs no pauses. The tests of
contract/test_kubernetes_api.py hold it to what the real one does.
"""

import base64
import json
import socket
import ssl
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from operator import itemgetter
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from log_shipper.runtime.http import TlsSocket
from log_shipper.shipper.event import Doc
from log_shipper.shipper.kubernetes.access import ApiAccess, Pem

KINDS = {"pods": "Pod", "namespaces": "Namespace", "nodes": "Node", "jobs": "Job"}
GROUPS = {"jobs": "apis/batch/v1"}
MAX_WAIT = 60.0  # seconds, of a handler that waits for the test
ID = "ab" * 32
_NONE: Doc = {}


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    parameters: dict[str, str]
    token: str
    accept: str

    @property
    def is_watch(self) -> bool:
        return self.parameters.get("watch") == "true"


@dataclass(slots=True)
class Answer:
    """What is answered in place of the truth: a status with this message, or bytes as they are."""

    status: int = 200
    message: str = ""
    raw: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)


class KubernetesApi:
    """`token`: the one that is accepted; any when empty. `answers`: by path, what is answered until it is removed.
    While `gate` is not set, requests wait. `requests` are all in order; `on_request` is called for each. A
    `certificate` is the paths of one and its key; clients need one of the authorities in the file `clients`, if there
    is one. Every object is a document as the API has it."""

    def __init__(self, token: str = "", certificate: tuple[str, str] | None = None, clients: str = "") -> None:
        self.token = token
        self.answers: dict[str, Answer] = {}
        self.gate = threading.Event()
        self.gate.set()
        self.requests: list[Request] = []
        self.on_request: Callable[[], object] = lambda: None
        self.connections = 0
        self.refuse_watches = False  # as a role does that has list alone
        self.most_in_page = 1000  # of a list from the store: one from the server's memory is one page
        self._changed = threading.Condition()
        self._objects: dict[str, dict[str, Doc]] = {plural: {} for plural in KINDS}
        self._history: list[tuple[int, str, Doc, Doc]] = []  # version, plural, event, the object before
        self._version = 1
        self._oldest = 0  # versions before this one have expired
        self._streams = 0  # those of before end
        self._is_closing = False
        self._ends_when_idle = self._breaks = False
        self._server = _Server(self, certificate, clients)
        self._is_secure = certificate is not None
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def __enter__(self) -> "KubernetesApi":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.gate.set()
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def access(self, **changes: Any) -> ApiAccess:
        """Return the access of an account that may do everything."""
        options: dict[str, Any] = {"token": self.token, "is_secure": self._is_secure, **changes}
        return ApiAccess(host="127.0.0.1", port=self.port, source="the test", **options)

    def put(self, plural: str, document: Doc) -> Doc:
        """Create or change an object, and send it to the watches. Return it with its version."""
        with self._changed:
            known = self._objects[plural]
            key = _key(document)
            self._version += 1
            document = _with_version(document, self._version)
            before = known.get(key, {})
            self._record(plural, {"type": "MODIFIED" if before else "ADDED", "object": document}, before)
            known[key] = document
        return document

    def delete(self, plural: str, name: str, namespace: str = "shop") -> None:
        with self._changed:
            known = self._objects[plural]
            document = known.pop(name if name in known else f"{namespace}/{name}")
            self._version += 1
            self._record(plural, {"type": "DELETED", "object": _with_version(document, self._version)}, document)

    def bind(self, name: str, node: str, namespace: str = "shop") -> None:
        """Give a pod its node, as the scheduler does."""
        before = self._objects["pods"][f"{namespace}/{name}"]
        self.put("pods", {**before, "spec": {**before["spec"], "nodeName": node}})

    def bookmark(self, plural: str) -> int:
        """Send a bookmark with the present version to the watches, and return it."""
        with self._changed:
            self._version += 1
            empty = {"spec": {"containers": None}, "status": {}} if plural == "pods" else {}
            metadata = {"resourceVersion": str(self._version)}
            self._record(plural, {"type": "BOOKMARK", "object": {**_kind(plural), "metadata": metadata, **empty}})
            return self._version

    def send(self, plural: str, event: Doc) -> None:
        """Send any event to the watches."""
        with self._changed:
            self._version += 1
            self._record(plural, event)

    def expire(self) -> None:
        """Forget all versions before the present one: a watch from one of them ends with an error, and so does a list
        that was begun."""
        with self._changed:
            self._version += 1
            self._oldest = self._version
            self._history.clear()
            self._changed.notify_all()

    def end_watches(self) -> None:
        """End the open watches, as the server does from time to time."""
        with self._changed:
            self._streams += 1
            self._changed.notify_all()

    def end_watch_when_idle(self, *, within_a_chunk: bool = False) -> None:
        """End the next watch when it has sent what there is, or let its connection break off then."""
        self._ends_when_idle, self._breaks = True, within_a_chunk

    def refuse(self, path: str, verb: str = "list") -> None:
        """Answer as a server does whose RBAC has no such right for the account."""
        self.answers[path] = Answer(403, _refusal(path.rpartition("/")[2], verb))

    def watches(self, plural: str) -> list[Request]:
        return [request for request in self.requests if request.is_watch and request.path.endswith(plural)]

    def at_handshake(self, call: Callable[[], object]) -> None:
        """Have this called while a client waits for the server's part of the handshake."""

        def begins(*_: object) -> None:
            call()

        assert isinstance(self._server.socket, ssl.SSLSocket)
        self._server.socket.context.sni_callback = begins

    def note(self, request: Request) -> None:
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
        self.on_request()

    def wait_for_requests(self, count: int) -> None:
        """Wait until so many requests have arrived."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.requests) >= count, MAX_WAIT)

    def wait_for_watches(self, plural: str, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.watches(plural)) >= count, MAX_WAIT)

    def _record(self, plural: str, event: Doc, before: Doc = _NONE) -> None:
        self._history.append((self._version, plural, event, before))
        self._changed.notify_all()

    def listed(self, plural: str, request: Request) -> Doc | None:
        """Return the page of a list; None if it continues one that was begun too long ago. What changes between two
        pages is on the later ones: a test does not change it."""
        with self._changed:
            chosen = [item for item in self._objects[plural].values() if _is_selected(item, request)]
            token = base64.b64decode(request.parameters.get("continue", "")) or b"[0, 0]"
            version, first = json.loads(token)
            if version and version < self._oldest:
                return None
            limit = min(int(request.parameters.get("limit", "1000")), self.most_in_page)
            if request.parameters.get("resourceVersion") == "0":
                limit = len(chosen)
            metadata = {"resourceVersion": str(version or self._version)}
            if first + limit < len(chosen):
                token = json.dumps([version or self._version, first + limit]).encode()
                metadata["continue"] = base64.b64encode(token).decode()
            items = [_without(item, "kind", "apiVersion") for item in chosen[first : first + limit]]
            kind = _kind(plural)
            return {**kind, "kind": f"{kind['kind']}List", "metadata": metadata, "items": items}

    def named(self, plural: str, key: str) -> Doc | None:
        with self._changed:
            return self._objects[plural].get(key)

    def events(self, plural: str, request: Request) -> Iterator[Doc | None]:
        """Yield what happens after the version of the request; None where the connection breaks off."""
        version, stream = int(request.parameters["resourceVersion"]), self._streams
        seconds = float(request.parameters.get("timeoutSeconds", MAX_WAIT))
        ends = time.monotonic() + min(seconds, MAX_WAIT)
        while True:
            with self._changed:
                if version < self._oldest:
                    old = f"too old resource version: {version} ({self._oldest})"
                    yield {"type": "ERROR", "object": _status(410, old)}
                    return
                # Not from the first on: a watch that lasts would look at all that ever happened, at each change again.
                newer = bisect_right(self._history, version, key=itemgetter(0))
                pending = [
                    (number, seen)
                    for number, changed, event, before in self._history[newer:]
                    if changed == plural and (seen := _as_seen(event, before, request))
                ]
                if not pending:
                    remaining = ends - time.monotonic()
                    if self._is_closing or self._streams > stream or self._ends_when_idle or remaining <= 0:
                        self._ends_when_idle = False
                        break
                    self._changed.wait(remaining)
                    continue
            for number, event in pending:
                version = number
                yield event
        if self._breaks:
            self._breaks = False
            yield None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, api: KubernetesApi, certificate: tuple[str, str] | None, clients: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api = api
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.sslsocket_class = TlsSocket
            context.load_cert_chain(*certificate)
            if clients:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(clients)
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a client that closes its connection, or refuses ours."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.api.connections += 1

    def log_message(self, format: str, *args: Any) -> None: ...

    def do_GET(self) -> None:
        api, parts = self.server.api, urlsplit(self.path)
        bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
        request = Request(parts.path, dict(parse_qsl(parts.query)), bearer, self.headers.get("Accept", ""))
        api.note(request)
        api.gate.wait(MAX_WAIT)
        if api.token and bearer != api.token:
            self._answer(Answer(401, "Unauthorized"))
        elif (answer := api.answers.get(request.path)) is not None:
            self._answer(answer)
        else:
            self._true_answer(api, request)

    def _true_answer(self, api: KubernetesApi, request: Request) -> None:
        # /api/v1[/namespaces/<namespace>]/<plural>[/<name>]
        parts = request.path.strip("/").split("/")
        parts = parts[3:] if parts[0] == "apis" else parts[2:]
        namespace = parts[1] if parts[0] == "namespaces" and len(parts) > 2 else ""
        plural, *name = parts[2:] if namespace else parts
        if plural not in KINDS:
            self._answer(Answer(404, "the server could not find the requested resource"))
        elif name:
            known = api.named(plural, f"{namespace}/{name[0]}" if namespace else name[0])
            if known and "as=PartialObjectMetadata" in request.accept:
                known = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": known["metadata"]}
            missing = f'{_named(plural)} "{name[0]}" not found'
            self._json(200, known) if known else self._answer(Answer(404, missing))
        elif request.is_watch and api.refuse_watches:
            self._answer(Answer(403, _refusal(plural, "watch")))
        elif request.is_watch:
            self._stream(api.events(plural, request))
        elif listed := api.listed(plural, request):
            self._json(200, listed)
        else:
            self._answer(Answer(410, "The provided continue parameter is too old to display a consistent list result."))

    def _answer(self, answer: Answer) -> None:
        if answer.raw is not None:
            self.wfile.write(answer.raw)
            self.close_connection = True
        else:
            self._json(answer.status, _status(answer.status, answer.message), answer.headers)

    def _json(self, status: int, document: Doc, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, events: Iterator[Doc | None]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        for event in events:
            if event is None:
                self.wfile.write(b'ff\r\n{"type": "ADDED", "obj')
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            line = json.dumps(event).encode() + b"\n"
            # In two chunks: a line may be cut anywhere.
            for piece in (line[: len(line) // 2], line[len(line) // 2 :]):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


def _is_selected(document: Doc, request: Request) -> bool:
    namespace = request.path.partition("/namespaces/")[2].partition("/")
    if namespace[1] and document["metadata"].get("namespace") != namespace[0]:
        return False
    for selector in filter(None, request.parameters.get("fieldSelector", "").split(",")):
        path, _, wanted = selector.partition("=")
        value: Any = document
        for part in path.split("."):
            value = value.get(part, {})
        if value != wanted:
            return False
    return True


def _as_seen(event: Doc, before: Doc, request: Request) -> Doc:
    """Return the event of a watch that selects objects, or nothing: to it, an object is new when it is selected first,
    as a pod that gets its node, and deleted when it is not any more."""
    document = event.get("object", {})
    if event["type"] not in ("ADDED", "MODIFIED", "DELETED") or "metadata" not in document:
        return event
    was, is_now = bool(before) and _is_selected(before, request), _is_selected(document, request)
    if event["type"] == "MODIFIED" and was != is_now:
        return {**event, "type": "ADDED" if is_now else "DELETED"}
    return event if was or is_now else {}


def _key(document: Doc) -> str:
    metadata = document["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])


def _with_version(document: Doc, version: int) -> Doc:
    return {**document, "metadata": {**document["metadata"], "resourceVersion": str(version)}}


def _without(document: Doc, *names: str) -> Doc:
    return {name: value for name, value in document.items() if name not in names}


def _kind(plural: str) -> Doc:
    return {"kind": KINDS[plural], "apiVersion": "batch/v1" if plural in GROUPS else "v1"}


def _named(plural: str) -> str:
    """Return how messages call a resource."""
    return f"{plural}.batch" if plural in GROUPS else plural


def _refusal(plural: str, verb: str) -> str:
    group = "batch" if plural in GROUPS else ""
    return (
        f'{_named(plural)} is forbidden: User "system:serviceaccount:logging:shipper" cannot {verb} resource '
        f'"{plural}" in API group "{group}" at the cluster scope'
    )


def _status(code: int, message: str) -> Doc:
    reason = {401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 410: "Expired", 429: "TooManyRequests"}.get(code)
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    return {**status, **({"reason": reason} if reason else {}), "code": code}


def pod(name: str, **changes: Any) -> Doc:
    """Return a running pod with one container. `changes`: uid, namespace, node, ip, labels, annotations, owner (kind
    and name), containers (those of `container`), phase."""
    containers: list[tuple[Doc, Doc]] = changes.get("containers") or [container("nginx")]
    metadata: Doc = {
        "name": name,
        "uid": changes.get("uid", f"uid-{name}"),
        "namespace": changes.get("namespace", "shop"),
        "labels": changes.get("labels", {}),
        "annotations": changes.get("annotations", {}),
    }
    if "owner" in changes:
        kind, owner = changes["owner"]
        metadata["ownerReferences"] = [{"kind": kind, "name": owner, "controller": True}]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": metadata,
        "spec": {"nodeName": changes.get("node", "n1"), "containers": [spec for spec, _ in containers]},
        "status": {
            "phase": changes.get("phase", "Running"),
            "podIP": changes.get("ip", "10.1.0.7"),
            "containerStatuses": [state for _, state in containers],
        },
    }


def container(name: str, identity: str = ID, runtime: str = "containerd", restarts: int = 0) -> tuple[Doc, Doc]:
    """Return the specification and the status of a container, which does not run yet without an `identity`."""
    image = f"registry.example/{name}:1"
    spec = {"name": name, "image": image, "ports": [{"name": "http", "containerPort": 8080}]}
    status: Doc = {"name": name, "image": image, "restartCount": restarts, "state": {"waiting": {}}}
    if identity:
        status |= {"containerID": f"{runtime}://{identity}", "state": {"running": {}}}
    return spec, status


def namespace(name: str, **labels: str) -> Doc:
    return {"kind": "Namespace", "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels}}


def node(name: str, **labels: str) -> Doc:
    addresses = [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": f"{name}.example"}]
    metadata = {"name": name, "uid": f"uid-{name}", "labels": labels}
    return {"kind": "Node", "metadata": metadata, "status": {"addresses": addresses}}


def job(name: str, cron_job: str = "", namespace: str = "shop") -> Doc:
    owners = [{"kind": "CronJob", "name": cron_job, "controller": True}] if cron_job else []
    return {"kind": "Job", "metadata": {"name": name, "namespace": namespace, "ownerReferences": owners}}


def kubeconfig(api: KubernetesApi, **user: Any) -> Doc:
    """Return a kubeconfig for this server."""
    return {
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": str(api.access())}}],
        "users": [{"name": "u", "user": user}],
    }


__all__ = ["Answer", "KubernetesApi", "Pem", "Request", "container", "job", "kubeconfig", "namespace", "node", "pod"]
