"""add_docker_metadata: from Docker's API, and from files where that does not know a container."""

import json
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch, Doc
from log_shipper.shipper.options.docker import DockerTlsConfig
from log_shipper.shipper.processors.add_docker_metadata import (
    CONTAINER_PATIENCE,
    LIST_PATIENCE,
    AddDockerMetadata,
    AddDockerMetadataConfig,
)
from tests.builders import messages, nothing
from tests.docker_api import DockerApi, existing
from tests.metadata_lab import MetadataLab, collecting_nothing

ID, OTHER = "ab" * 32, "cd" * 32
WEB = {"id": ID, "name": "web", "image": {"name": "nginx:1.25"}, "labels": {"com_example_team": "a"}}


class Host:
    """A machine with Docker, an agent that reads the logs of its containers, and maybe files that describe them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.docker = DockerApi(root / "docker.sock")
        self.lab = MetadataLab()
        self.woken = threading.Semaphore(0)
        self.context = replace(self.lab.context, wake=self.woken.release)
        self.read(ID)

    def read(self, identity: str) -> None:
        self.lab.open_file(f"/var/lib/docker/containers/{identity}/{identity}-json.log")

    def step(self, **options: Any) -> AddDockerMetadata:
        given = {"host": f"unix://{self.docker.path}", "hostfs": str(self.root)} | options
        return AddDockerMetadata(AddDockerMetadataConfig(**given), self.context)

    def started(self, **options: Any) -> AddDockerMetadata:
        """Return a processor that has listed the containers."""
        made = self.step(**options)
        self.wait_until(lambda: made._watcher is None or made._watcher.attempted)
        return made

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            assert self.woken.acquire(timeout=30), "nothing has changed"

    def write_file(self, identity: str, name: str) -> None:
        directory = self.root / "var/lib/docker/containers" / identity
        directory.mkdir(parents=True)
        (directory / "config.v2.json").write_text(json.dumps({"ID": identity, "Name": f"/{name}", "Config": {}}))

    def container(self, made: AddDockerMetadata, doc: Doc | None = None) -> Any:
        return self.lab.records(made, [doc or {}])[0].get("container")

    def waits(self, made: AddDockerMetadata) -> float:
        """Return how many seconds an event of the file waits, from now on."""
        until = made.waits_until(Batch(self.lab.source, messages(["x"]), 0.0, nothing))
        return max(until - self.lab.clock.monotonic(), 0.0)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    host = Host(tmp_path)
    with host.docker:
        yield host


def test_a_container_is_that_of_the_path_once_for_a_file(host: Host) -> None:
    host.docker.run(ID, "web", labels={"com.example.team": "a"})
    made = host.started()
    assert host.waits(made) == 0
    assert host.container(made) == WEB
    assert host.lab.costs_nothing
    assert host.container(host.started(dedot=False))["labels"] == {"com": {"example": {"team": "a"}}}


def test_a_short_id_is_enough(host: Host) -> None:
    host.docker.run(ID, "web")
    made = host.started(match_short_id=True, match_fields=("cid",))
    host.lab.open_file(f"/var/lib/docker/containers/{ID[:12]}/x.log")
    assert host.container(made)["name"] == "web"
    host.lab.open_file("/var/log/syslog")
    assert host.container(made, {"cid": ID[:12]})["id"] == ID


def test_a_container_is_found_by_a_process_or_a_field(host: Host) -> None:
    host.docker.run(ID, "web")
    (host.root / "proc/7").mkdir(parents=True)
    (host.root / "proc/7/cgroup").write_text(f"0::/system.slice/docker-{ID}.scope\n")
    host.lab.open_file("/var/log/syslog")
    made = host.started(match_fields=("cid",))
    assert host.waits(made) == 0
    assert host.container(made, {"process": {"pid": 7}})["name"] == "web"
    assert host.container(made, {"cid": ID})["name"] == "web"
    assert host.container(made, {"cid": OTHER}) is None


def test_what_docker_answers_wins_over_files(host: Host) -> None:
    host.write_file(ID, "old")
    host.docker.run(ID, "web")
    assert host.container(host.started())["name"] == "web"


def test_without_docker_files_are_read_and_no_event_waits(host: Host) -> None:
    host.docker.close()
    host.write_file(ID, "web")
    made = host.started()
    assert host.waits(made) == 0
    assert host.container(made)["name"] == "web"
    host.read(OTHER)
    assert host.waits(made) == 0
    assert host.container(made) == {"id": OTHER}


def test_events_wait_for_the_first_list_no_longer_than_that(host: Host) -> None:
    host.docker.mute()
    made = host.step()
    assert host.waits(made) == LIST_PATIENCE
    host.lab.clock.advance(LIST_PATIENCE)
    assert host.waits(made) == 0
    assert host.container(made) == {"id": ID}
    assert not made._watcher.attempted  # type: ignore[union-attr]  # it has one


def test_events_of_a_new_container_wait_for_it(host: Host) -> None:
    made = host.started()
    assert host.waits(made) == CONTAINER_PATIENCE
    host.docker.run(ID, "web")
    host.wait_until(lambda: host.waits(made) == 0)
    assert host.container(made)["name"] == "web"
    host.read(OTHER)
    host.write_file(OTHER, "db")
    assert host.waits(made) == 0, "its file knows it"


def test_events_of_a_container_that_docker_does_not_know_wait_once(host: Host) -> None:
    made = host.started()
    assert host.waits(made) == CONTAINER_PATIENCE
    host.lab.clock.advance(CONTAINER_PATIENCE)
    assert host.waits(made) == 0
    assert host.container(made) == {"id": ID}
    host.lab.clock.advance(3600)
    assert host.waits(made) == 0


def test_a_change_is_seen_and_derives_the_constants_of_a_file_again(host: Host) -> None:
    host.docker.run(ID, "web")
    made = host.started()
    assert host.container(made)["name"] == "web"
    host.docker.rename(ID, "shop")
    host.wait_until(lambda: host.container(made)["name"] == "shop")
    watcher, derived = made._watcher, host.lab.batch.constants
    assert watcher is not None
    host.docker.stop(ID)
    host.wait_until(lambda: not existing(watcher)[0].is_running)
    assert host.container(made)["name"] == "shop"
    assert host.lab.batch.constants is derived, "nothing that it adds has changed"
    assert len(host.lab.source.constants.derived) == 1


def test_the_last_lines_of_a_removed_container_still_have_its_name(host: Host) -> None:
    host.docker.run(ID, "web")
    made = host.started(cleanup_timeout=60.0)
    watcher = made._watcher
    assert watcher is not None
    host.docker.remove(ID)
    host.wait_until(lambda: existing(watcher) == [])
    for _ in range(3):
        host.lab.clock.advance(50)
        assert host.container(made)["name"] == "web"
    host.lab.clock.advance(61)
    assert host.container(made) == {"id": ID}


def test_processors_with_the_same_options_ask_one_docker_once(host: Host) -> None:
    first, second = host.started(), host.step()
    assert first._watcher is second._watcher
    assert host.step(cleanup_timeout=1.0)._watcher is not first._watcher


def test_a_processor_that_no_input_has_any_more_is_freed_at_once(host: Host) -> None:
    host.docker.run(ID, "web")
    made = host.started()
    assert host.container(made) == {"id": ID, "name": "web", "image": {"name": "nginx:1.25"}}
    watcher = weakref.ref(made._watcher)
    with collecting_nothing():
        del made
        assert watcher() is None


def test_a_docker_that_is_not_to_be_asked_is_not(host: Host) -> None:
    host.docker.run(ID, "web")
    made = host.step(host="")
    assert host.waits(made) == 0
    assert host.container(made) == {"id": ID}
    assert host.docker.asked == []


def test_files_of_tls_that_cannot_be_read_end_the_start(host: Host) -> None:
    with pytest.raises(StartError, match=r"^cannot use the ssl files for Docker at tcp://h:2376 \(/none/ca\.pem\): No"):
        host.step(host="tcp://h:2376", ssl=DockerTlsConfig(certificate_authority="/none/ca.pem"))
