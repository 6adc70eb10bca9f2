import os
import random
import shutil
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from log_shipper.shipper.inputs.files.discovery.directory import TICK, Kind, kind_of
from log_shipper.shipper.inputs.files.discovery.directory_tree import Directories
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile, Scanner, ScanResult
from log_shipper.shipper.inputs.files.discovery.symlinks import ANY_NAME
from log_shipper.shipper.options.model import ScannerConfig
from tests.capabilities import without_capabilities
from tests.fakes import ManualClock
from tests.model.seeds import for_each_seed

CLOCK_OF_FILES = 5  # CLOCK_REALTIME_COARSE, which ticks every few milliseconds
NONE_MATCHES = "matches no file"


class Search:
    """A scanner of one pattern below a directory, and the answers of its scans as names relative to that."""

    def __init__(self, place: Path, *patterns: str, **options: Any) -> None:
        self.place = place
        self.clock = ManualClock()
        paths = tuple(os.path.join(place, pattern) for pattern in patterns)
        self.progress = 0
        self.scanner = Scanner(paths, ScannerConfig(**options), self.clock.monotonic, self._progressed)

    def _progressed(self) -> None:
        self.progress += 1

    def progress_of(self, *, full: bool) -> int:
        """Return how often a scan reports its progress."""
        self.progress = 0
        self.listing(full=full)
        return self.progress

    def listing(self, *, full: bool = False) -> ScanResult:
        return self.scanner.scan(full=full)

    def names(self, *, full: bool = False) -> list[str]:
        return sorted(os.path.relpath(file.path, self.place) for file in self.listing(full=full).files.values())

    def problems(self) -> dict[str, str]:
        """Those of what cannot be read, and of patterns without a match."""
        listing = self.listing()
        return {
            os.path.relpath(path, self.place): text for path, text in (listing.problems | listing.unmatched).items()
        }

    def list_until_reliable(self) -> ScanResult:
        """List twice, so that nothing is listed again without a reason."""
        self.listing()
        self.advance(TICK)
        return self.listing()

    def advance(self, seconds: float) -> None:
        """Move the file system's clock too, by one tick: the next change gets another time."""
        self.clock.advance(seconds)
        before = time.clock_gettime_ns(CLOCK_OF_FILES)
        while time.clock_gettime_ns(CLOCK_OF_FILES) == before:
            pass


def write(path: Path, content: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


# ------------------------------------------------------------------------------------------------ what is found


def test_files_are_found_with_size_and_identity(tmp_path: Path) -> None:
    write(tmp_path / "a.log", "12345")
    (file,) = Search(tmp_path, "*.log").listing().files.values()
    status = (tmp_path / "a.log").stat()
    key = status.st_dev, status.st_ino
    assert file == ScannedFile(str(tmp_path / "a.log"), key, 5, status.st_mtime, status.st_ctime_ns)


def test_a_file_that_two_patterns_name_counts_once(tmp_path: Path) -> None:
    write(tmp_path / "a.log")
    assert Search(tmp_path, "*.log", "a*", "a.log", "**/a.log").names() == ["a.log"]


def test_only_regular_files_count_and_a_wildcard_reports_no_others(tmp_path: Path) -> None:
    (tmp_path / "dir.log").mkdir()
    os.mkfifo(tmp_path / "pipe.log")
    (tmp_path / "links.log").symlink_to("dir.log")
    write(tmp_path / "a.log")
    search = Search(tmp_path, "*.log", symlinks=True)
    assert (search.names(), search.problems()) == (["a.log"], {})


@pytest.mark.parametrize(
    ("recursive", "expected"),
    [(True, ["top.log", "x/.y/.hidden.log", "x/one.log"]), (False, ["x/one.log"])],
)
def test_two_stars_reach_every_depth_unless_that_is_off(tmp_path: Path, recursive: bool, expected: list[str]) -> None:
    for name in ["top.log", "x/one.log", "x/.y/.hidden.log"]:
        write(tmp_path / name)
    assert Search(tmp_path, "**/*.log", recursive_glob=recursive).names() == expected


def test_two_stars_at_the_end_are_all_files_below(tmp_path: Path) -> None:
    for name in ["a", "x/b", "x/y/c"]:
        write(tmp_path / name)
    assert Search(tmp_path, "**").names() == ["a", "x/b", "x/y/c"]


def test_two_stars_in_two_places(tmp_path: Path) -> None:
    for name in ["a/logs/x.log", "b/c/logs/d/y.log", "b/c/z.log"]:
        write(tmp_path / name)
    assert Search(tmp_path, "**/logs/**/*.log").names() == ["a/logs/x.log", "b/c/logs/d/y.log"]


def test_a_circle_of_links_is_walked_once(tmp_path: Path) -> None:
    write(tmp_path / "a" / "one.log")
    (tmp_path / "a" / "up").symlink_to("..")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "self").symlink_to("self")
    search = Search(tmp_path, "**/*.log")
    assert (search.names(), search.problems()) == (["a/one.log"], {})


