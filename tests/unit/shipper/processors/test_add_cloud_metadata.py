"""add_cloud_metadata: what it adds, what waits for it, and that nothing is asked without it."""

import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch, Doc
from log_shipper.shipper.options.cloud import CloudTlsConfig
from log_shipper.shipper.processors.add_cloud_metadata import (
    CHOSEN,
    LOCAL,
    AddCloudMetadata,
    AddCloudMetadataConfig,
    chosen,
)
from tests.builders import messages, nothing
from tests.metadata_lab import MetadataLab
from tests.metadata_services import DIGITALOCEAN, EKS, Cloud, MetadataServer
from tests.processing import section

DROPLET = {
    "provider": "digitalocean",
    "instance": {"id": "1111111"},
    "region": "nyc3",
    "service": {"name": "Droplets"},
}


SECONDS = 60.0  # for what takes milliseconds


class Machine:
    """A machine, and an agent on it."""

    def __init__(self) -> None:
        self.lab = MetadataLab()
        self.woken = threading.Event()
        self.context = replace(self.lab.context, wake=self.woken.set)

    def step(
        self, server: MetadataServer, environment: Mapping[str, str] | None = None, **options: Any
    ) -> AddCloudMetadata:
        given: dict[str, Any] = {"host": server.address, "timeout": SECONDS} | options
        config = AddCloudMetadataConfig(**given)
        return AddCloudMetadata(config, self.context, environment or {})

    def answered(self, server: MetadataServer, **options: Any) -> AddCloudMetadata:
        """Return a processor for which it is decided."""
        made = self.step(server, **options)
        assert self.woken.wait(SECONDS)
        return made

    def waits(self, made: AddCloudMetadata) -> float:
        until = made.waits_until(Batch(self.lab.source, messages(["x"]), 0.0, nothing))
        return max(until - self.lab.clock.monotonic(), 0.0)


@pytest.fixture
def machine() -> Iterator[Machine]:
    yield Machine()
    wait_for_all_that_ask()


def test_the_cloud_is_added_once_for_a_file(machine: Machine) -> None:
    with MetadataServer(DIGITALOCEAN) as server:
        made = machine.answered(server)
    assert machine.waits(made) == 0
    assert [record["cloud"] for record in machine.lab.records(made)] == [DROPLET, DROPLET]
    assert machine.lab.costs_nothing


@pytest.mark.parametrize(
    ("overwrite", "own", "expected"),
    [
        (False, {"cloud": {"instance": {"id": "x"}}}, {"cloud": {"instance": {"id": "x"}}}),
        (False, {"orchestrator": {"cluster": {"name": "x"}}}, {"orchestrator": {"cluster": {"name": "x"}}}),
        (True, {"cloud": {"instance": {"id": "x"}, "mine": 1}}, {}),
        (True, {"orchestrator": {"cluster": {"name": "x"}}}, {}),
    ],
)
def test_an_object_of_the_event_is_kept_or_replaced_as_a_whole(
    machine: Machine, overwrite: bool, own: Doc, expected: Doc
) -> None:
    with MetadataServer(EKS) as server:
        made = machine.answered(server, overwrite=overwrite)
    (plain, record) = machine.lab.records(made, [{}, own])
    assert (plain["cloud"]["provider"], plain["orchestrator"]["cluster"]["name"]) == ("aws", "staging")
    added = {name: plain[name] for name in ("cloud", "orchestrator", "aws")}
    assert {name: record[name] for name in added} == added | expected


def test_events_wait_for_the_answer_no_longer_than_the_timeout(machine: Machine) -> None:
    released = threading.Event()
    with MetadataServer(DIGITALOCEAN, lambda request: released.wait(SECONDS)) as server:
        made = machine.step(server, timeout=2.0)
        assert machine.waits(made) == 2
        machine.lab.clock.advance(2)
        assert machine.waits(made) == 0
        released.set()
    assert machine.waits(made) == 0
    assert "cloud" not in machine.lab.records(made)[0]


def wait_for_all_that_ask() -> None:
    """Wait for threads that are still asking after the decision."""
    for thread in threading.enumerate():
        if thread.name.startswith("cloud-"):
            thread.join(SECONDS)


def test_all_inputs_ask_once_and_a_reload_asks_no_more(machine: Machine) -> None:
    with MetadataServer(DIGITALOCEAN) as server:
        machine.answered(server)
        wait_for_all_that_ask()
        asked = len(server.asked)
        made = machine.step(server, overwrite=True)
        assert machine.waits(made) == 0
        assert machine.lab.records(made)[0]["cloud"] == DROPLET
        assert len(server.asked) == asked


@pytest.mark.parametrize(
    ("providers", "written", "expected"),
    [
        ((), None, LOCAL),
        (("ec2", "nova", "huawei", "qcloud"), None, ("aws", "openstack", "tencent")),
        (("nova-ssl", "ecs"), None, ("openstack-ssl", "alibaba")),
        (("aws",), "gcp, azure,odd", ("gcp", "azure")),
        ((), "", ()),
    ],
)
def test_who_is_asked(providers: tuple[str, ...], written: str | None, expected: tuple[str, ...]) -> None:
    environment = {} if written is None else {CHOSEN: written}
    assert chosen(AddCloudMetadataConfig(providers=providers), environment) == set(expected)


def test_only_those_that_are_chosen_are_asked(machine: Machine) -> None:
    with MetadataServer(Cloud({})) as server:
        machine.answered(server, providers=("hetzner",))
        assert server.asked == ["GET /hetzner/v1/metadata/instance-id"]
        made = machine.step(server, {CHOSEN: ""})
        assert machine.waits(made) == 0
        assert len(server.asked) == 1


def test_a_processor_in_a_branch_is_waited_for_too(machine: Machine) -> None:
    from log_shipper.shipper.processor import chain

    with MetadataServer(DIGITALOCEAN) as server:
        text = f"- if.has_fields: [a]\n  then: [{{add_cloud_metadata: {{host: '{server.address}'}}}}]"
        steps = chain.steps(section(text).processors, machine.context)
        assert machine.woken.wait(SECONDS)
    assert [type(step) for step in steps.awaiting] == [AddCloudMetadata]


def test_authorities_that_cannot_be_read_end_the_start(machine: Machine) -> None:
    with (
        MetadataServer(Cloud({})) as server,
        pytest.raises(StartError, match=r"certificate_authorities \(/none\.pem\)"),
    ):
        machine.step(server, ssl=CloudTlsConfig(certificate_authorities=("/none.pem",)))


# Printed are the sockets that are connected, and the modules that only the services of clouds need.
PROGRAM = """
import sys, time
connected = []
sys.addaudithook(lambda event, arguments: connected.append(arguments[1]) if event == "socket.connect" else None)
from tests.processing import chain_of
built = chain_of(sys.argv[1])
loaded = [name for name in sys.modules if name.startswith("log_shipper.shipper.cloud") or name == "http.client"]
while hasattr(built, "waits_until") and not connected:
    time.sleep(0.01)
print(len(connected) > 0, len(loaded) > 0)
"""


@pytest.mark.parametrize(
    ("processors", "expected"),
    [
        ("- add_host_metadata: {}\n- add_tags: {tags: [a]}", "False False"),
        ("- add_cloud_metadata: {providers: [digitalocean], host: '127.0.0.1:1'}", "True True"),
    ],
)
def test_without_the_processor_no_socket_is_opened_and_nothing_is_loaded(processors: str, expected: str) -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM, processors], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == expected
