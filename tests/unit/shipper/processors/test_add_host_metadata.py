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
from tests.metadata_lab import MetadataLab

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
def lab() -> MetadataLab:
    return MetadataLab()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "etc/os-release", DEBIAN)
    write(tmp_path / "etc/machine-id", "abc123\n")
    return tmp_path


def write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def step(lab: MetadataLab, root: Path, **options: Any) -> AddHostMetadata:
    return AddHostMetadata(AddHostMetadataConfig(**options), lab.context, root)


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


def test_it_adds_the_facts_once_for_a_file(lab: MetadataLab, root: Path) -> None:
    made = step(lab, root, netinfo=False)
    record = lab.records(made)[0]
    assert lab.costs_nothing
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
    lab: MetadataLab, root: Path, options: dict[str, Any], static: Doc, doc: Doc, expected: Doc
) -> None:
    found = lab.records(step(lab, root, **options), [doc])[0]["host"]
    assert {name: found.get(name) for name in expected} == expected


def test_an_event_whose_host_is_no_object_says_so(lab: MetadataLab, root: Path) -> None:
    record = lab.records(step(lab, root), [{"host": "text"}])[0]
    assert record["host"] == "text"
    assert record["error"]["type"] == "add_host_metadata"
    assert lab.metrics.processor_failures == 1


@pytest.mark.parametrize(("seconds", "seen"), [(299, "abc123"), (300, "changed")])
def test_facts_are_looked_up_again_after_their_time(lab: MetadataLab, root: Path, seconds: float, seen: str) -> None:
    made = step(lab, root)
    lab.records(made)
    write(root / "etc/machine-id", "changed\n")
    lab.clock.advance(seconds)
    assert lab.records(made)[0]["host"]["id"] == seen


def test_a_negative_time_is_to_look_each_time(lab: MetadataLab, root: Path) -> None:
    made = step(lab, root, ttl=0.0)
    write(root / "etc/machine-id", "changed\n")
    assert lab.records(made)[0]["host"]["id"] == "changed"


def test_a_file_keeps_only_what_its_facts_are_now(lab: MetadataLab, root: Path) -> None:
    made = step(lab, root, ttl=0.0, netinfo=False)
    for number in range(3):
        write(root / "etc/machine-id", f"{number}\n")
        lab.records(made)
        lab.records(made)
    assert len(lab.source.constants.derived) == 1


def test_facts_that_are_the_same_change_nothing(lab: MetadataLab, root: Path) -> None:
    made = step(lab, root, ttl=0.0)
    lab.records(made)
    before = lab.batch.constants
    lab.records(made)
    assert lab.batch.constants is before