def test_two_stars_go_through_a_link_that_leads_outside(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "one.log")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "out").symlink_to("../elsewhere")
    assert Search(tmp_path, "logs/**/*.log").names() == ["logs/out/one.log"]


def test_directories_in_the_middle_may_be_links(tmp_path: Path) -> None:
    write(tmp_path / "releases" / "2" / "logs" / "a.log")
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "current").symlink_to("../releases/2")
    assert Search(tmp_path, "app/*/logs/*.log").names() == ["app/current/logs/a.log"]
    assert Search(tmp_path, "app/current/logs/*.log").names() == ["app/current/logs/a.log"]


def test_names_that_are_not_utf8_are_found(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9-\xff.log")
    write(tmp_path / name)
    assert Search(tmp_path, "*.log").names() == [name]
    assert Search(tmp_path, "caf?-?.log").names() == [name]


def test_a_relative_path_counts_from_where_the_scanner_was_made(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.log")
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        scanner = Scanner(("logs/../logs/*.log",), ScannerConfig())
    finally:
        os.chdir(here)
    assert [file.path for file in scanner.scan(full=False).files.values()] == [f"{tmp_path}/logs/a.log"]


def test_exclude_and_include_are_searched_for_in_the_path(tmp_path: Path) -> None:
    for name in ["app/a.log", "app/a.log.gz", "nginx/b.log", "nginx/c.txt"]:
        write(tmp_path / name)
    assert Search(tmp_path, "*/*", exclude_files=(r"\.gz$", "^app"), include_files=(r"/app/", r"b\.log$")).names() == [
        "app/a.log",
        "nginx/b.log",
    ]


# --------------------------------------------------------------------------------------- one file, several names


def test_hard_links_count_once_under_the_first_name(tmp_path: Path) -> None:
    write(tmp_path / "b.log")
    os.link(tmp_path / "b.log", tmp_path / "a.log")
    assert Search(tmp_path, "*.log").names() == ["a.log"]


def test_a_real_name_is_preferred_to_a_link(tmp_path: Path) -> None:
    write(tmp_path / "z.log")
    (tmp_path / "a.log").symlink_to("z.log")
    assert Search(tmp_path, "*.log", symlinks=True).names() == ["z.log"]
    assert Search(tmp_path, "a.log", "z.log", symlinks=True).names() == ["z.log"]


def test_a_name_below_a_real_directory_is_preferred_to_one_below_a_link(tmp_path: Path) -> None:
    write(tmp_path / "real" / "x.log")
    (tmp_path / "link").symlink_to("real")
    assert Search(tmp_path, "*/x.log").names() == ["real/x.log"]


def test_a_file_keeps_its_name_while_that_is_there(tmp_path: Path) -> None:
    write(tmp_path / "m.log")
    search = Search(tmp_path, "*.log")
    assert search.names() == ["m.log"]
    os.link(tmp_path / "m.log", tmp_path / "a.log")
    assert search.names() == ["m.log"]
    assert search.names(full=True) == ["m.log"]
    (tmp_path / "m.log").unlink()
    assert search.names() == ["a.log"]


# ---------------------------------------------------------------------------------------------------- symlinks


def test_a_link_is_not_read_and_that_is_reported_where_nothing_else_matches(tmp_path: Path) -> None:
    write(tmp_path / "pods" / "a.log")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "a.log").symlink_to("../pods/a.log")
    search = Search(tmp_path, "links/*.log")
    assert search.names() == []
    assert search.problems() == {
        "links/*.log": "matches only symbolic links: set prospector.scanner.symlinks: true to read symbolic links"
    }
    assert Search(tmp_path, "links/*.log", symlinks=True).names() == ["links/a.log"]


def test_a_link_that_is_named_in_full_and_not_read_is_a_problem(tmp_path: Path) -> None:
    write(tmp_path / "a.log")
    (tmp_path / "current.log").symlink_to("a.log")
    (problem,) = Search(tmp_path, "current.log").problems().values()
    assert problem.startswith("is a symbolic link and is not read: set prospector.scanner.symlinks: true")
    assert Search(tmp_path, "current.log", symlinks=True).names() == ["current.log"]


@pytest.mark.parametrize("pattern", ["current.log", "cur*.log"])
def test_a_link_that_leads_nowhere_is_a_problem_until_it_leads_somewhere(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "current.log").symlink_to("app/a.log")
    search = Search(tmp_path, pattern, symlinks=True)
    expected = f"is a broken symbolic link: {tmp_path}/app/a.log: No such file or directory"
    assert search.problems() == {"current.log": expected}
    search.list_until_reliable()
    write(tmp_path / "app" / "a.log")
    assert (search.names(), search.problems()) == (["current.log"], {})


@pytest.mark.parametrize("pattern", ["current.log", "cur*.log", "current.l[o]g"])
def test_a_link_that_is_swapped_to_a_new_target_is_seen_at_the_next_scan(tmp_path: Path, pattern: str) -> None:
    targets = [write(tmp_path / "app" / name) for name in ("1", "2")]
    (tmp_path / "current.log").symlink_to("app/1")
    search = Search(tmp_path, pattern, symlinks=True)
    assert [file.inode[1] for file in search.list_until_reliable().files.values()] == [targets[0].stat().st_ino]
    (tmp_path / "next").symlink_to("app/2")
    (tmp_path / "next").replace(tmp_path / "current.log")
    assert [file.inode[1] for file in search.listing().files.values()] == [targets[1].stat().st_ino]


def test_a_link_whose_target_is_replaced_elsewhere_is_seen_at_the_next_scan(tmp_path: Path) -> None:
    write(tmp_path / "app" / "1")
    new = write(tmp_path / "app" / "new")
    (tmp_path / "current.log").symlink_to("app/1")
    search = Search(tmp_path, "*.log", symlinks=True)
    search.list_until_reliable()
    inode = new.stat().st_ino
    new.replace(tmp_path / "app" / "1")
    assert [file.inode[1] for file in search.listing().files.values()] == [inode]


def test_exclude_and_include_count_for_the_target_of_a_link_too(tmp_path: Path) -> None:
    write(tmp_path / "kube-system" / "a")
    write(tmp_path / "shop" / "b")
    (tmp_path / "a.log").symlink_to("kube-system/a")
    (tmp_path / "b.log").symlink_to("shop/b")
    assert Search(tmp_path, "*.log", symlinks=True, exclude_files=("kube-system",)).names() == ["b.log"]
    assert Search(tmp_path, "*.log", symlinks=True, include_files=("kube-system",)).names() == []


# ---------------------------------------------------------------------------------------------------- problems


def test_a_pattern_without_a_file_is_a_problem_until_there_is_one(tmp_path: Path) -> None:
    search = Search(tmp_path, "*.log", "b.txt")
    assert search.problems() == {"*.log": NONE_MATCHES, "b.txt": NONE_MATCHES}
    assert search.listing().problems == {}
    write(tmp_path / "a.log")
    write(tmp_path / "b.txt")
    assert search.problems() == {}
    (tmp_path / "a.log").unlink()
    assert search.problems() == {"*.log": NONE_MATCHES}


def test_a_pattern_whose_files_are_all_excluded_has_that_problem(tmp_path: Path) -> None:
    write(tmp_path / "a.log")
    search = Search(tmp_path, "*.log", exclude_files=("a",))
    search.list_until_reliable()
    assert search.problems() == {"*.log": "exclude_files and include_files leave out every file that it matches"}


def test_what_is_no_pattern_is_a_problem_and_the_others_are_followed(tmp_path: Path) -> None:
    write(tmp_path / "a.log")
    search = Search(tmp_path, "[a.log", "*.log")
    assert search.names() == ["a.log"]
    assert "a set must be complete" in search.problems()["[a.log"]


def test_a_path_that_is_no_regular_file_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(tmp_path)  # the path of a socket must be short
        server.bind("socket")
        os.chdir(here)
    search = Search(tmp_path, "directory/", "fifo", "socket", "/dev/null")
    kinds = {os.path.basename(path): text for path, text in search.problems().items()}
    assert kinds == {
        "directory": "is a directory, not a regular file",
        "fifo": "is a FIFO, not a regular file",
        "socket": "is a socket, not a regular file",
        "null": "is a device, not a regular file",
    }


def test_a_directory_that_cannot_be_read_is_a_problem_and_its_files_are_taken_to_be_there(tmp_path: Path) -> None:
    write(tmp_path / "app" / "a.log")
    search = Search(tmp_path, "*/*.log")
    search.list_until_reliable()
    with without_capabilities():
        (tmp_path / "app").chmod(0o000)
        assert search.problems() == {"app": "the directory cannot be listed: Permission denied"}
        assert search.names() == ["app/a.log"]
        assert search.names(full=True) == ["app/a.log"]
        (tmp_path / "app").chmod(0o700)
        assert (search.names(), search.problems()) == (["app/a.log"], {})


def test_a_directory_that_could_never_be_read_is_picked_up_when_it_can(tmp_path: Path) -> None:
    write(tmp_path / "app" / "a.log")
    search = Search(tmp_path, "app/*.log")
    with without_capabilities():
        (tmp_path / "app").chmod(0o000)
        assert search.problems() == {
            "app": "the directory cannot be listed: Permission denied",
            "app/*.log": NONE_MATCHES,
        }
        (tmp_path / "app").chmod(0o500)
        assert (search.names(), search.problems()) == (["app/a.log"], {})


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("app/*.log", {"app": "files in this directory cannot be accessed: Permission denied"}),
        ("app/a.log", {"app/a.log": "cannot be accessed: Permission denied"}),
        ("app/logs/*.log", {"app/logs": "the directory cannot be accessed: Permission denied"}),
        ("lin*.log", {"link.log": "cannot be accessed: Permission denied"}),
    ],
)
def test_a_file_that_cannot_be_inspected_is_a_problem_until_it_can(
    tmp_path: Path, pattern: str, problem: dict[str, str]
) -> None:
    write(tmp_path / "app" / "a.log")
    write(tmp_path / "app" / "logs" / "b.log")
    (tmp_path / "link.log").symlink_to("app/a.log")
    search = Search(tmp_path, pattern, symlinks=True)
    with without_capabilities():
        (tmp_path / "app").chmod(0o600)
        assert search.names() == []
        if pattern == "app/logs/*.log":
            assert search.problems() == problem | {
                pattern: f"matches no file: directory {tmp_path}/app/logs does not exist"
            }
        else:
            assert search.problems() == problem
        (tmp_path / "app").chmod(0o700)
        assert (len(search.names()), search.problems()) == (1, {})
        (tmp_path / "app").chmod(0o600)
        assert len(search.names(full=True)) == 1
        assert search.problems() == problem


