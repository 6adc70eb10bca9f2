"""Where paths lead through links, which places are watched for that, and which files were missed there."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from log_shipper.shipper.inputs.files.discovery.directory_tree import Directories
from log_shipper.shipper.inputs.files.discovery.scanner import Scanner
from log_shipper.shipper.inputs.files.discovery.symlinks import (
    ANY_NAME,
    MAX_LINKED_NAMES,
    Inode,
    PathHistory,
    Place,
    ResolvedPath,
    Symlinks,
    follow,
)
from log_shipper.shipper.options.model import ScannerConfig
from tests.fakes import ManualClock


def write(path: Path, content: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def link(path: Path, target: str | Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return path


def way_of(path: Path) -> ResolvedPath:
    known: set[str] = set()
    way = follow(str(path), known)
    assert follow(str(path), known) == way, "with directories that are known"
    return way


# ------------------------------------------------------------------------------------------- where a path leads


def test_a_path_without_links_has_the_place_of_its_name(tmp_path: Path) -> None:
    file = write(tmp_path / "app.log")
    assert way_of(file) == ResolvedPath(str(file), (), (str(tmp_path), "app.log"), is_whole=True)


def test_each_link_of_a_chain_is_a_place_and_so_is_the_target(tmp_path: Path) -> None:
    target = write(tmp_path / "docker" / "0123" / "0123-json.log")
    pod = link(tmp_path / "pods" / "web" / "0.log", target)
    first = link(tmp_path / "containers" / "web.log", pod)
    links = (str(first.parent), "web.log"), (str(pod.parent), "0.log")
    assert way_of(first) == ResolvedPath(str(target), links, (str(target.parent), target.name), is_whole=True)


def test_links_to_directories_may_be_relative_and_lead_upwards(tmp_path: Path) -> None:
    file = write(tmp_path / "releases" / "3" / "logs" / "app.log")
    link(tmp_path / "srv" / "app" / "current", "../../releases//./3/")
    links = ((f"{tmp_path}/srv/app", "current"),)
    path = tmp_path / "srv" / "app" / "current" / "logs" / "app.log"
    assert way_of(path) == ResolvedPath(str(file), links, (str(file.parent), "app.log"), is_whole=True)


def test_a_link_that_leads_nowhere_has_the_place_of_the_first_missing_name(tmp_path: Path) -> None:
    path = link(tmp_path / "app.log", "x/y/z.log")
    links = ((str(tmp_path), "app.log"),)
    assert way_of(path) == ResolvedPath(f"{tmp_path}/x/y/z.log", links, (str(tmp_path), "x"), is_whole=False)
    (tmp_path / "x" / "y").mkdir(parents=True)
    assert way_of(path) == ResolvedPath(f"{tmp_path}/x/y/z.log", links, (f"{tmp_path}/x/y", "z.log"), is_whole=True)


def test_a_file_in_the_place_of_a_directory_ends_the_way(tmp_path: Path) -> None:
    write(tmp_path / "x")
    assert way_of(tmp_path / "x" / "a.log") == ResolvedPath(
        f"{tmp_path}/x/a.log", (), (str(tmp_path), "x"), is_whole=False
    )


@pytest.mark.parametrize("targets", [("a",), ("b", "a"), ("b", "c", "b"), ("a/a/a",)])
def test_a_circle_of_links_ends(tmp_path: Path, targets: Sequence[str]) -> None:
    for name, target in zip("abc", targets, strict=False):
        link(tmp_path / name, target)
    way = way_of(tmp_path / "a")
    assert not way.is_whole
    assert len(way.links) <= len(targets)


def test_a_way_of_too_many_names_ends(tmp_path: Path) -> None:
    write(tmp_path / "a.log")
    path = link(tmp_path / "link", "x/../" * MAX_LINKED_NAMES + "a.log")
    (tmp_path / "x").mkdir()
    assert path.read_text() == "x"
    assert not way_of(path).is_whole


def test_a_descriptor_of_a_process_ends_the_way(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    path = link(tmp_path / "a.log", f"/proc/{os.getpid()}/fd/{reading}")
    assert (str(tmp_path), "a.log") in way_of(path).links
    os.close(reading)
    os.close(writing)


# ---------------------------------------------------------------------------------------- what a scanner watches


def test_places_of_a_pattern_are_those_of_the_links_that_it_leads_to(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for number in range(3):
        link(logs / f"{number}.log", write(tmp_path / "shared" / f"{number}.txt"))
    link(tmp_path / "current", logs)
    scanner = Scanner((f"{tmp_path}/current/*.log",), ScannerConfig(symlinks=True))
    shared = {(f"{tmp_path}/shared", f"{number}.txt") for number in range(3)}
    names = {(str(logs), f"{number}.log") for number in range(3)}
    listed = {(f"{tmp_path}/current", ANY_NAME), (str(tmp_path), "current")}
    assert scanner.scan(full=False).places == listed | names | shared
    (logs / "0.log").unlink()
    places = scanner.scan(full=False).places
    assert (f"{tmp_path}/shared", "0.txt") not in places, "no link leads there any more"
    assert (f"{tmp_path}/shared", "1.txt") in places


def test_links_are_not_followed_where_they_are_not_read(tmp_path: Path) -> None:
    link(tmp_path / "logs" / "a.log", write(tmp_path / "other" / "a.txt"))
    places = Scanner((f"{tmp_path}/logs/*.log",), ScannerConfig()).scan(full=False).places
    assert places == {(f"{tmp_path}/logs", ANY_NAME)}


def test_a_link_is_followed_again_when_one_on_its_way_is_replaced(tmp_path: Path) -> None:
    one, two = write(tmp_path / "1" / "a.log"), write(tmp_path / "2" / "a.log")
    middle = link(tmp_path / "middle", one)
    link(tmp_path / "logs" / "a.log", middle)
    scanner = Scanner((f"{tmp_path}/logs/*.log",), ScannerConfig(symlinks=True))
    assert (str(one.parent), "a.log") in scanner.scan(full=False).places
    link(tmp_path / "next", two).replace(middle)
    assert (str(two.parent), "a.log") in scanner.scan(full=False).places


def test_a_link_that_leads_to_the_same_file_by_another_way_is_followed_after_a_hint(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt")
    middle = link(tmp_path / "middle", file)
    link(tmp_path / "logs" / "a.log", middle)
    directories = Directories(ManualClock().monotonic)
    scanner = Scanner((f"{tmp_path}/logs/*.log",), ScannerConfig(symlinks=True), directories=directories)
    directories.begin_round()
    scanner.scan(full=False)
    link(tmp_path / "next", link(tmp_path / "detour", file)).replace(middle)
    directories.begin_round({(str(tmp_path), "middle"): 1})
    assert (str(tmp_path), "detour") in scanner.scan(full=False).places


def test_a_partial_round_looks_only_where_there_was_a_hint(tmp_path: Path) -> None:
    targets = [write(tmp_path / "targets" / name) for name in ("a", "b")]
    for target in targets:
        link(tmp_path / "logs" / f"{target.name}.log", target)
    directories = Directories(ManualClock().monotonic)
    scanner = Scanner((f"{tmp_path}/logs/*.log",), ScannerConfig(symlinks=True), directories=directories)
    directories.begin_round()
    before = set(scanner.scan(full=False).files)
    for target in targets:
        target.rename(f"{target}.1")
        write(target)
    directories.begin_round({(f"{tmp_path}/targets", "a"): 1}, is_partial=True)
    assert len(before & set(scanner.scan(full=False).files)) == 1
    directories.begin_round()
    assert not before & set(scanner.scan(full=False).files)


# ------------------------------------------------------------------------------------------ files that were missed

A, B, C = (1, 1), (1, 2), (1, 3)


@dataclass(frozen=True)
class Look:
    """What a scan sees at the end of the path, and how often its name had appeared by the hints that had come."""

    key: Inode | None
    appeared: int = 0


@pytest.mark.parametrize(
    ("looks", "expected"),
    [
        pytest.param([Look(A), Look(B, 1), Look(C, 1)], 0, id="each was seen"),
        pytest.param([Look(A), Look(C, 2)], 1, id="one was not"),
        pytest.param([Look(A), Look(C, 5)], 4, id="four were not"),
        pytest.param([Look(A), Look(None), Look(B, 1)], 0, id="missing for a moment"),
        pytest.param([Look(A), Look(None, 1)], 1, id="came and went"),
        pytest.param([Look(A), Look(A, 1)], 0, id="moved away and back"),
        pytest.param([Look(A), Look(B), Look(B, 1)], 0, id="a hint that comes late"),
        pytest.param([Look(A), Look(B), Look(C), Look(C, 2)], 0, id="two hints that come late"),
        pytest.param([Look(A), Look(B), Look(C, 2)], 0, id="a hint that comes late, with the next one"),
        pytest.param([Look(A), Look(B), Look(C, 3)], 1, id="and one was not seen between these"),
        pytest.param([Look(A, 3)], 0, id="before it was watched"),
    ],
)
def test_files_that_appeared_and_were_not_seen_are_counted(tmp_path: Path, looks: list[Look], expected: int) -> None:
    path = str(write(tmp_path / "app.log"))
    symlinks = Symlinks()
    trail = PathHistory(path, symlinks, includes_last=True)
    counted = 0
    for look in looks:
        hints: dict[Place, int] = {(str(tmp_path), "app.log"): look.appeared} if look.appeared else {}
        symlinks.begin_round(hints, is_partial=False)
        for _ in range(2):  # a scan may look again
            trail.update(look.key)
        counted += sum(missed.count for missed in symlinks.missed.values())
    assert counted == expected


def test_a_directory_that_appears_on_the_way_to_a_file_is_no_file_that_was_missed(tmp_path: Path) -> None:
    symlinks = Symlinks()
    trail = PathHistory(f"{tmp_path}/x/app.log", symlinks, includes_last=True)
    symlinks.begin_round({}, is_partial=False)
    trail.update(None)
    (tmp_path / "x").mkdir()
    symlinks.begin_round({(str(tmp_path), "x"): 1}, is_partial=False)
    trail.update(None)
    assert (symlinks.missed, trail.places) == ({}, ((f"{tmp_path}/x", "app.log"),))
