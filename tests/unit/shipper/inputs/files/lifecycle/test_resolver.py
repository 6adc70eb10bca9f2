import errno
import gzip
import os
from collections.abc import Callable
from dataclasses import replace

import pytest

from log_shipper.registry.state import FileState
from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, key_of
from log_shipper.shipper.inputs.files.identity.birth import birth_time
from log_shipper.shipper.inputs.files.identity.content import Plain
from log_shipper.shipper.inputs.files.identity.opened_file import EntryMatch, OpenedFile, is_log_of
from log_shipper.shipper.inputs.files.lifecycle.copy_detector import CopyDetector, FilesAt
from log_shipper.shipper.inputs.files.lifecycle.resolver import FileResolver
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.options.model import (
    FileIdentityConfig,
    ProspectorConfig,
    ScannerConfig,
    ScannerFingerprintConfig,
)
from tests.capabilities import without_capabilities
from tests.descriptors import open_below
from tests.reading_room import Room, entry_of, finish, is_open

MakeRoom = Callable[..., Room]


class Door:
    """An resolver in a room."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.reported: dict[str, str | None] = {}
        files = room.open_files
        self.copies = CopyDetector(room.clock, files, self.reported.__setitem__)
        self.resolver = FileResolver(
            files,
            room.entries,
            self.copies,
            lambda path, problem: self.reported.update({path: problem}),
            room.context(),
        )

    def wanted(self, name: str) -> Candidate:
        path = str(self.room.path(name))
        return Candidate.from_scan(self.room.spec, ScannedFile.from_status(path, os.stat(path)))

    def meet(self, name: str, content: bytes) -> OpenedFile:
        self.room.write(name, content)
        (opened,) = self.resolver.open([self.wanted(name)])
        return opened

    def identify(self, *opened: OpenedFile) -> dict[str, EntryMatch]:
        paths = [self.room.path(name) for name in os.listdir(self.room.path(""))]
        present = {("app", str(path)): self.wanted(path.name).key for path in paths if path.is_file()}
        claims = self.resolver.identify(list(opened), FilesAt(present))
        return {os.path.basename(opened.scanned.path): claim for opened, claim in claims}

    def problem(self, name: str) -> str | None:
        return self.reported.get(str(self.room.path(name)), "nothing was reported")


@pytest.fixture
def door(room: Room) -> Door:
    return Door(room)


# Opening.


def test_a_file_is_seen_as_it_is_when_it_is_opened(door: Door) -> None:
    door.room.write("app.log", b"one\n")
    wanted = door.wanted("app.log")
    door.room.append("app.log", b"two\n")
    (opened,) = door.resolver.open([wanted])
    assert (opened.size, opened.scanned.size) == (8, 8)
    assert opened.scanned.modified == door.room.path("app.log").stat().st_mtime
    assert (opened.name, opened.spec) == (wanted.key, door.room.spec)
    assert (opened.birth, opened.modified) == (
        birth_time(opened.content.fd),
        door.room.path("app.log").stat().st_mtime_ns,
    )
    assert not os.get_inheritable(opened.content.fd)
    assert door.problem("app.log") is None


def test_another_file_that_took_the_path_is_left_to_the_next_scan(door: Door) -> None:
    door.room.write("app.log", b"one\n")
    door.room.write("other", b"two\n")
    wanted = door.wanted("app.log")
    door.room.path("other").rename(door.room.path("app.log"))
    assert door.resolver.open([wanted]) == []
    assert open_below(door.room.folder) == []
    assert list(door.resolver.take_vanished()) == [wanted]


@pytest.mark.parametrize("symlinks", [False, True])
def test_a_link_that_took_the_path_is_followed_only_where_links_are_read(make_room: MakeRoom, symlinks: bool) -> None:
    door = Door(make_room(prospector=ProspectorConfig(scanner=ScannerConfig(symlinks=symlinks))))
    door.room.write("app.log", b"one\n")
    wanted = door.wanted("app.log")
    door.room.path("app.log").rename(door.room.path("moved"))
    door.room.path("app.log").symlink_to("moved")
    assert len(door.resolver.open([wanted])) == symlinks
    assert door.reported == ({str(door.room.path("app.log")): None} if symlinks else {})


def test_a_link_to_a_secret_that_took_the_path_is_not_read(make_room: MakeRoom) -> None:
    """As the user of a directory may try while the agent may read every file."""
    door = Door(make_room(prospector=ProspectorConfig(scanner=ScannerConfig(symlinks=True))))
    door.room.write("secret", b"root:x\n")
    door.room.write("app.log", b"one\n")
    wanted = door.wanted("app.log")
    door.room.path("app.log").unlink()
    door.room.path("app.log").symlink_to("secret")
    assert door.resolver.open([wanted]) == []
    assert open_below(door.room.folder) == []


ID, UID = "4c1e0f6a" * 8, "0b8a5f0e-6a53-4a36-9f0a-6f7d2f1f7c11"


@pytest.mark.parametrize(
    ("path", "is_log"),
    [
        (f"/var/lib/docker/containers/{ID}/{ID}-json.log", True),
        (f"/data/docker/containers/{ID}/{ID}-json.log.2.gz", True),
        (f"/var/log/pods/web_web-1_{UID}/nginx/0.log", True),
        (f"/var/log/pods/web_web-1_{UID}/nginx/0.log.20261126-101500.gz", True),
        (f"/var/log/pods/web_web-1_{UID}/nginx/0.log (deleted)", True),
        (f"/var/lib/docker/containers/{ID}/config.v2.json", False),
        (f"/var/lib/docker/containers/{ID}/mounts/shm/{ID}-json.log", False),
        (f"/var/lib/docker/containers/{ID}/mounts/shm/0.log", False),
        (f"/var/lib/kubelet/pods/{UID}/volumes/data/0.log", False),
        (f"/var/log/pods/web_web-1_{UID}/0.log", False),
        (f"/var/log/pods/web_web-1_{UID[:-1]}2/nginx/0.log", False),
        (f"/var/log/pods/web_web-1_{UID}/nginx/more/0.log", False),
        (f"/{ID}-json.log", False),
        ("/etc/shadow", False),
        ("pipe:[4711]", False),
    ],
)
def test_which_files_are_logs_of_a_container(path: str, *, is_log: bool) -> None:
    assert is_log_of((ID, UID), path) == is_log


@pytest.fixture
def hinted(make_room: MakeRoom) -> Door:
    """Return an input of a hint, whose container may write into its /dev/shm."""
    door = Door(make_room(prospector=ProspectorConfig(scanner=ScannerConfig(symlinks=True)), owned_by=(ID, UID)))
    for directory in (f"containers/{ID}/mounts/shm", f"pods/web_web-1_{UID}/nginx", "links"):
        door.room.path(directory).mkdir(parents=True)
    door.room.path("secret").write_bytes(b"root:x\n")
    door.room.path(f"containers/{ID}/{ID}-json.log").write_bytes(b"one\n")
    return door


def test_links_of_the_runtime_lead_a_hint_to_the_log_of_its_container(hinted: Door) -> None:
    log = hinted.room.path(f"pods/web_web-1_{UID}/nginx/0.log")
    log.symlink_to(hinted.room.path(f"containers/{ID}/{ID}-json.log"))
    hinted.room.path("links/web-1.log").symlink_to(log)
    (opened,) = hinted.resolver.open([hinted.wanted("links/web-1.log")])
    assert opened.size == 4


@pytest.mark.parametrize("target", ["../../../../secret", "/etc/passwd", "inside.log"])
def test_a_link_of_a_container_does_not_lead_a_hint_out_of_its_log_directory(hinted: Door, target: str) -> None:
    shm = f"containers/{ID}/mounts/shm"
    hinted.room.path(f"{shm}/inside.log").write_bytes(b"its own\n")
    hinted.room.path(f"{shm}/x.log").symlink_to(target)
    assert hinted.resolver.open([hinted.wanted(f"{shm}/x.log")]) == []
    assert "outside the log directory of its container" in str(hinted.problem(f"{shm}/x.log"))
    assert open_below(hinted.room.folder) == []


def test_a_directory_that_becomes_a_link_after_the_listing_does_not_lead_a_hint_elsewhere(hinted: Door) -> None:
    """The file is the one that was listed: its directory alone is another one."""
    log = f"containers/{ID}/{ID}-json.log"
    wanted = hinted.wanted(log)
    elsewhere = hinted.room.path("elsewhere")
    hinted.room.path(f"containers/{ID}").rename(elsewhere)
    hinted.room.path(f"containers/{ID}").symlink_to(elsewhere)
    assert hinted.resolver.open([wanted]) == []
    assert "outside the log directory of its container" in str(hinted.problem(log))


def test_a_refusal_is_reported_until_the_file_can_be_opened(door: Door) -> None:
    door.room.write("app.log", b"one\n")
    door.room.path("app.log").chmod(0)
    with without_capabilities():
        assert door.resolver.open([door.wanted("app.log")]) == []
    assert door.problem("app.log") == "cannot be opened: Permission denied"
    door.room.path("app.log").chmod(0o600)
    assert len(door.resolver.open([door.wanted("app.log")])) == 1
    assert door.problem("app.log") is None


def test_a_missing_marker_file_is_reported(make_room: MakeRoom) -> None:
    door = Door(make_room(file_identity=FileIdentityConfig(name="inode_marker", marker="/nowhere/marker")))
    door.room.write("app.log", b"one\n")
    assert door.resolver.open([door.wanted("app.log")]) == []
    assert door.problem("app.log") == (
        "cannot be read: file_identity.inode_marker: /nowhere/marker: No such file or directory"
    )
    assert open_below(door.room.folder) == []


def test_by_fingerprint_a_short_file_waits_until_it_is_long_enough(make_room: MakeRoom) -> None:
    scanner = ScannerConfig(fingerprint=ScannerFingerprintConfig(length=64))
    door = Door(
        make_room(
            file_identity=FileIdentityConfig(name="fingerprint", length=64),
            prospector=ProspectorConfig(scanner=scanner),
        )
    )
    door.room.write("app.log", b"x" * 63)
    assert door.resolver.open([door.wanted("app.log")]) == []
    assert open_below(door.room.folder) == []
    problem = door.problem("app.log")
    assert problem is not None
    assert problem.startswith("is not read until it has 64 bytes (file_identity.fingerprint)")
    assert door.meet("app.log", b"x" * 64).name == door.meet("b.log", b"x" * 64 + b"more").name


def test_by_fingerprint_of_two_files_that_begin_alike_one_is_read(
    make_room: MakeRoom, caplog: pytest.LogCaptureFixture
) -> None:
    door = Door(make_room(file_identity=FileIdentityConfig(name="fingerprint", length=64)))
    for name in ("a.log", "b.log"):
        door.room.write(name, b"x" * 64 + name.encode())
    for _ in range(2):
        (first,) = door.resolver.open([door.wanted("a.log"), door.wanted("b.log")])
        assert first.scanned.path == str(door.room.path("a.log"))
        os.close(first.content.fd)
    assert open_below(door.room.folder) == []
    assert len([line for line in caplog.messages if "begins with the same bytes as" in line]) == 1


def test_with_compression_a_compressed_file_is_not_logged(
    make_room: MakeRoom, caplog: pytest.LogCaptureFixture
) -> None:
    door = Door(make_room(compression="auto"))
    assert door.meet("app.log.gz", gzip.compress(b"one\n")).content.compressed
    assert not door.meet("app.log", b"one\n").content.compressed
    assert caplog.text == ""


# Identifying.


def running(door: Door, name: str, content: bytes) -> Harvester:
    opened = door.meet(name, content)
    return finish(door.room.start(opened, door.identify(opened)[name]))


def test_who_is_known_by_name_comes_before_who_has_the_same_bytes(door: Door) -> None:
    """A copy that was met first must not take over an entry whose file is there."""
    copy, known = door.meet("app.log.1", b"one\ntwo\n"), door.meet("app.log", b"one\ntwo\n")
    door.room.entries.keep(entry_of(door.room.path("app.log"), 4))
    claims = door.identify(copy, known)
    assert claims["app.log"].state.id == "known"
    assert "app.log.1" not in claims or claims["app.log.1"].is_new


def test_in_the_first_round_nothing_is_suspected(door: Door) -> None:
    running(door, "app.log", b"one\n")
    ((_, claim),) = door.resolver.identify([door.meet("app.log.1", b"one\n")], None)
    assert claim.is_new


def test_a_file_that_was_truncated_in_place_is_once_not_suspected(door: Door) -> None:
    running(door, "app.log", b"one\n")
    truncated_in_place = door.meet("app.log.1", b"")
    file = door.room.open_files.files[truncated_in_place.key]
    file.is_fresh = True
    assert door.identify(truncated_in_place)["app.log.1"].is_new
    assert not file.is_fresh
    assert door.identify(door.room.open("app.log.1")) == {}


def test_a_file_that_turns_out_to_be_unreadable_later_is_reported_and_closed(
    make_room: MakeRoom,
) -> None:
    door = Door(make_room(compression="gzip"))  # nothing is read to find that out
    door.room.path("app.log").mkdir()
    (opened,) = door.resolver.open([door.wanted("app.log")])
    assert door.identify(opened) == {}
    assert door.problem("app.log") == "cannot be read: Is a directory"
    assert open_below(door.room.folder) == []


def test_a_file_that_was_taken_for_another_one_is_opened_again_and_may_be_a_copy_yet(door: Door) -> None:
    running(door, "app.log", b"one\n")
    door.room.write("app.log.1", b"one\n")
    state = entry_of(door.room.path("app.log.1"), 4, device=7, ended="missing")
    door.room.entries.orphan(state)
    (opened,) = door.resolver.open([door.wanted("app.log.1")])
    harvester = door.room.start(opened, door.identify(opened)["app.log.1"])
    assert harvester.unproven is state
    again = door.resolver.reopen(harvester.state.path, harvester.fd, door.room.spec, harvester.unproven)
    door.room.release(harvester)
    door.room.entries.note_disproved(state, again)
    assert is_open(again.content.fd)
    assert (again.key, again.size, again.birth, again.modified) == (opened.key, 4, opened.birth, opened.modified)
    assert (door.identify(again), list(door.copies.suspects)) == ({}, [again.key])


def test_one_that_was_rewritten_is_new_at_once(door: Door) -> None:
    """The file is not a copy, though it looks like one."""
    running(door, "app.log", b"one\n")
    door.room.write("app.log.1", b"one\n")
    state = entry_of(door.room.path("app.log.1"), 4)
    door.room.entries.closed_entries[key_of(state)] = state
    (opened,) = door.resolver.open([door.wanted("app.log.1")])
    harvester = door.room.start(opened, door.identify(opened)["app.log.1"])
    again = door.resolver.reopen(harvester.state.path, harvester.fd, door.room.spec, harvester.unproven)
    door.room.release(harvester)
    door.room.entries.note_disproved(state, again)
    assert door.identify(again)["app.log.1"].is_new


class Flaky(Plain):
    """A disk that refuses the first look."""

    __slots__ = ("refusals",)

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self.refusals = 1

    def matches(self, state: FileState) -> bool:
        if self.refusals:
            self.refusals -= 1
            raise OSError(errno.EIO, "Input/output error")
        return super().matches(state)


def test_a_known_file_that_cannot_be_read_for_once_is_not_taken_for_a_new_one(door: Door) -> None:
    """All of it would be shipped a second time."""
    opened = door.meet("app.log", b"one\n")
    door.room.entries.keep(entry_of(door.room.path("app.log"), 4))
    assert door.identify(replace(opened, content=Flaky(opened.content.fd))) == {}
    assert door.identify(door.meet("app.log", b"one\n"))["app.log"].state.id == "known"


def test_what_was_logged_about_a_file_is_forgotten_with_it(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    door = Door(room)
    content = gzip.compress(b"one\n")
    opened = door.meet("a.log.gz", content)
    door.room.open_files.files[opened.key].is_fresh = True
    for present, count in (({opened.key}, 1), (set(), 2)):
        door.room.open_files.files.forget(present)
        door.meet("a.log.gz", content)
        assert len([line for line in caplog.messages if "looks like a gzip file" in line]) == count
    assert not door.room.open_files.files[opened.key].is_fresh