# ------------------------------------------------------------------------------------- directories to be watched


def test_directories_are_all_that_a_pattern_looks_through(tmp_path: Path) -> None:
    write(tmp_path / "app" / "logs" / "a.log")
    (tmp_path / "other").mkdir()
    places = Search(tmp_path, "*/logs/*.log", "other/b.log").listing().places
    listed = {(str(tmp_path), ANY_NAME), (f"{tmp_path}/app/logs", ANY_NAME)}
    assert places == {*listed, (f"{tmp_path}/other", "logs"), (f"{tmp_path}/other", "b.log")}


@pytest.mark.parametrize("pattern", ["x/y/z/*.log", "x/y/z/a.log", "x/*/z/*.log"])
def test_where_a_directory_is_missing_the_deepest_above_it_is_watched(tmp_path: Path, pattern: str) -> None:
    search = Search(tmp_path, pattern)
    assert search.listing().places == {(str(tmp_path), "x")}
    assert search.names() == []
    (tmp_path / "x").mkdir()
    assert (f"{tmp_path}/x", "y" if "*" not in pattern[:3] else ANY_NAME) in search.listing(full=True).places
    (tmp_path / "x" / "y").mkdir()
    assert (f"{tmp_path}/x/y", "z") in search.listing(full=True).places
    write(tmp_path / "x" / "y" / "z" / "a.log")
    assert search.names() == ["x/y/z/a.log"]
    assert (f"{tmp_path}/x/y/z", "a.log" if pattern.endswith("a.log") else ANY_NAME) in search.listing().places
    shutil.rmtree(tmp_path / "x")
    assert search.names() == []
    assert search.listing().places == {(str(tmp_path), "x")}


