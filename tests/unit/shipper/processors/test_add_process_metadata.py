"""add_process_metadata: from a /proc that the test writes, and from the real one."""

import os
from pathlib import Path
from typing import Any

import pytest

from log_shipper.shipper.event import Doc
from log_shipper.shipper.processor.metadata.proc import describe
from log_shipper.shipper.processors.add_process_metadata import AddProcessMetadata, AddProcessMetadataConfig
from tests.metadata_lab import MetadataLab

ID = "ab" * 32
TICKS = os.sysconf("SC_CLK_TCK")
EVERYTHING = {
    "name": "java (main)",
    "pid": 42,
    "parent": {"pid": 1},
    "executable": "/usr/bin/java",
    "args": ["java", "", "-jar", "app.jar"],
    "title": "java  -jar app.jar",
    "start_time": "2025-11-13T02:13:30.000Z",
    "owner": {"id": "0", "name": "root"},
}


@pytest.fixture
def lab() -> MetadataLab:
    return MetadataLab()


@pytest.fixture
def host(tmp_path: Path) -> Path:
    process = tmp_path / "proc/42"
    process.mkdir(parents=True)
    (tmp_path / "proc/stat").write_text("cpu 1 2\nbtime 1763000000\nprocesses 9\n")
    rest = " ".join(["0"] * 17)
    (process / "stat").write_text(f"42 (java (main)) S 1 {rest} {10 * TICKS} 0 0\n")
    (process / "status").write_text("Name:\tjava\nUid:\t0\t0\t0\t0\n")
    (process / "cmdline").write_bytes(b"java\0\0-jar\0app.jar\0")
    (process / "environ").write_bytes(b"HOME=/root\0EMPTY=\0odd\0")
    (process / "cgroup").write_text(f"12:pids:/docker/{ID}\n0::/system.slice\n")
    (process / "exe").symlink_to("/usr/bin/java")
    return tmp_path


def step(lab: MetadataLab, host: Path, **options: Any) -> AddProcessMetadata:
    return AddProcessMetadata(AddProcessMetadataConfig(host_path=str(host), **options), lab.context)


def one(lab: MetadataLab, host: Path, doc: Doc, **options: Any) -> Doc:
    return lab.records(step(lab, host, **options), [doc])[0]


def test_it_adds_all_that_it_knows(lab: MetadataLab, host: Path) -> None:
    record = one(lab, host, {"pid": 42}, match_pids=("pid",))
    assert record["process"] == EVERYTHING
    assert record["container"] == {"id": ID}


@pytest.mark.parametrize(
    ("options", "doc", "expected"),
    [
        ({"target": "by"}, {"pid": 42}, {"by": {"process": EVERYTHING, "container": {"id": ID}}}),
        ({"include_fields": ("process.name",)}, {"pid": "42"}, {"process": {"name": "java (main)"}}),
        ({"include_fields": ("process.owner",)}, {"pid": 42}, {"process": {"owner": {"id": "0", "name": "root"}}}),
        ({"include_fields": ("container",)}, {"pid": 42}, {"container": {"id": ID}}),
        (
            {"include_fields": ("process.name",), "target": "process.parent", "overwrite_keys": True},
            {"pid": 42},
            {"process": {"parent": {"name": "java (main)"}}},
        ),
        (
            {"include_fields": ("process.env",), "restricted_fields": True},
            {"pid": 42},
            {"process": {"env": {"HOME": "/root", "EMPTY": ""}}},
        ),
        (
            {"include_fields": ("process.name",), "match_pids": ("no", "pid")},
            {"pid": 42},
            {"process": {"name": "java (main)"}},
        ),
        (
            {"include_fields": ("process.name",), "overwrite_keys": True},
            {"pid": 42, "process": {"name": "old", "x": 1}},
            {"process": {"name": "java (main)", "x": 1}},
        ),
        ({}, {}, {"process": None, "error": None}),
        ({"cgroup_prefixes": ("/docker/",), "include_fields": ("container",)}, {"pid": 42}, {"container": {"id": ID}}),
        ({"cgroup_prefixes": ("/lxc/",), "include_fields": ("container",)}, {"pid": 42}, {"container": None}),
        (
            {"cgroup_regex": r"^/(\w+)\.slice", "include_fields": ("container",)},
            {"pid": 42},
            {"container": {"id": "system"}},
        ),
    ],
)
def test_options(lab: MetadataLab, host: Path, options: dict[str, Any], doc: Doc, expected: Doc) -> None:
    record = one(lab, host, doc, **{"match_pids": ("pid",), **options})
    assert {name: record.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("options", "doc", "words"),
    [
        ({}, {"pid": 43}, "process 43 does not exist"),
        ({}, {"pid": "x"}, "pid is not a process id: 'x'"),
        ({}, {"pid": True}, "pid is not a process id: True"),
        ({"ignore_missing": False}, {}, "all fields of match_pids are missing"),
        ({}, {"pid": 42, "process": {"name": "old"}}, "process.name already exists; set overwrite_keys to replace it"),
    ],
)
def test_an_error_is_reported_and_nothing_is_added(
    lab: MetadataLab, host: Path, options: dict[str, Any], doc: Doc, words: str
) -> None:
    record = one(lab, host, doc, match_pids=("pid",), **options)
    assert record["error"]["message"] == words
    assert record.get("container") is None


@pytest.mark.parametrize(("seconds", "seen"), [(29, "java (main)"), (31, "other")])
def test_what_is_known_of_a_process_is_used_for_a_while(
    lab: MetadataLab, host: Path, seconds: float, seen: str
) -> None:
    made = step(lab, host, match_pids=("pid",))
    lab.records(made, [{"pid": 42}])
    stat = host / "proc/42/stat"
    stat.write_text(stat.read_text().replace("java (main)", "other"))
    lab.clock.advance(seconds)
    assert lab.records(made, [{"pid": 42}])[0]["process"]["name"] == seen


def test_a_process_that_was_not_there_is_looked_for_again(lab: MetadataLab, host: Path) -> None:
    made = step(lab, host, match_pids=("pid",), include_fields=("process.pid",))
    lab.records(made, [{"pid": 43}])
    (host / "proc/42").rename(host / "proc/43")
    assert lab.records(made, [{"pid": 43}])[0]["process"] == {"pid": 43}


def test_what_may_not_be_seen_is_left_out(host: Path) -> None:
    for name in ("exe", "cmdline", "status"):
        (host / "proc/42" / name).unlink()
    assert describe(host / "proc", 42)["process"].keys() == {"name", "pid", "parent", "start_time"}


def test_this_very_process_is_found() -> None:
    process = describe(Path("/proc"), os.getpid(), environment=True)["process"]
    assert process["pid"] == os.getpid()
    assert process["parent"]["pid"] == os.getppid()
    assert process["executable"] == os.readlink("/proc/self/exe")
    assert process["owner"]["id"] == str(os.getuid())
    assert "PATH" in process["env"]


def test_the_number_may_be_one_for_the_whole_file(lab: MetadataLab, host: Path) -> None:
    lab.open_file("/x", {"pid": 42})
    assert lab.records(step(lab, host, match_pids=("pid",)))[1]["process"] == EVERYTHING


def test_only_some_events_may_have_the_number(lab: MetadataLab, host: Path) -> None:
    records = lab.records(step(lab, host, match_pids=("pid",)), [{}, {"pid": 42}])
    assert [record.get("process") for record in records] == [None, EVERYTHING]
