"""add_docker_metadata: from the files that Docker keeps beside a log; from Docker itself in test_docker_daemon."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from log_shipper.config.yaml.files import MAX_BYTES
from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_fields import labelled
from log_shipper.shipper.processor.metadata.runtime_files import RuntimeFiles
from log_shipper.shipper.processors.add_docker_metadata import AddDockerMetadata, AddDockerMetadataConfig
from tests.fakes import ManualClock
from tests.metadata_lab import MetadataLab

ID = "ab" * 32
OTHER = "cd" * 32
WEB = {"id": ID, "name": "web", "image": {"name": "nginx:1.25"}, "labels": {"com_example_team": "a", "tier": "front"}}


class Docker:
    """A host with one container."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lab = MetadataLab()
        self.lab.open_file(f"/var/lib/docker/containers/{ID}/{ID}-json.log")
        self.write(ID, "web")

    def write(self, identity: str, name: str) -> None:
        directory = self.root / "var/lib/docker/containers" / identity
        directory.mkdir(parents=True, exist_ok=True)
        config = {"Image": "nginx:1.25", "Labels": {"com.example.team": "a", "tier": "front"}}
        content = json.dumps({"ID": identity, "Name": f"/{name}", "Config": config})
        (directory / "config.v2.json").write_text(content)

    def step(self, **options: Any) -> AddDockerMetadata:
        config = AddDockerMetadataConfig(**({"hostfs": str(self.root), "host": ""} | options))
        return AddDockerMetadata(config, self.lab.context)

    def container(self, doc: Doc | None = None, **options: Any) -> Any:
        return self.lab.records(self.step(**options), [doc or {}])[0].get("container")


@pytest.fixture
def docker(tmp_path: Path) -> Docker:
    return Docker(tmp_path)


def test_the_container_is_that_of_the_path_once_for_a_file(docker: Docker) -> None:
    assert docker.container() == WEB
    assert docker.lab.costs_nothing


def test_events_of_no_container_cost_nothing(docker: Docker) -> None:
    docker.lab.open_file("/var/log/syslog")
    assert docker.container() is None
    assert docker.lab.costs_nothing


def test_the_path_may_be_the_event_s_own(docker: Docker) -> None:
    own = {"log": {"file": {"path": f"/var/lib/docker/containers/{ID}/x.log"}}}
    docker.lab.open_file("/var/log/syslog")
    found = docker.lab.records(docker.step(), [{}, own])
    assert [record.get("container") for record in found] == [None, WEB]


def test_its_file_may_lie_beside_the_log_wherever_that_is(docker: Docker, tmp_path: Path) -> None:
    shutil.move(tmp_path / "var/lib/docker/containers", tmp_path / "elsewhere")
    docker.lab.open_file(tmp_path / "elsewhere" / ID / f"{ID}-json.log")
    index = len(tmp_path.parts)
    assert docker.container(match_source_index=index) == WEB


def test_one_beside_the_log_does_not_win_over_the_runtimes_own(docker: Docker, tmp_path: Path) -> None:
    """Whoever may write the log could give another container's id other labels."""
    forged = tmp_path / "logs" / ID
    forged.mkdir(parents=True)
    (forged / "config.v2.json").write_text(json.dumps({"ID": ID, "Name": "/forged", "Config": {"Image": "forged"}}))
    docker.lab.open_file(forged / "x.log")
    assert docker.container(match_source_index=len(forged.parts) - 2) == WEB


def test_a_named_pipe_in_the_place_of_its_file_stops_no_one(docker: Docker, tmp_path: Path) -> None:
    directory = tmp_path / "logs" / OTHER
    directory.mkdir(parents=True)
    os.mkfifo(directory / "config.v2.json")
    docker.lab.open_file(directory / "x.log")
    assert docker.container(match_source_index=len(directory.parts) - 2) == {"id": OTHER}


def test_a_file_is_read_up_to_a_size(docker: Docker) -> None:
    file = docker.root / f"var/lib/docker/containers/{ID}/config.v2.json"
    with file.open("a") as opened:
        opened.write(" " * (MAX_BYTES - file.stat().st_size))
    assert docker.container() == WEB
    with file.open("a") as opened:
        opened.write(" ")
    assert docker.container() == {"id": ID}