def test_a_missing_directory_is_named_in_the_problem(tmp_path: Path) -> None:
    search = Search(tmp_path, "no/*.log", "no/a.log")
    assert set(search.problems().values()) == {f"matches no file: directory {tmp_path}/no does not exist"}


def test_a_file_in_the_place_of_a_directory_has_no_files(tmp_path: Path) -> None:
    write(tmp_path / "app")
    write(tmp_path / "x" / "a.log")
    search = Search(tmp_path, "*/*.log", "app/a.log", "app/*.log", "app/x/*.log")
    assert search.names() == ["x/a.log"]
    assert set(search.problems()) == {"app/a.log", "app/*.log", "app/x/*.log"}


# ------------------------------------------------------------------------------------------- what a scan costs


def test_the_very_same_listing_comes_back_while_nothing_changes(tmp_path: Path) -> None:
    file = write(tmp_path / "app" / "a.log")
    (tmp_path / "link.log").symlink_to("app/a.log")
    search = Search(tmp_path, "*/*.log", "**/*.log", "no.log", "link.log", symlinks=True)
    listing = search.list_until_reliable()
    assert search.listing() is listing
    write(file, "more than before")
    assert search.listing() is listing
    fresh = search.listing(full=True)
    assert [file.size for file in fresh.files.values()] == [16]
    assert search.listing(full=True) is fresh


