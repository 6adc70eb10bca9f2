"""`shipper registry list`, `show` and `forget`."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from log_shipper.registry.files import DiskFiles
from log_shipper.registry.load import read
from log_shipper.registry.state import FileState
from log_shipper.registry.store import Store
from log_shipper.shipper.cli.commands import main
from log_shipper.shipper.positions.view import duration
from tests.fakes import Terminal


class Place:
    """A data path with a registry, and log files that its entries are of."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.registry = root / "registry"

    def file(self, name: str, content: bytes, position: int, **more: Any) -> FileState:
        path = self.root / name
        path.write_bytes(content)
        status = path.stat()
        state = FileState(
            f"id-of-{name}",
            str(path),
            status.st_dev,
            status.st_ino,
            (3, "aa"),
            "bb",
            position,
            len(content),
            updated=time.time() - 65,
            **more,
        )
        self.add(state)
        return state

    def add(self, *states: FileState) -> None:
        store = Store.open(self.registry, DiskFiles())
        store.write(states)
        store.close()

    def run(self, *arguments: str) -> int:
        return main(["registry", *arguments, "--path.data", str(self.root)])

    def known(self) -> set[str]:
        return set(read(self.registry))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_list_has_position_size_bytes_behind_age_id_and_path(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.file("b.log", b"0123456789", 4)
    place.file("a.log", b"0123456789", 10)
    assert place.run("list") == 0
    assert squeezed(capsys.readouterr().out) == [
        "POSITION SIZE BEHIND AGE FILE ID PATH",
        f"10 10 0 1m5s id-of-a.log {place.root}/a.log",
        f"4 10 6 1m5s id-of-b.log {place.root}/b.log",
    ]


def test_what_was_written_since_counts_as_behind_but_not_what_another_file_at_the_path_has(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    grown = place.file("grown.log", b"0123", 4)
    with open(grown.path, "ab") as file:
        file.write(b"456")
    other = place.file("other.log", b"0123", 4)
    (place.root / "new").write_bytes(b"much longer")
    (place.root / "new").rename(other.path)
    place.run("list", "--json")
    entries = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(entry["size"], entry["behind"]) for entry in entries] == [(7, 3), (4, 0)]


def test_a_file_whose_life_ended_is_marked_and_is_not_behind(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.add(FileState("f1", "/gone.log", 1, 2, position=3, size_seen=5, updated=time.time() + 9, ended="removed"))
    place.run("list")
    assert squeezed(capsys.readouterr().out)[1] == "3 5 0 0s f1 /gone.log (removed)"


def test_json_has_every_member_of_an_entry_also_of_a_path_that_is_not_utf_8(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    path = os.fsdecode(b"/logs/\xff.log")
    place.add(FileState("f1", path, 1, 2, position=3, size_seen=5, key=f"path:{path}", cuts=(1,)))
    for command in (["list"], ["show", "f1"]):
        assert place.run(*command, "--json") == 0
        entry = json.loads(capsys.readouterr().out)
        assert (entry["path"], entry["key"]) == ("/logs/\ufffd.log", "path:/logs/\ufffd.log")
        assert (entry["position"], entry["behind"], entry["cuts"], entry["ttl"]) == (3, 2, [1], -1.0)


def test_the_list_can_be_had_while_a_daemon_runs_and_changes_nothing(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.file("a.log", b"0123", 4)
    store = Store.open(place.registry, DiskFiles())
    before = {path: path.read_bytes() for path in place.registry.iterdir()}
    assert place.run("list") == place.run("show", "id-of-a.log") == 0
    assert {path: path.read_bytes() for path in place.registry.iterdir()} == before
    store.close()


def test_the_place_of_the_registry_must_be_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["registry", "list", "-c", str(tmp_path / "typo.yml")]) == 1
    assert f"{tmp_path}/typo.yml does not exist" in capsys.readouterr().err


def test_an_entry_is_shown_in_words(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    state = place.file(
        "a.log", b"x" * 2000, 1500, cuts=(700, 1400), input="app", continues_in="f2", key="path:/a", proof="cc"
    )
    assert place.run("show", state.path) == 0
    lines = squeezed(capsys.readouterr().out)
    assert lines[:6] == [
        state.path,
        "file id id-of-a.log",
        "position 1,500 of 2,000 bytes: 500 not acknowledged yet",
        f"device, inode {state.device}, {state.inode}: the file at this path now",
        "known by path:/a",
        "input app",
    ]
    assert lines[6].startswith("updated 20")
    assert lines[6].endswith(" UTC, 1m5s ago")
    assert lines[7:] == [
        "kept as long as the file exists",
        "cuts 700, 1,400: messages ended there by a timeout or --once; later readings end them there too",
        "continues in file id f2, with the last message",
        "confirmed by the first 3 bytes (aa), the 256 bytes before the position (bb),"
        " a hash of all 1,500 bytes before it",
    ]


def test_it_shows_what_happened_to_the_file(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    there = place.file("a.log", b"0123", 4)
    place.add(replace(there, id="gone", path="/nowhere/a.log"), replace(there, id="other", inode=1, ended="truncated"))
    place.run("show", "gone")
    assert "no file at this path now" in capsys.readouterr().out
    place.run("show", "other")
    out = capsys.readouterr().out
    assert f"another file is at this path now (device {there.device}, inode {there.inode})" in out
    assert "ended truncated: another file has its path or inode now" in " ".join(out.split())
    assert "reading has ended" in out


@pytest.mark.parametrize(
    ("ago", "expected"),
    [(0, "removed in 23h59m at the earliest"), (90000, "removed at the next clean-up at the earliest")],
)
def test_it_shows_until_when_an_entry_is_kept(
    ago: float, expected: str, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.add(FileState("f1", "/gone", 1, 2, updated=time.time() - ago - 1, ttl=86400, ended="removed"))
    place.run("show", "f1")
    out = capsys.readouterr().out
    assert expected in out
    assert "(ttl 1d)" in out


def test_of_a_gz_file_decompressed_bytes_are_shown(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    data = gzip.compress(b"x" * 5000)
    state = place.file("a.log.gz", data, 5000, compressed=len(data))
    place.add(replace(state, size_seen=5000))
    place.run("show", state.id)
    out = " ".join(capsys.readouterr().out.split())
    assert "position 5,000 of 5,000 bytes: all acknowledged" in out
    assert f"compressed {len(data)} bytes, read to the end" in out


def test_all_entries_of_one_path_are_shown(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    state = place.file("a.log", b"0123", 4)
    place.add(replace(state, id="older", ended="truncated", updated=1.0))
    assert place.run("show", state.path) == 0
    out = capsys.readouterr().out
    assert out.index("older") < out.index("id-of-a.log")


def test_a_path_can_be_given_from_here_and_through_a_link(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    state = place.file("a.log", b"0123", 4)
    (place.root / "link.log").symlink_to(state.path)
    assert place.run("show", str(place.root / "link.log")) == 0
    assert place.run("show", os.path.relpath(state.path)) == 0
    assert capsys.readouterr().out.count(state.path) == 2


def test_the_end_of_a_path_shows_the_only_one_that_has_it_and_forgets_none(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    (place.root / "web").mkdir()
    (place.root / "job").mkdir()
    for name in ("web/app.log", "web/err.log", "job/err.log"):
        place.file(name, b"0123", 4)
    assert place.run("show", "app.log") == 0
    assert f"{place.root}/web/app.log" in capsys.readouterr().out
    assert place.run("show", "err.log") == 1
    both = f"{place.root}/job/err.log, {place.root}/web/err.log"
    assert f"err.log: several paths end like this: {both}; give one of them in full" in capsys.readouterr().err
    assert place.run("show", "pp.log") == 1
    assert place.run("forget", "app.log", "--yes") == 1


@pytest.mark.parametrize(
    "command", [["show", "typo"], ["forget", "typo", "--yes"], ["forget", "id-of-a.log", "typo", "--yes"]]
)
def test_an_unknown_name_is_reported_and_nothing_is_changed(
    command: list[str], place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.file("a.log", b"0123", 4)
    assert place.run(*command) == 1
    assert "typo: no registry entry with this path or file id" in capsys.readouterr().err
    assert place.known() == {"id-of-a.log"}


def test_an_unknown_name_makes_no_registry(place: Place) -> None:
    assert place.run("forget", "typo", "--yes") == 1
    assert not place.registry.exists()


def test_forgotten_files_are_listed_and_the_others_stay(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = place.file("a.log", b"0123", 4), place.file("b.log", b"0123", 4)
    place.file("c.log", b"0123", 4)
    assert place.run("forget", first.path, second.id, second.path, "--yes") == 0
    assert place.known() == {"id-of-c.log"}
    out = capsys.readouterr().out
    assert f"{first.path}  (file id id-of-a.log, position 4)" in out
    assert "forgot 2 entries; the next run reads their files from the start" in out


@pytest.mark.parametrize(
    "command", [("list",), ("list", "--json"), ("show", "id"), ("show", "id", "--json"), ("forget", "id", "--yes")]
)
def test_no_control_character_of_a_name_gets_to_the_terminal(
    command: tuple[str, ...], place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "/logs/\x1b]0;owned\x07\n\u202e\x9b2J\x7f"
    place.add(FileState("id", evil, 1, 2, key=f"path:{evil}", input=evil))
    assert place.run(*command) == 0
    out = capsys.readouterr().out
    assert "owned" in out
    assert all(line.isprintable() for line in out.split("\n"))
    if "--json" in command:
        assert json.loads(out)["path"] == evil


@contextmanager
def standard_input(stream: io.StringIO | None) -> Iterator[None]:
    before, sys.stdin = sys.stdin, stream
    try:
        yield
    finally:
        sys.stdin = before


@pytest.mark.parametrize(
    ("answer", "code", "left"), [("y\n", 0, set()), ("n\n", 1, {"id-of-a.log"}), ("\n", 1, {"id-of-a.log"})]
)
def test_at_a_terminal_the_user_is_asked(
    answer: str, code: int, left: set[str], place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.file("a.log", b"0123", 4)
    with standard_input(Terminal(answer)):
        assert place.run("forget", "id-of-a.log") == code
    assert place.known() == left
    assert "Forget 1 entry? Their files, if they still exist, are shipped again" in capsys.readouterr().out


@pytest.mark.parametrize("stream", [io.StringIO("y\n"), None])
def test_without_a_terminal_nothing_is_forgotten_without_yes(
    stream: io.StringIO | None, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.file("a.log", b"0123", 4)
    with standard_input(stream):
        assert place.run("forget", "id-of-a.log") == 1
    assert place.known() == {"id-of-a.log"}
    assert "or --yes" in capsys.readouterr().err


def test_nothing_is_forgotten_while_an_agent_runs_and_the_error_names_it_and_what_to_do(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.file("a.log", b"0123", 4)
    store = Store.open(place.registry, DiskFiles())
    assert place.run("forget", "id-of-a.log", "--yes") == 1
    store.close()
    assert place.known() == {"id-of-a.log"}
    error = capsys.readouterr().err
    assert f"in use by process {os.getpid()}" in error
    assert f"stop it (kill {os.getpid()}, or your service manager), run this command again, then restart it" in error


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0s"),
        (0.4, "0s"),
        (59, "59s"),
        (60, "1m"),
        (3661, "1h1m"),
        (3600, "1h"),
        (86400 * 3 + 4 * 3600 + 59, "3d4h"),
        (86401, "1d"),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words
