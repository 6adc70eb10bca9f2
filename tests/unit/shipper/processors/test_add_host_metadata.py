"""add_host_metadata: facts of the host, looked up now and then, written once for a file."""

import os
from pathlib import Path
from typing import Any

import pytest

from log_shipper.shipper.event import Doc
from log_shipper.shipper.processors.add_host_metadata import (
    AddHostMetadata,
    AddHostMetadataConfig,
    GeoConfig,
    addresses,
    containerized,
    machine_id,
    operating_system,
)
from tests.metadata_bench import MetadataBench

DEBIAN = """\
# a comment
PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
NAME="Debian GNU/Linux"
VERSION="12 (bookworm)"
VERSION_CODENAME=bookworm
ID=debian
"""
ARCH = 'NAME="Arch Linux"\nBUILD_ID=rolling\n'
UBUNTU = "NAME=Ubuntu\nID=ubuntu\nUBUNTU_CODENAME=noble\n"


@pytest.fixture
def bench() -> MetadataBench:
    return MetadataBench()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "etc/os-release", DEBIAN)
    write(tmp_path / "etc/machine-id", "abc123\n")
    return tmp_path


def write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def step(bench: MetadataBench, root: Path, **options: Any) -> AddHostMetadata:
    return AddHostMetadata(AddHostMetadataConfig(**options), bench.context, root)


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        (
            DEBIAN,
            {
                "type": "linux",
                "platform": "debian",
                "family": "debian",
                "name": "Debian GNU/Linux",
                "version": "12 (bookworm)",
                "codename": "bookworm",
            },
        ),
        (ARCH, {"type": "linux", "platform": "arch", "family": "arch", "name": "Arch Linux", "build": "rolling"}),
        (UBUNTU, {"type": "linux", "platform": "ubuntu", "family": "debian", "name": "Ubuntu", "codename": "noble"}),
        ("ID=odd", {"type": "linux", "platform": "odd"}),
        (None, {"type": "linux"}),
    ],
)
def test_the_operating_system_is_that_of_os_release(tmp_path: Path, release: str | None, expected: Doc) -> None:
    if release is not None:
        write(tmp_path / "etc/os-release", release)
    assert operating_system(tmp_path) == expected


def test_the_machine_has_an_id_in_one_of_several_places(tmp_path: Path) -> None:
    assert machine_id(tmp_path) == ""
    write(tmp_path / "var/lib/dbus/machine-id", "old\n")
    assert machine_id(tmp_path) == "old"
    write(tmp_path / "etc/machine-id", "new\n")
    assert machine_id(tmp_path) == "new"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (".dockerenv", "", True),
        ("run/.containerenv", "", True),
        ("proc/1/cgroup", "0::/kubepods.slice/pod1\n", True),
        ("proc/1/cgroup", "0::/init.scope\n", False),
        ("else", "", False),
    ],
)
def test_a_container_is_recognised_by_its_marks(tmp_path: Path, name: str, content: str, expected: bool) -> None:
    write(tmp_path / name, content)
    assert containerized(tmp_path) is expected


def test_addresses_are_those_of_all_interfaces_but_the_loopback() -> None:
    found = addresses()
    assert "127.0.0.1" not in found.get("ip", [])
    assert "::1" not in found.get("ip", [])
    assert all("%" not in ip for ip in found.get("ip", []))
    assert all(len(mac) == 17 and mac == mac.upper() and ":" not in mac for mac in found.get("mac", []))


def test_it_adds_the_facts_once_for_a_file(bench: MetadataBench, root: Path) -> None:
    made = step(bench, root, netinfo=False)
    record = bench.records(made)[0]
    assert bench.costs_nothing
    assert record["host"] == {
        "name": "web-1",
        "hostname": os.uname().nodename,
        "architecture": os.uname().machine,
        "id": "abc123",
        "containerized": False,
        "os": {
            "type": "linux",
            "platform": "debian",
            "family": "debian",
            "name": "Debian GNU/Linux",
            "version": "12 (bookworm)",
            "codename": "bookworm",
            "kernel": os.uname().release,
        },
    }


@pytest.mark.parametrize(
    ("options", "static", "doc", "expected"),
    [
        ({}, {}, {}, {"name": "web-1", "id": "abc123"}),
        ({"host_name": "mine"}, {}, {}, {"name": "mine", "id": "abc123"}),
        ({"geo": GeoConfig(name="rack", city_name=" ")}, {}, {}, {"geo": {"name": "rack"}}),
        ({}, {}, {"host": {"name": "own", "x": 1}}, {"name": "own", "id": "abc123", "x": 1}),
        ({"replace_fields": False}, {}, {"host": {"name": "own"}}, {"id": "abc123"}),
        ({"replace_fields": False}, {}, {"host": {"name": "own", "x": 1}}, {"id": None, "x": 1}),
        ({}, {}, {"host": {"x": 1}}, {"name": os.uname().nodename, "x": 1}),
    ],
)
def test_what_the_event_has_is_kept_or_replaced(
    bench: MetadataBench, root: Path, options: dict[str, Any], static: Doc, doc: Doc, expected: Doc
) -> None:
    found = bench.records(step(bench, root, **options), [doc])[0]["host"]
    assert {name: found.get(name) for name in expected} == expected


def test_an_event_whose_host_is_no_object_says_so(bench: MetadataBench, root: Path) -> None:
    record = bench.records(step(bench, root), [{"host": "text"}])[0]
    assert record["host"] == "text"
    assert record["error"]["type"] == "add_host_metadata"
    assert bench.metrics.processor_failures == 1


@pytest.mark.parametrize(("seconds", "seen"), [(299, "abc123"), (300, "changed")])
def test_facts_are_looked_up_again_after_their_time(
    bench: MetadataBench, root: Path, seconds: float, seen: str
) -> None:
    made = step(bench, root)
    bench.records(made)
    write(root / "etc/machine-id", "changed\n")
    bench.clock.advance(seconds)
    assert bench.records(made)[0]["host"]["id"] == seen


def test_a_negative_time_is_to_look_each_time(bench: MetadataBench, root: Path) -> None:
    made = step(bench, root, ttl=0.0)
    write(root / "etc/machine-id", "changed\n")
    assert bench.records(made)[0]["host"]["id"] == "changed"


def test_a_file_keeps_only_what_its_facts_are_now(bench: MetadataBench, root: Path) -> None:
    made = step(bench, root, ttl=0.0, netinfo=False)
    for number in range(3):
        write(root / "etc/machine-id", f"{number}\n")
        bench.records(made)
        bench.records(made)
    assert len(bench.source.constants.derived) == 1


def test_facts_that_are_the_same_change_nothing(bench: MetadataBench, root: Path) -> None:
    made = step(bench, root, ttl=0.0)
    bench.records(made)
    before = bench.batch.constants
    bench.records(made)
    assert bench.batch.constants is before
