"""The metadata services of clouds, as they document themselves: a server on localhost that is one of them for a test.

with MetadataServer(EC2) as server:
    ...  # the option host: server.address
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from typing import Any, Self

from log_shipper.runtime.http import TlsSocket

Answer = tuple[int, bytes]
NOT_FOUND: Answer = (404, b"<html>not found</html>")


@dataclass(frozen=True, slots=True)
class Cloud:
    """What a service answers, by method and path; `requires` are headers, without which it answers with a status."""

    answers: Mapping[str, str | bytes]
    requires: Mapping[str, str] = field(default_factory=dict)
    refusal: int = 403

    def answer(self, request: str, headers: Mapping[str, str]) -> Answer:
        if request not in self.answers:
            return NOT_FOUND
        if not request.startswith("PUT ") and any(headers.get(name) != value for name, value in self.requires.items()):
            return self.refusal, b""
        body = self.answers[request]
        return 200, body.encode() if isinstance(body, str) else body


DOCUMENT = {
    "accountId": "123456789012",
    "architecture": "x86_64",
    "availabilityZone": "us-east-1c",
    "imageId": "ami-abcd1234",
    "instanceId": "i-11111111",
    "instanceType": "t2.medium",
    "pendingTime": "2026-11-21T09:30:00Z",
    "privateIp": "10.158.112.84",
    "region": "us-east-1",
    "version": "2017-09-30",
}
TOKEN = "AQAEAEgYHrqxFhRPd0rGuwRi6_hGwd3dMiFLmHDGcjJYAoSc-s5pcQ=="
EC2_ANSWERS = {"GET /latest/dynamic/instance-identity/document": json.dumps(DOCUMENT)}
TAGS = "GET /latest/meta-data/tags/instance"
EKS_TAGS = {TAGS: "Name\neks:cluster-name", f"{TAGS}/Name": "web-1", f"{TAGS}/eks:cluster-name": "staging"}
EC2 = Cloud(EC2_ANSWERS | {"PUT /latest/api/token": TOKEN}, requires={"X-aws-ec2-metadata-token": TOKEN}, refusal=401)
EKS = Cloud({**EC2.answers, **EKS_TAGS}, EC2.requires, refusal=401)
EC2_OF_THE_FIRST_VERSION = Cloud(EC2_ANSWERS)
AZURE = Cloud(
    {
        "GET /metadata/instance/compute?api-version=2021-02-01": json.dumps(
            {
                "location": "eastus2",
                "name": "test-az-vm",
                "offer": "UbuntuServer",
                "osProfile": {"adminUsername": "admin"},
                "resourceGroupName": "group",
                "subscriptionId": "5tfb04c3-63de-4709-a9f9-9ab8c0411d5e",
                "vmId": "04ab04c3-63de-4709-a9f9-9ab8c0411d5e",
                "vmSize": "Standard_D3_v2",
                "zone": "1",
            }
        )
    },
    requires={"Metadata": "true"},
    refusal=400,
)
MACHINE = {
    "instance": {
        "attributes": {},
        "hostname": "test-gce-dev.c.test-dev.internal",
        "id": 3910564293633576924,
        "machineType": "projects/111111111111/machineTypes/f1-micro",
        "name": "test-gce-dev",
        "serviceAccounts": {"default": {"email": "x@developer.gserviceaccount.com"}},
        "zone": "projects/111111111111/zones/us-east1-b",
    },
    "project": {"attributes": {"ssh-keys": "x"}, "numericProjectId": 111111111111, "projectId": "test-dev"},
}
GCP_PATH = "GET /computeMetadata/v1/?recursive=true&alt=json"


def google(**attributes: str) -> Cloud:
    document = {**MACHINE, "instance": {**MACHINE["instance"], "attributes": attributes}}
    return Cloud({GCP_PATH: json.dumps(document)}, requires={"Metadata-Flavor": "Google"})


GCP = google()
DIGITALOCEAN = Cloud(
    {
        "GET /metadata/v1.json": json.dumps(
            {"droplet_id": 1111111, "hostname": "sample-droplet", "region": "nyc3", "public_keys": [], "features": {}}
        )
    }
)
HETZNER = Cloud(
    {
        "GET /hetzner/v1/metadata/instance-id": "111111",
        "GET /hetzner/v1/metadata/hostname": "my-hetzner-instance",
        "GET /hetzner/v1/metadata/availability-zone": "hel1-dc2",
        "GET /hetzner/v1/metadata/region": "eu-central",
    }
)
OPENSTACK = Cloud(
    {
        "GET /2009-04-04/meta-data/instance-id": "i-0000ffac",
        "GET /2009-04-04/meta-data/hostname": "testvm01.stack.local",
        "GET /2009-04-04/meta-data/instance-type": "m1.xlarge",
        "GET /2009-04-04/meta-data/placement/availability-zone": "az-test-2",
    }
)
ALIBABA = Cloud(
    {
        "GET /latest/meta-data/instance-id": "i-wz9g2hqiikg0aliyun2b",
        "GET /latest/meta-data/region-id": "cn-shenzhen",
        "GET /latest/meta-data/zone-id": "cn-shenzhen-a",
    }
)
TENCENT = Cloud(
    {
        "GET /meta-data/instance-id": "ins-qcloudv5",
        "GET /meta-data/placement/region": "china-south-gz",
        "GET /meta-data/placement/zone": "gz-azone2",
    }
)


class MetadataServer:
    """Answers as the cloud does. `asked` are the requests in order. `before` is called with each of them, on its
    thread, and may keep it waiting."""

    def __init__(
        self, cloud: Cloud, before: Callable[[str], object] = lambda request: None, tls: SSLContext | None = None
    ) -> None:
        self.cloud = cloud
        self.before = before
        self.asked: list[str] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        if tls is not None:
            tls.sslsocket_class = TlsSocket
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    owner: MetadataServer
    daemon_threads = False


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        request = f"{self.command} {self.path}"
        self.server.owner.asked.append(request)
        self.server.owner.before(request)
        status, body = self.server.owner.cloud.answer(request, dict(self.headers.items()))
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if status == 302:
                self.send_header("Location", body.decode())
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass  # the client has left

    do_PUT = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet: `asked` has the requests."""