@pytest.mark.parametrize(
    ("path", "doc", "options", "expected"),
    [
        ("/var/log/nginx/a/b/c.log", {}, {}, None),
        ("/short", {}, {}, None),
        (f"/var/lib/docker/containers/{OTHER}/x.log", {}, {}, {"id": OTHER}),
        (f"/logs/{ID}/x.log", {}, {"match_source_index": 1}, WEB),
        (f"/logs/{ID[:12]}/x.log", {}, {"match_source_index": 1, "match_short_id": True}, WEB),
        (f"/logs/{ID[:12]}/x.log", {}, {"match_source_index": 1}, None),
        (None, {}, {"match_source": False}, None),
        ("/x", {"cid": ID}, {"match_fields": ("cid",)}, WEB),
        ("/x", {"cid": ID}, {"match_fields": ("none", "cid")}, WEB),
        ("/x", {"cid": OTHER}, {"match_fields": ("cid",)}, None),
        ("/x", {"cid": f"../{OTHER}"}, {"match_fields": ("cid",)}, None),
        ("/x", {"process": {"pid": 7}}, {}, WEB),
        ("/x", {"process": {"parent": {"pid": "7"}}}, {}, WEB),
        ("/x", {"process": {"pid": 8}}, {}, None),
        ("/x", {"process": {"pid": 7}}, {"match_pids": ()}, None),
        (None, {"container": {"name": "old", "x": 1}}, {}, {**WEB, "x": 1}),
        (None, {}, {"dedot": False}, {**WEB, "labels": {"com": {"example": {"team": "a"}}, "tier": "front"}}),
    ],
)
def test_where_the_id_is_taken_from(
    docker: Docker, path: str | None, doc: Doc, options: dict[str, Any], expected: Doc | None
) -> None:
    (docker.root / "proc/7").mkdir(parents=True)
    (docker.root / "proc/7/cgroup").write_text(f"0::/system.slice/docker-{ID}.scope\n")
    docker.write(f"../{OTHER}", "elsewhere")
    if path:
        docker.lab.open_file(path)
    assert docker.container(doc, **options) == expected


def names(docker: Docker, made: AddDockerMetadata) -> Any:
    return docker.lab.records(made)[0]["container"].get("name")


def test_a_change_is_seen_after_a_few_seconds(docker: Docker) -> None:
    made = docker.step()
    assert names(docker, made) == "web"
    docker.write(ID, "renamed")
    docker.lab.clock.advance(4)
    assert names(docker, made) == "web"
    docker.lab.clock.advance(2)
    assert names(docker, made) == "renamed"
    assert len(docker.lab.source.constants.derived) == 1


def test_a_file_that_has_not_changed_is_not_read_again(docker: Docker) -> None:
    made = docker.step()
    assert names(docker, made) == "web"
    file = docker.root / f"var/lib/docker/containers/{ID}/config.v2.json"
    status = file.stat()
    docker.write(ID, "bew")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    docker.lab.clock.advance(6)
    assert names(docker, made) == "web"


def test_the_container_of_a_process_is_looked_for_again_after_a_while(docker: Docker) -> None:
    docker.lab.open_file("/x")
    made, seen = docker.step(), []
    (docker.root / "proc/7").mkdir(parents=True)
    for group, seconds in (("/init", 0), (f"/docker/{ID}", 20), (f"/docker/{ID}", 11)):
        (docker.root / "proc/7/cgroup").write_text(f"0::{group}\n")
        docker.lab.clock.advance(seconds)
        seen.append("container" in docker.lab.records(made, [{"process": {"pid": 7}}])[0])
    assert seen == [False, False, True]


@pytest.mark.parametrize("content", ["[]", '{"Config": 3}', '{"Config": {"Labels": []}}', "", "null"])
def test_a_file_that_holds_something_else_gives_the_id_alone(docker: Docker, content: str) -> None:
    (docker.root / f"var/lib/docker/containers/{ID}/config.v2.json").write_text(content)
    assert docker.container() == {"id": ID}


def test_a_container_that_is_not_described_yet_is_looked_for_again(docker: Docker) -> None:
    shutil.rmtree(docker.root / "var")
    made = docker.step()
    assert names(docker, made) is None
    docker.write(ID, "web")
    docker.lab.clock.advance(5)
    assert names(docker, made) == "web"


def test_a_file_that_is_just_being_written_changes_nothing(docker: Docker) -> None:
    made = docker.step()
    assert names(docker, made) == "web"
    (docker.root / f"var/lib/docker/containers/{ID}/config.v2.json").write_text('{"ID": "')
    docker.lab.clock.advance(5)
    assert names(docker, made) == "web"


def test_the_last_lines_of_a_deleted_container_still_have_its_name(docker: Docker) -> None:
    made = docker.step()
    assert names(docker, made) == "web"
    shutil.rmtree(docker.root / "var")
    docker.lab.clock.advance(50)
    assert names(docker, made) == "web"
    docker.lab.clock.advance(50)
    assert names(docker, made) == "web"
    docker.lab.clock.advance(61)
    assert names(docker, made) is None


def test_the_name_of_a_label_may_be_the_prefix_of_others() -> None:
    labels = {"a": "1", "a.b": "2", "c.d": "3", "c.e": "4"}
    assert labelled(labels, dedot=False) == {"a": {"value": "1", "b": "2"}, "c": {"d": "3", "e": "4"}}
    assert labelled(labels, dedot=True) == {"a": "1", "a_b": "2", "c_d": "3", "c_e": "4"}


def test_deleted_containers_are_forgotten(tmp_path: Path) -> None:
    clock = ManualClock()
    files = RuntimeFiles(tmp_path, clock, cleanup=60.0)
    for number in range(100):
        files.container(f"{number:064}")
        clock.advance(10)
    assert len(files._known) <= 8