@pytest.mark.parametrize("pattern", ["a.log", "*.log", "link"])
def test_a_full_scan_gives_the_current_size(tmp_path: Path, pattern: str) -> None:
    write(tmp_path / "a.log")
    (tmp_path / "link").symlink_to("a.log")
    search = Search(tmp_path, pattern, symlinks=True)
    search.list_until_reliable()
    write(tmp_path / "a.log", "grown")
    assert [file.size for file in search.listing().files.values()] == [1]
    assert [file.size for file in search.listing(full=True).files.values()] == [5]


def test_a_listing_is_new_when_a_directory_was_replaced_by_an_equal_one(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    search = Search(tmp_path, "app/*.log")
    before = search.list_until_reliable()
    (tmp_path / "app").rename(tmp_path / "old")
    (tmp_path / "app").mkdir()
    after = search.listing()
    assert after == before
    assert after is not before


def test_a_name_that_was_inspected_is_not_inspected_again(tmp_path: Path) -> None:
    write(tmp_path / "a.log")
    search = Search(tmp_path, "*.log")
    (before,) = search.list_until_reliable().files.values()
    write(tmp_path / "a.log", "grown")
    write(tmp_path / "b.log")
    files = search.listing().files
    assert len(files) == 2
    assert files[before.inode] is before


def test_a_change_within_the_same_tick_of_the_file_system_is_seen(tmp_path: Path) -> None:
    """A directory of /proc has a stamp that does not change while something holds it: else the kernel may forget it,
    and make it with another stamp."""
    place = f"/proc/{os.getpid()}/fd"
    held = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    clock = ManualClock()
    scanner = Scanner((f"{place}/90[0-9]",), ScannerConfig(symlinks=True), clock.monotonic)
    files = [write(tmp_path / name) for name in ("early", "late")]
    early, late = [(file.stat().st_dev, file.stat().st_ino) for file in files]
    scanner.scan(full=False)
    with opened_as(900, files[0]):
        clock.advance(TICK - 0.1)
        assert early in scanner.scan(full=False).files
        clock.advance(TICK)
        scanner.scan(full=False)
        with opened_as(901, files[1]):
            assert late not in scanner.scan(full=False).files  # a tick is over: such a change gives a new stamp
            assert late in scanner.scan(full=True).files
    os.close(held)


@contextmanager
def opened_as(fd: int, path: Path) -> Iterator[None]:
    with path.open() as file:
        os.dup2(file.fileno(), fd)
    yield
    os.close(fd)


@pytest.mark.parametrize("scans", [0, 1])
def test_a_file_that_is_moved_while_directories_are_listed_is_not_missed(tmp_path: Path, scans: int) -> None:
    write(tmp_path / "b" / "x.log")
    (tmp_path / "a").mkdir()
    asked = 0

    def monotonic() -> float:
        """Return the time. The clock is asked before each directory is looked at: here `b`, when `a` is listed
        already."""
        nonlocal asked
        asked += 1
        if (tmp_path / "b" / "x.log").exists() and asked == move_at:
            (tmp_path / "b" / "x.log").rename(tmp_path / "a" / "x.log")
        return 0.0

    move_at = 0
    scanner = Scanner((f"{tmp_path}/*/*.log",), ScannerConfig(), monotonic)
    for _ in range(scans):
        assert len(scanner.scan(full=False).files) == 1
    move_at = asked + (3 if scans else 5)
    assert [file.path for file in scanner.scan(full=False).files.values()] == [f"{tmp_path}/a/x.log"]


def test_what_no_pattern_leads_to_any_more_is_forgotten(tmp_path: Path) -> None:
    write(tmp_path / "app" / "a.log")
    (tmp_path / "link.log").symlink_to("app/a.log")
    search = Search(tmp_path, "**/*.log", symlinks=True)
    search.listing()
    shutil.rmtree(tmp_path / "app")
    (tmp_path / "link.log").unlink()
    search.listing()
    assert list(search.scanner._tree.directories) == [str(tmp_path)]
    assert not search.scanner._probes


def test_a_name_that_another_file_took_is_inspected(tmp_path: Path) -> None:
    write(tmp_path / "a.log")
    search = Search(tmp_path, "*.log")
    search.list_until_reliable()
    new = write(tmp_path / "new")
    inode = new.stat().st_ino
    new.replace(tmp_path / "a.log")
    assert [file.inode[1] for file in search.listing().files.values()] == [inode]


def test_a_directory_that_another_took_the_place_of_is_listed(tmp_path: Path) -> None:
    write(tmp_path / "app" / "a.log")
    new = write(tmp_path / "new" / "a.log")
    search = Search(tmp_path, "app/*.log")
    search.list_until_reliable()
    inode = new.stat().st_ino
    (tmp_path / "app").rename(tmp_path / "old")
    (tmp_path / "new").rename(tmp_path / "app")
    assert [file.inode[1] for file in search.listing().files.values()] == [inode]


class Entry:
    """A name on a file system that lists no kinds, in a directory that cannot be read."""

    def is_file(self, *, follow_symlinks: bool) -> bool:
        raise PermissionError(13, "Permission denied")


def test_a_name_whose_kind_is_hidden_counts_as_a_file_until_it_is_inspected() -> None:
    assert kind_of(Entry()) is Kind.FILE  # type: ignore[arg-type]  # it has the method that is used


# --------------------------------------------------------------------------------------- against a plain search


def plain_search(place: Path) -> dict[tuple[int, int], set[str]]:
    """Every regular file below a directory, with all of its names."""
    file: dict[tuple[int, int], set[str]] = {}
    for where, _, names in os.walk(place):
        for name in names:
            status = os.lstat(os.path.join(where, name))
            if stat.S_ISREG(status.st_mode) and name.endswith(".log"):
                file.setdefault((status.st_dev, status.st_ino), set()).add(os.path.join(where, name))
    return file


@for_each_seed(20)
def test_after_any_changes_a_scan_finds_what_a_plain_search_finds(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    search = Search(tmp_path, "**/*.log")
    for step in range(60):
        change(rng, tmp_path, step)
        if rng.random() < 0.5:
            search.advance(TICK)
        files = search.listing(full=rng.random() < 0.1).files
        expected = plain_search(tmp_path)
        assert files.keys() == expected.keys()
        assert all(file.path in expected[key] for key, file in files.items())


def change(rng: random.Random, place: Path, step: int) -> None:
    here = rng.choice([place, *(path for path in place.rglob("*") if path.is_dir())])
    names = sorted(path for path in here.iterdir() if path.is_file())
    match rng.choice(["write", "write", "mkdir", "rename", "unlink", "link", "move", "rmtree"]):
        case "write":
            write(here / f"{rng.choice('abc')}.log")
        case "mkdir":
            (here / rng.choice("xy")).mkdir(exist_ok=True)
        case "rename" if names:
            rng.choice(names).replace(here / f"{rng.choice('abc')}.log")
        case "unlink" if names:
            rng.choice(names).unlink()
        case "link" if names:
            os.link(rng.choice(names), here / f"link-{step}.log")
        case "move" if here != place:
            here.rename(place / f"moved-{step}")
        case "rmtree" if here != place:
            shutil.rmtree(here)
        case _:
            pass


def test_each_directory_and_each_file_that_a_scan_looks_at_is_progress(tmp_path: Path) -> None:
    for name in ("a/1.log", "a/2.log", "b/1.log"):
        write(tmp_path / name)
    search = Search(tmp_path, "*/*.log")
    directories, entries, files = 3, 5, 3
    assert search.progress_of(full=True) == directories + entries + files + directories  # at last: are these as listed?
    search.list_until_reliable()
    assert search.progress_of(full=False) == directories, "nothing has changed"


def test_each_path_that_is_named_in_full_is_progress(tmp_path: Path) -> None:
    write(tmp_path / "1.log")
    search = Search(tmp_path, "1.log", "2.log")
    assert [search.progress_of(full=full) for full in (False, False, True)] == [2, 2, 2]


def test_scanners_with_directories_in_common_list_them_once_and_miss_no_change(tmp_path: Path) -> None:
    clock = ManualClock()
    counted = 0

    def count() -> None:
        nonlocal counted
        counted += 1

    directories = Directories(clock.monotonic, count)
    ids = [f"{number:032d}" for number in range(20)]
    patterns = [(f"{tmp_path}/*-{identity}.log",) for identity in ids]
    scanners = [Scanner(paths, ScannerConfig(), clock.monotonic, directories=directories) for paths in patterns]

    def scan() -> list[list[str]]:
        nonlocal counted
        counted = 0
        directories.begin_round()
        return [[Path(file.path).name for file in scanner.scan(full=False).files.values()] for scanner in scanners]

    assert scan() == [[]] * 20
    for identity in ids[:10]:
        (tmp_path / f"web-{identity}.log").touch()
    assert scan() == [[f"web-{identity}.log"] for identity in ids[:10]] + [[]] * 10
    assert counted < 60, "of 20 scanners with 10 files, each directory would be listed 20 times"
    clock.advance(2 * TICK)
    scan()
    (tmp_path / f"web-{ids[0]}.log").unlink()
    (tmp_path / f"db-{ids[19]}.log").touch()
    assert scan()[0] == []
    assert scan()[19] == [f"db-{ids[19]}.log"]
    late = Scanner((f"{tmp_path}/*",), ScannerConfig(), clock.monotonic, directories=directories)
    assert len(late.scan(full=False).files) == 10


def test_what_changes_between_two_scanners_of_one_directory_is_left_to_the_next_round(tmp_path: Path) -> None:
    """Where something changes all the time, each of a thousand scanners would list it once more."""
    clock = ManualClock()
    directories = Directories(clock.monotonic)
    one, two = (
        Scanner((f"{tmp_path}/*.{ending}",), ScannerConfig(), clock.monotonic, directories=directories)
        for ending in ("log", "txt")
    )
    for expected in (0, 1):
        directories.begin_round()
        one.scan(full=False)
        (tmp_path / "a.txt").touch()
        assert len(two.scan(full=False).files) == expected
