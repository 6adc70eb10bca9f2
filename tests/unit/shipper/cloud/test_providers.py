"""What each cloud is asked, and the fields that its answer becomes."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.cloud import providers, service
from log_shipper.shipper.cloud.providers import PROVIDERS
from log_shipper.shipper.cloud.service import NoMetadata, Service
from tests.fakes import ManualClock
from tests.metadata_services import (
    ALIBABA,
    AZURE,
    DIGITALOCEAN,
    DOCUMENT,
    EC2,
    EC2_OF_THE_FIRST_VERSION,
    EKS,
    GCP,
    GCP_PATH,
    HETZNER,
    OPENSTACK,
    TAGS,
    TENCENT,
    Cloud,
    MetadataServer,
    google,
)

SECONDS = 30  # for what takes milliseconds
Fetch = Callable[[Service], Any]
AWS_FIELDS = {
    "provider": "aws",
    "account": {"id": "123456789012"},
    "availability_zone": "us-east-1c",
    "instance": {"id": "i-11111111"},
    "image": {"id": "ami-abcd1234"},
    "machine": {"type": "t2.medium"},
    "region": "us-east-1",
    "service": {"name": "EC2"},
}
GCP_FIELDS = {
    "provider": "gcp",
    "account": {"id": "test-dev"},
    "project": {"id": "test-dev"},
    "availability_zone": "us-east1-b",
    "region": "us-east1",
    "instance": {"id": "3910564293633576924", "name": "test-gce-dev"},
    "machine": {"type": "f1-micro"},
    "service": {"name": "GCE"},
}
AZURE_FIELDS = {
    "provider": "azure",
    "account": {"id": "5tfb04c3-63de-4709-a9f9-9ab8c0411d5e"},
    "instance": {"id": "04ab04c3-63de-4709-a9f9-9ab8c0411d5e", "name": "test-az-vm"},
    "machine": {"type": "Standard_D3_v2"},
    "region": "eastus2",
    "service": {"name": "Virtual Machines"},
}
OPENSTACK_FIELDS = {
    "provider": "openstack",
    "availability_zone": "az-test-2",
    "instance": {"id": "i-0000ffac", "name": "testvm01.stack.local"},
    "machine": {"type": "m1.xlarge"},
    "service": {"name": "Nova"},
}
HETZNER_FIELDS = {
    "provider": "hetzner",
    "availability_zone": "hel1-dc2",
    "instance": {"id": "111111", "name": "my-hetzner-instance"},
    "region": "eu-central",
    "service": {"name": "Cloud"},
}
DIGITALOCEAN_FIELDS = {
    "provider": "digitalocean",
    "instance": {"id": "1111111"},
    "region": "nyc3",
    "service": {"name": "Droplets"},
}
ALIBABA_FIELDS = {
    "provider": "ecs",
    "availability_zone": "cn-shenzhen-a",
    "instance": {"id": "i-wz9g2hqiikg0aliyun2b"},
    "region": "cn-shenzhen",
    "service": {"name": "ECS"},
}
TENCENT_FIELDS = {
    "provider": "qcloud",
    "availability_zone": "gz-azone2",
    "instance": {"id": "ins-qcloudv5"},
    "region": "china-south-gz",
    "service": {"name": "CVM"},
}
CLOUDS = [
    ("aws", EC2, AWS_FIELDS),
    ("aws", EC2_OF_THE_FIRST_VERSION, AWS_FIELDS),
    ("azure", AZURE, AZURE_FIELDS),
    ("gcp", GCP, GCP_FIELDS),
    ("digitalocean", DIGITALOCEAN, DIGITALOCEAN_FIELDS),
    ("hetzner", HETZNER, HETZNER_FIELDS),
    ("openstack", OPENSTACK, OPENSTACK_FIELDS),
    ("alibaba", ALIBABA, ALIBABA_FIELDS),
    ("tencent", TENCENT, TENCENT_FIELDS),
]


def fetch_of(name: str) -> Fetch:
    return next(provider.fetch for provider in PROVIDERS if provider.name == name)


def fetched(name: str, cloud: Cloud) -> Any:
    clock = ManualClock()
    with MetadataServer(cloud) as server:
        return fetch_of(name)(Service(server.address, clock.monotonic() + SECONDS, clock))


@pytest.mark.parametrize(("name", "cloud", "fields"), CLOUDS)
def test_each_cloud_has_the_fields_that_filebeat_writes(name: str, cloud: Cloud, fields: Any) -> None:
    assert fetched(name, cloud) == {"cloud": fields}


@pytest.mark.parametrize("name", [provider.name for provider in PROVIDERS])
def test_one_cloud_is_not_taken_for_another(name: str) -> None:
    same = {"openstack-ssl": "openstack"}.get(name, name)
    clock = ManualClock()
    with MetadataServer(Cloud({})) as server:
        for other, cloud, _ in CLOUDS:
            server.cloud = cloud
            if other != same:
                with pytest.raises(NoMetadata):
                    fetch_of(name)(Service(server.address, clock.monotonic() + SECONDS, clock))


def test_a_node_of_eks_has_its_cluster_and_the_tags_that_it_may_read() -> None:
    members = fetched("aws", EKS)
    assert members["cloud"] == AWS_FIELDS
    arn = "arn:aws:eks:us-east-1:123456789012:cluster/staging"
    assert members["orchestrator"] == {"cluster": {"name": "staging", "id": arn}}
    assert members["aws"] == {"tags": {"Name": "web-1", "eks:cluster-name": "staging"}}


KUBECONFIG = "apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n    server: https://35.223.150.34\n"


@pytest.mark.parametrize(
    ("attributes", "cluster"),
    [
        ({"cluster-name": "staging", "kubeconfig": KUBECONFIG}, {"name": "staging", "url": "https://35.223.150.34"}),
        ({"cluster-name": "staging"}, {"name": "staging"}),
        ({"cluster-name": "staging", "kubeconfig": "clusters: [}"}, {"name": "staging"}),
        ({"cluster-name": "staging", "kubeconfig": "clusters: 5"}, {"name": "staging"}),
        ({"cluster-name": "staging", "kubeconfig": "clusters: [{cluster: {server: [1]}}]"}, {"name": "staging"}),
        ({"cluster-name": "staging", "kubeconfig": "[" * 5000}, {"name": "staging"}),
        ({"kubeconfig": KUBECONFIG}, None),
    ],
)
def test_a_node_of_gke_has_its_cluster(attributes: dict[str, str], cluster: Any) -> None:
    members = fetched("gcp", google(**attributes))
    assert members["cloud"] == GCP_FIELDS
    assert members.get("orchestrator") == (None if cluster is None else {"cluster": cluster})


def test_a_token_whose_answer_is_lost_on_its_way_is_done_without() -> None:
    """The hop limit of the answer is 1, and the agent is in a container: the request is never answered."""
    released = threading.Event()

    def before(request: str) -> None:
        if request.startswith("PUT"):
            released.wait(SECONDS)

    clock = SystemClock()
    with MetadataServer(EC2_OF_THE_FIRST_VERSION, before) as server:
        soon = Service(server.address, clock.monotonic() + SECONDS, clock)
        try:
            members = providers.aws(_impatient(soon))
        finally:
            released.set()
    assert members == {"cloud": AWS_FIELDS}


class Impatient(Service):
    """A service for which the time for a token is 50 ms."""

    def until(self, deadline: float) -> Service:
        return super().until(self.clock.monotonic() + 0.05)


def _impatient(of: Service) -> Service:
    return Impatient(of.host, of.deadline, of.clock)


HUGE = b"{" + b" " * service.MAX_BYTES + b"}"


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("aws", {"GET /latest/dynamic/instance-identity/document": "<html>welcome</html>"}),
        ("aws", {"GET /latest/dynamic/instance-identity/document": "[]"}),
        ("aws", {"GET /latest/dynamic/instance-identity/document": json.dumps(DOCUMENT | {"instanceId": None})}),
        ("aws", {"GET /latest/dynamic/instance-identity/document": json.dumps(DOCUMENT | {"instanceId": {"a": 1}})}),
        ("aws", {"GET /latest/dynamic/instance-identity/document": json.dumps(DOCUMENT | {"instanceId": "i" * 300})}),
        ("gcp", {GCP_PATH: '{"instance": 5}'}),
        ("gcp", {GCP_PATH: "[" * 100_000}),
        ("openstack", dict(OPENSTACK.answers) | {"GET /2009-04-04/meta-data/instance-id": "<html>welcome</html>"}),
        ("openstack", dict(OPENSTACK.answers) | {"GET /2009-04-04/meta-data/instance-id": "a\nb"}),
        ("openstack", dict(OPENSTACK.answers) | {"GET /2009-04-04/meta-data/hostname": "x" * 300}),
        ("openstack", dict(OPENSTACK.answers) | {"GET /2009-04-04/meta-data/hostname": ""}),
    ],
)
def test_what_is_not_the_answer_of_a_cloud_is_none(name: str, answers: dict[str, str | bytes]) -> None:
    with pytest.raises(NoMetadata):
        fetched(name, Cloud(answers))


def test_an_answer_is_read_up_to_a_size() -> None:
    with pytest.raises(NoMetadata, match="more than 1048576 bytes"):
        fetched("gcp", Cloud({GCP_PATH: HUGE}))


def test_an_answer_that_breaks_off_is_none() -> None:
    class Cut(bytes):
        """Bytes of which a server announces more than it sends."""

        def __len__(self) -> int:
            return super().__len__() + 1

    with pytest.raises(NoMetadata, match="truncated after 4 bytes"):
        fetched("hetzner", Cloud({**HETZNER.answers, "GET /hetzner/v1/metadata/region": Cut(b"eu-c")}))


def test_what_is_too_long_for_a_name_is_left_out_of_each_event() -> None:
    document = json.dumps(DOCUMENT | {"region": "r" * 100_000})
    tags = f"Name\n{'x' * 300}"
    answers = {"GET /latest/dynamic/instance-identity/document": document, TAGS: tags, f"{TAGS}/{'x' * 300}": "y"}
    members = fetched("aws", Cloud({**EKS.answers, **answers}))
    assert members["cloud"] == {name: value for name, value in AWS_FIELDS.items() if name != "region"}
    assert members["aws"]["tags"] == {"Name": "web-1"}


def test_a_tag_that_cannot_be_read_costs_no_other() -> None:
    answers = {**EKS.answers, "GET /latest/meta-data/tags/instance": "Name\nodd one\nmissing\neks:cluster-name"}
    assert fetched("aws", Cloud(answers))["aws"]["tags"] == {"Name": "web-1", "eks:cluster-name": "staging"}


def test_a_redirection_is_not_followed() -> None:
    with MetadataServer(AZURE) as elsewhere, MetadataServer(Cloud({})) as server:
        redirect = 302, f"http://{elsewhere.address}/".encode()
        object.__setattr__(server, "cloud", type("Redirecting", (), {"answer": lambda *_: redirect})())
        clock = ManualClock()
        with pytest.raises(NoMetadata, match="status 302"):
            providers.azure(Service(server.address, clock.monotonic() + SECONDS, clock))
        assert elsewhere.asked == []


def test_an_answer_that_does_not_come_is_left_at_the_deadline() -> None:
    clock = SystemClock()
    released = threading.Event()
    with MetadataServer(DIGITALOCEAN, lambda request: released.wait(SECONDS)) as server:
        try:
            with pytest.raises(NoMetadata, match=r"timed out|in time"):
                providers.digitalocean(Service(server.address, clock.monotonic() + 0.05, clock))
        finally:
            released.set()


def test_nothing_is_asked_after_the_deadline() -> None:
    clock = ManualClock()
    with MetadataServer(DIGITALOCEAN) as server, pytest.raises(NoMetadata, match="no response in time"):
        providers.digitalocean(Service(server.address, clock.monotonic(), clock))
    assert server.asked == []
