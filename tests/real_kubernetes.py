"""A real API server of Kubernetes with its etcd, on localhost, as script/kube-apiserver has built them.

    with RealKubernetes(tmp_path) as kubernetes:
        kubernetes.create_account("logging", "shipper")           # rights come from manifests of RBAC
        kubernetes.put("pods", pod("web-1"))                      # the objects of tests/kubernetes_api.py
        ...                                                       # an agent asks with kubernetes.kubeconfig(...)

There is no kubelet and no controller: what they would do, the test does, by the same API.
"""

import json
import os
import shutil
import signal
import ssl
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest

from demo.ports import free_ports
from demo.process import end, last_lines, spawn
from log_shipper.shipper.event import Doc
from log_shipper.shipper.kubernetes.access import ApiAccess, Pem
from tests.certificates import CertificateDirectory

REPOSITORY = Path(__file__).parents[1]
_CACHE = Path(os.environ.get("SHIPPER_CACHE", REPOSITORY / ".cache"))
PROGRAMS = _CACHE / "tools" / "kubernetes"
KUBECTL = shutil.which("kubectl") or str(PROGRAMS / "kubectl")
PATHS = {"pods": "/api/v1", "namespaces": "/api/v1", "nodes": "/api/v1", "jobs": "/apis/batch/v1"}
CLUSTER_WIDE = ("namespaces", "nodes")
PATIENCE = 60.0
MAX_STOP_SECONDS = 2.0
ADMIN = "the-administrators-token"
MERGE = "application/merge-patch+json"

needs_kube_apiserver = pytest.mark.skipif(
    not (PROGRAMS / "kube-apiserver").exists(), reason="no kube-apiserver: run script/kube-apiserver"
)


class Refused(Exception):
    """Raised where the server answers with another status than 2xx."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"HTTP {status}: {message}")
        self.status = status


class RealKubernetes:
    """To start, stop, kill and freeze; it keeps its port and its data as long as the object exists. `options` are
    those of kube-apiserver, beside what it needs."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.log = directory / "kube-apiserver.log"
        self._options = options
        self.port, self._etcd_port, self._peers = free_ports(3)
        self._data = directory / "etcd"
        self._server: subprocess.Popen[bytes] | None = None
        self._etcd: subprocess.Popen[bytes] | None = None
        certificates = CertificateDirectory(directory)
        self.authorities = certificates.authorities()
        self._certificate, self._key = certificates.issue_for("127.0.0.1")
        self._context = ssl.create_default_context(cafile=self.authorities)
        self.account_keys = certificates.issue("accounts")  # those of the tokens of service accounts
        (directory / "tokens.csv").write_text(f'{ADMIN},admin,1,"system:masters"\n')

    def __enter__(self) -> "RealKubernetes":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for process in (self._server, self._etcd):
            if process is not None:
                end(process, 0.0)

    def start(self) -> None:
        """Start what does not run, and return when it answers with all that it makes itself."""
        with ExitStack() as undo:
            undo.callback(self.close)
            if self._etcd is None:
                self._etcd = self._start_etcd()
            self._server = self._start_server()
            _await(self._is_ready, lambda: f"kube-apiserver is not ready:\n{last_lines(self.log)}")
            undo.pop_all()

    def stop(self) -> None:
        """End kube-apiserver; etcd runs on. In order that takes a minute while a watch is open, and the kubelet, too,
        kills it before that."""
        assert self._server is not None
        end(self._server, MAX_STOP_SECONDS)

    def restart(self) -> None:
        self.stop()
        self.start()

    def stop_all(self) -> None:
        """End kube-apiserver and etcd."""
        self.stop()
        assert self._etcd is not None
        end(self._etcd, PATIENCE)
        self._etcd = None

    def back_up(self) -> Path:
        """Return a copy of what etcd has. Nothing may run."""
        return Path(shutil.copytree(self._data, self.directory / "backup"))

    def restore(self, copy: Path) -> None:
        """Have etcd have what it had then, its versions too. Nothing may run."""
        shutil.rmtree(self._data)
        copy.rename(self._data)

    def freeze(self) -> None:
        assert self._server is not None
        self._server.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._server is not None
        self._server.send_signal(signal.SIGCONT)

    def _start_etcd(self) -> subprocess.Popen[bytes]:
        clients, peers = f"http://127.0.0.1:{self._etcd_port}", f"http://127.0.0.1:{self._peers}"
        options = {
            "data-dir": str(self._data),
            "listen-client-urls": clients,
            "advertise-client-urls": clients,
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": f"default={peers}",
            "unsafe-no-fsync": "true",
        }
        return spawn([PROGRAMS / "etcd", *_written(options)], self.directory / "etcd.log")

    def _start_server(self) -> subprocess.Popen[bytes]:
        options = {
            "etcd-servers": f"http://127.0.0.1:{self._etcd_port}",
            "bind-address": "127.0.0.1",
            "endpoint-reconciler-type": "none",  # it would publish its address, and refuses one of localhost
            "secure-port": str(self.port),
            "tls-cert-file": self._certificate,
            "tls-private-key-file": self._key,
            "token-auth-file": str(self.directory / "tokens.csv"),
            "authorization-mode": "RBAC",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": self.account_keys[0],
            "service-account-signing-key-file": self.account_keys[1],
            "service-cluster-ip-range": "10.0.0.0/24",
        }
        return spawn([PROGRAMS / "kube-apiserver", *_written(options), *self._options], self.log)

    def _is_ready(self) -> bool:
        assert self._server is not None
        assert self._server.poll() is None, f"kube-apiserver has ended:\n{last_lines(self.log)}"
        try:
            self.call("GET", "/readyz")
        except (OSError, Refused):
            return False
        return True

    def call(self, method: str, path: str, body: Doc | None = None, token: str = ADMIN, content: str = MERGE) -> Doc:
        """Return what the server answers; a text is in the member `text`. Raises Refused, and OSError."""
        connection = HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=self._context)
        content = content if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {token}", "Content-Type": content}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            answer = response.read()
        finally:
            connection.close()
        document: Doc = json.loads(answer) if answer.startswith(b"{") else {"text": answer.decode()}
        if response.status >= 300:
            raise Refused(response.status, document.get("message") or str(document))
        return document

    def put(self, plural: str, document: Doc) -> Doc:
        """Create or change an object, its status too. Return it with its version."""
        path = path_of(plural, document)
        try:
            known = self.call("GET", path)
        except Refused as refused:
            if refused.status != 404:
                raise
            known = self.call("POST", path.rpartition("/")[0], _created(document))
        else:
            changed = {"labels", "annotations"} & document["metadata"].keys()
            before = {name: dict.fromkeys(known["metadata"].get(name, {})) for name in changed}
            metadata = {name: before[name] | document["metadata"][name] for name in changed}
            known = self.call("PATCH", path, {"metadata": metadata})
        if "status" in document:
            known = self.call("PATCH", f"{path}/status", {"status": document["status"]})
        return known

    def delete(self, plural: str, name: str, namespace: str = "shop") -> None:
        """Delete an object at once, as the kubelet does when all containers have ended."""
        where = {"name": name} if plural in CLUSTER_WIDE else {"name": name, "namespace": namespace}
        self.call("DELETE", path_of(plural, {"metadata": where}), {"gracePeriodSeconds": 0})

    def bind(self, name: str, node: str, namespace: str = "shop") -> None:
        """Give a pod its node, as the scheduler does."""
        path = path_of("pods", {"metadata": {"name": name, "namespace": namespace}})
        self.call("POST", f"{path}/binding", {"metadata": {"name": name}, "target": {"kind": "Node", "name": node}})

    def create_namespace(self, name: str, **labels: str) -> None:
        """Create a namespace with what controllers put into each: a pod needs the account `default`."""
        self.put("namespaces", {"metadata": {"name": name, "labels": labels}})
        self.create_account(name, "default")

    def create_account(self, namespace: str, name: str) -> None:
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts"
        self.call("POST", path, {"metadata": {"name": name}})

    def token(self, namespace: str, account: str, bound_to: Doc | None = None) -> str:
        """Return a token of the account, as the kubelet gets it: valid while the object `bound_to` exists."""
        request = {"spec": {"expirationSeconds": 3600, "boundObjectRef": bound_to}}
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        return str(self.call("POST", path, request)["status"]["token"])

    def expire(self) -> None:
        """Have etcd forget all versions before the present one, as kube-apiserver does every five minutes; and what
        kube-apiserver itself remembers, as when it is restarted."""
        version = self.call("GET", "/api/v1/namespaces?" + urlencode({"limit": "1"}))["metadata"]["resourceVersion"]
        connection = HTTPConnection("127.0.0.1", self._etcd_port, timeout=PATIENCE)
        connection.request("POST", "/v3/kv/compaction", json.dumps({"revision": version, "physical": True}))
        response = connection.getresponse()
        assert response.status == 200, response.read()
        connection.close()
        self.restart()

    def access(self, token: str = ADMIN, **changes: Any) -> ApiAccess:
        authorities = Pem(file=self.authorities)
        options = {"token": token, **changes}
        return ApiAccess(host="127.0.0.1", port=self.port, source="the test", authorities=authorities, **options)

    def kubeconfig(self, file: Path, **user: Any) -> Path:
        """Write a kubeconfig with such a user, and return its path."""
        cluster = {"server": f"https://127.0.0.1:{self.port}", "certificate-authority": self.authorities}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{"name": "test", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": user}],
        }
        file.write_text(json.dumps(document))
        file.chmod(0o600)
        return file

    def kubectl(self, *arguments: str) -> str:
        """Run kubectl as the administrator, and return what it prints."""
        config = self.kubeconfig(self.directory / "admin.json", token=ADMIN)
        command = [KUBECTL, "--kubeconfig", str(config), *arguments]
        ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout


def _written(options: dict[str, str]) -> list[str]:
    return [f"--{name}={value}" for name, value in options.items()]


def path_of(plural: str, document: Doc) -> str:
    metadata = document["metadata"]
    where = "" if plural in CLUSTER_WIDE else f"/namespaces/{metadata['namespace']}"
    return f"{PATHS[plural]}{where}/{plural}/{metadata['name']}"


def _created(document: Doc) -> Doc:
    """Return what the server takes at the creation: it chooses the uid itself, takes no status then, and wants to know
    more of owners."""
    metadata = {key: value for key, value in document["metadata"].items() if key not in ("uid", "resourceVersion")}
    for owner in metadata.get("ownerReferences", []):
        owner |= {"apiVersion": "batch/v1" if owner["kind"] in ("Job", "CronJob") else "apps/v1", "uid": str(uuid4())}
    return {key: value for key, value in document.items() if key != "status"} | {"metadata": metadata}


def _await(what: Callable[[], bool], why: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < deadline, why()
        time.sleep(0.05)
