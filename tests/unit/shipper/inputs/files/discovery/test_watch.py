"""The watcher on the real inotify: what the kernel reports, and when."""

import errno
import gc
import os
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from watchdog.observers.inotify_c import (
    CallbackId,
    InotifyConstants,
    InotifyEvent,
    Mask,
    WatchCallback,
    WatchDescriptor,
)

from log_shipper.shipper.inputs.files.discovery.spec import FileKey
from log_shipper.shipper.inputs.files.discovery.symlinks import ANY_NAME
from log_shipper.shipper.inputs.files.discovery.watch import Inotify, Watcher
from log_shipper.shipper.wake import Wake
from tests.capabilities import without_capabilities

PATIENCE = 30.0  # seconds; what is awaited comes within milliseconds


class Desk:
    """A watcher, what its events are taken in by, and open files."""

    def __init__(self, connect: Callable[[Callable[[], None]], Inotify] = Inotify) -> None:
        self.wake = Wake()
        self.instances: list[Inotify] = []
        self.watcher = Watcher(self.wake, lambda lose: self._keep(connect(lose)))
        self.fds: list[int] = []
        self._changed: list[FileKey] = []

    def _keep(self, instance: Inotify) -> Inotify:
        self.instances.append(instance)
        return instance

    def open(self, path: Path) -> tuple[FileKey, int]:
        fd = os.open(path, os.O_RDWR | os.O_CREAT)
        self.fds.append(fd)
        status = os.fstat(fd)
        return ("app", status.st_dev, status.st_ino), fd

    def watch(self, path: Path) -> tuple[FileKey, int]:
        key, fd = self.open(path)
        assert self.watcher.watch_file(key, fd)
        return key, fd

    def close_file(self, fd: int) -> None:
        self.fds.remove(fd)
        os.close(fd)

    def until(self, condition: Callable[[], bool]) -> bool:
        """True if it comes true: it is asked each time events were taken in."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                return False
            self.wake.wait(PATIENCE)
        return True

    @property
    def kernel_watches(self) -> int:
        """As the kernel counts them."""
        info = Path(f"/proc/self/fdinfo/{self.instances[0]._inotify_fd}").read_text()
        return sum(line.startswith("inotify wd:") for line in info.splitlines())

    def quiet(self, directory: Path) -> bool:
        """True if no event came until that of a write to another file: events come in order."""
        _, fd = self.watch(directory / "a-last-file")
        os.write(fd, b"x")
        key = ("app", os.fstat(fd).st_dev, os.fstat(fd).st_ino)
        self.until(lambda: key in self.changed)
        return self.changed == [key] and not self.watcher.wants_scan

    @property
    def changed(self) -> list[FileKey]:
        """All that were reported and not cleared by the test."""
        self._changed += self.watcher.take_changed()
        return self._changed

    def close(self) -> None:
        self.watcher.stop()
        self.wake.close()
        for fd in self.fds:
            os.close(fd)


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.close()


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


# ------------------------------------------------------------------------------------------------------- files


def test_a_write_to_a_watched_file_is_a_hint(desk: Desk, tmp_path: Path) -> None:
    key, _ = desk.watch(tmp_path / "a.log")
    assert desk.watcher.is_watched(key)
    (tmp_path / "a.log").write_text("x")
    assert desk.until(lambda: key in desk.changed)


def test_a_file_that_is_not_watched_any_more_gives_none(desk: Desk, tmp_path: Path) -> None:
    key, fd = desk.watch(tmp_path / "a.log")
    desk.watcher.unwatch_file(key)
    desk.watcher.unwatch_file(key)
    assert not desk.watcher.is_watched(key)
    os.write(fd, b"x")
    assert desk.quiet(tmp_path)


def test_a_watch_stays_after_the_file_was_closed_and_renamed(desk: Desk, tmp_path: Path) -> None:
    key, fd = desk.watch(tmp_path / "a.log")
    desk.close_file(fd)
    (tmp_path / "a.log").rename(tmp_path / "a.log.1")
    (tmp_path / "a.log.1").write_text("x")
    assert desk.until(lambda: key in desk.changed)
    assert desk.watcher.is_watched(key)


def test_a_deleted_file_is_forgotten_with_a_hint(desk: Desk, tmp_path: Path) -> None:
    key, fd = desk.watch(tmp_path / "a.log")
    (tmp_path / "a.log").unlink()
    assert desk.watcher.is_watched(key)  # it is open: it may still be written to
    desk.close_file(fd)
    assert desk.until(lambda: key in desk.changed)
    assert not desk.watcher.is_watched(key)
    assert not desk.watcher._files
    assert desk.kernel_watches == 0


def test_the_file_that_takes_the_key_of_a_deleted_one_gets_a_watch_of_its_own(desk: Desk, tmp_path: Path) -> None:
    key, fd = desk.watch(tmp_path / "a.log")
    (tmp_path / "a.log").unlink()
    desk.close_file(fd)
    desk.until(lambda: key in desk.changed)
    _, fd = desk.open(tmp_path / "b.log")
    # Whether the file system gives the same inode again is its own affair: the watcher knows the key only.
    assert desk.watcher.watch_file(key, fd)
    desk.changed.clear()
    os.write(fd, b"x")
    assert desk.until(lambda: key in desk.changed)


def test_watching_a_file_twice_is_one_watch(desk: Desk, tmp_path: Path) -> None:
    key, fd = desk.watch(tmp_path / "a.log")
    assert desk.watcher.watch_file(key, fd)
    assert desk.kernel_watches == 1
    os.write(fd, b"x")
    assert desk.until(lambda: bool(desk.changed))
    desk.watcher.unwatch_file(key)
    assert desk.kernel_watches == 0
    desk.changed.clear()
    os.write(fd, b"x")
    assert desk.quiet(tmp_path)


def test_a_key_that_another_file_has_now_leaves_no_watch_behind(desk: Desk, tmp_path: Path) -> None:
    key, old = desk.watch(tmp_path / "a.log")
    _, new = desk.open(tmp_path / "b.log")
    assert desk.watcher.watch_file(key, new)
    assert desk.kernel_watches == 1
    os.write(old, b"x")
    assert desk.quiet(tmp_path)
    os.write(new, b"x")
    assert desk.until(lambda: key in desk.changed)


# ------------------------------------------------------------------------------------------------- directories


@pytest.mark.parametrize("what", ["create", "delete", "into", "away"])
def test_a_name_that_comes_or_goes_asks_for_a_scan(desk: Desk, tmp_path: Path, what: str) -> None:
    place = tmp_path / "logs"
    place.mkdir()
    (place / "a.log").touch()
    (tmp_path / "b.log").touch()
    desk.watcher.watch_directory(str(place), [ANY_NAME])
    desk.watcher.wants_scan = False
    actions: dict[str, Callable[[], object]] = {
        "create": (place / "new.log").touch,
        "delete": (place / "a.log").unlink,
        "into": lambda: (tmp_path / "b.log").rename(place / "b.log"),
        "away": lambda: (place / "a.log").rename(tmp_path / "a.log"),
    }
    actions[what]()
    assert desk.until(lambda: desk.watcher.wants_scan)


@pytest.mark.parametrize("way", ["deleted", "moved"])
def test_a_directory_that_was_replaced_by_another_is_watched_again(desk: Desk, tmp_path: Path, way: str) -> None:
    place = tmp_path / "logs"
    place.mkdir()
    desk.watcher.watch_directory(str(place), [ANY_NAME])
    desk.watcher.wants_scan = False
    if way == "deleted":
        place.rmdir()
    else:
        place.rename(tmp_path / "old")
    assert desk.until(lambda: desk.watcher.wants_scan)
    desk.watcher.keep_directories([str(place)])
    assert desk.kernel_watches == 0
    desk.watcher.watch_directory(str(place), [ANY_NAME])  # it is not there: no watch, no complaint
    place.mkdir()
    desk.watcher.watch_directory(str(place), [ANY_NAME])
    assert desk.kernel_watches == 1
    desk.watcher.wants_scan = False
    (place / "a.log").touch()
    assert desk.until(lambda: desk.watcher.wants_scan)


def test_another_directory_at_the_path_is_noticed_without_an_event(tmp_path: Path) -> None:
    desk = Desk()  # events that are not taken in wait
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    (tmp_path / "current").symlink_to("1")
    desk.watcher.watch_directory(f"{tmp_path}/current", [ANY_NAME])
    (tmp_path / "next").symlink_to("2")
    (tmp_path / "next").replace(tmp_path / "current")
    desk.watcher.watch_directory(f"{tmp_path}/current", [ANY_NAME])
    assert desk.kernel_watches == 1
    desk.watcher.wants_scan = False
    (tmp_path / "2" / "a.log").touch()
    assert desk.until(lambda: desk.watcher.wants_scan)
    desk.close()


def test_a_directory_that_was_removed_is_noticed_without_an_event(tmp_path: Path) -> None:
    desk = Desk()  # events that are not taken in wait
    (tmp_path / "logs").mkdir()
    desk.watcher.watch_directory(f"{tmp_path}/logs", [ANY_NAME])
    (tmp_path / "logs").rename(tmp_path / "old")
    desk.watcher.watch_directory(f"{tmp_path}/logs", [ANY_NAME])
    assert desk.kernel_watches == 0
    desk.close()


def test_a_new_watch_of_a_directory_asks_for_a_scan_and_an_old_one_does_not(desk: Desk, tmp_path: Path) -> None:
    desk.watcher.watch_directory(str(tmp_path), [ANY_NAME])
    assert desk.watcher.wants_scan
    desk.watcher.wants_scan = False
    desk.watcher.watch_directory(str(tmp_path), [ANY_NAME])
    assert not desk.watcher.wants_scan


def test_two_paths_to_one_directory_do_not_take_each_other_s_watch(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "link").symlink_to("logs")
    desk.watcher.watch_directory(f"{tmp_path}/logs", [ANY_NAME])
    desk.watcher.watch_directory(f"{tmp_path}/link", [ANY_NAME])
    desk.watcher.keep_directories([f"{tmp_path}/logs"])
    desk.watcher.wants_scan = False
    (tmp_path / "logs" / "a.log").touch()
    assert desk.until(lambda: desk.watcher.wants_scan)


def test_a_directory_that_is_not_kept_gives_no_hints(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "busy").mkdir()
    desk.watcher.watch_directory(f"{tmp_path}/busy", [ANY_NAME])
    desk.watcher.keep_directories([])
    assert desk.kernel_watches == 0
    desk.watcher.wants_scan = False
    (tmp_path / "busy" / "a").touch()
    assert desk.quiet(tmp_path)


def test_of_a_directory_to_which_a_link_leads_only_the_names_in_question_count(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "busy").mkdir()
    directory = f"{tmp_path}/busy"
    desk.watcher.watch_directory(directory, {"a.log"})
    assert desk.watcher.scan_begins(full=False) == {(directory, "a.log"): 0}, "what happened before gave no hint"
    (tmp_path / "busy" / "other").touch()
    assert desk.quiet(tmp_path)
    for _ in range(2):
        (tmp_path / "busy" / "a.log").touch()
        (tmp_path / "busy" / "a.log").rename(tmp_path / "busy" / "a.log.1")
    assert desk.until(lambda: desk.watcher.wants_scan)
    assert desk.watcher.scan_begins(full=False) == {(directory, "a.log"): 2}
    assert desk.watcher.scan_begins(full=False) == {}


def test_of_a_directory_that_is_listed_each_name_is_a_hint_of_its_own(desk: Desk, tmp_path: Path) -> None:
    desk.watcher.watch_directory(str(tmp_path), {ANY_NAME, "a.log"})
    desk.watcher.scan_begins(full=False)
    (tmp_path / "b.log").touch()
    (tmp_path / "b.log").rename(tmp_path / "c.log")
    assert desk.until(lambda: desk.watcher.wants_scan)
    assert desk.watcher.scan_begins(full=False) == {(str(tmp_path), "b.log"): 1, (str(tmp_path), "c.log"): 1}


def test_a_file_that_is_deleted_is_less_urgent_than_one_that_is_renamed(desk: Desk, tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).touch()
    desk.watcher.watch_directory(str(tmp_path), {ANY_NAME})
    desk.watcher.scan_begins(full=False)
    (tmp_path / "a.log").unlink()
    assert desk.until(lambda: desk.watcher.wants_scan)
    assert not desk.watcher.is_urgent
    (tmp_path / "b.log").rename(tmp_path / "b.log.1")
    assert desk.until(lambda: desk.watcher.is_urgent)
    desk.watcher.scan_begins(full=False)
    (tmp_path / "b.log.1").unlink()
    tmp_path.rmdir()
    assert desk.until(lambda: desk.watcher.unwatched([str(tmp_path)]) != [])
    assert (desk.watcher.wants_scan, desk.watcher.is_urgent) == (True, False)
    assert desk.watcher.scan_begins(full=False, deletions=False) == {}
    assert desk.watcher.wants_scan
    assert desk.watcher.scan_begins(full=False) == {(str(tmp_path), "b.log.1"): 0, (str(tmp_path), ANY_NAME): 0}


def test_another_name_in_a_watched_directory_asks_for_a_scan_and_takes_no_other_watch(
    desk: Desk, tmp_path: Path
) -> None:
    desk.watcher.watch_directory(str(tmp_path), {"a.log"})
    desk.watcher.scan_begins(full=False)
    desk.watcher.watch_directory(str(tmp_path), {"a.log", "b.log"})
    assert (desk.kernel_watches, desk.watcher.wants_scan) == (1, True)
    assert desk.watcher.scan_begins(full=False) == {(str(tmp_path), "b.log"): 0}


def test_the_end_of_a_watch_is_a_hint_for_all_of_its_names(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    directory = f"{tmp_path}/logs"
    desk.watcher.watch_directory(directory, {"a.log", ANY_NAME})
    assert desk.watcher.unwatched([directory]) == []
    desk.watcher.scan_begins(full=False)
    (tmp_path / "logs").rename(tmp_path / "old")
    assert desk.until(lambda: desk.watcher.wants_scan)
    assert desk.watcher.scan_begins(full=False) == {(directory, "a.log"): 0, (directory, ANY_NAME): 0}
    assert desk.watcher.unwatched([directory]) == [directory]


def test_after_it_was_stopped_there_is_nothing_to_wait_for(desk: Desk, tmp_path: Path) -> None:
    desk.watch(tmp_path / "a.log")
    desk.watcher.stop()
    began = time.monotonic()
    desk.wake.wait(0.02)  # of a descriptor that was closed, it would be notified at once
    assert time.monotonic() - began >= 0.019


def test_many_events_are_taken_in_one_part_after_the_other(desk: Desk, tmp_path: Path) -> None:
    keys = {desk.watch(tmp_path / f"{number}.log")[0] for number in range(10)}
    for _ in range(1000):
        for fd in desk.fds:
            os.write(fd, b"x")
    assert desk.until(lambda: bool(desk.changed))
    assert len(desk.changed) < 10_000
    assert desk.until(lambda: len(desk.changed) == 10_000)
    assert set(desk.changed) == keys


# ---------------------------------------------------------------------------------------- when there is no event


def test_lost_events_are_logged_once_and_ask_for_a_full_scan(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()  # as long as no events are taken in, the queue fills
    a, b = desk.watch(tmp_path / "a.log"), desk.watch(tmp_path / "b.log")
    for _ in range(int(Path("/proc/sys/fs/inotify/max_queued_events").read_text()) // 2 + 1):
        os.write(a[1], b"x")  # in turn: an event that equals the last one in the queue is left out
        os.write(b[1], b"x")
    assert desk.until(lambda: desk.watcher.lost_events)
    assert desk.watcher.wants_scan
    assert desk.watcher.is_watched(a[0])
    desk.watcher.scan_begins(full=False)
    assert (desk.watcher.wants_scan, desk.watcher.lost_events) == (False, True)
    desk.watcher.scan_begins(full=True)
    assert not desk.watcher.lost_events
    desk.instances[0].handle_event(InotifyEvent(WatchDescriptor(-1), InotifyConstants.IN_Q_OVERFLOW, 0, b""))
    assert desk.watcher.lost_events
    assert desk.watcher.is_watched(a[0])
    (message,) = messages(caplog)
    assert message.startswith("file events were lost: the kernel's queue of them was full; a full scan follows")
    desk.close()


class FullInotify(Inotify):
    """No more than `room` watches are to be had."""

    room = 1

    def add_callback(self, path: bytes, mask: Mask, callback: WatchCallback, id_: CallbackId) -> WatchDescriptor:
        if len(self._watch_for_wd) >= self.room:
            raise OSError(errno.ENOSPC, "inotify watch limit reached")
        return super().add_callback(path, mask, callback, id_)


def test_running_out_of_watches_is_logged_once_with_what_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(FullInotify)
    desk.watch(tmp_path / "a.log")
    key, fd = desk.open(tmp_path / "b.log")
    assert not desk.watcher.watch_file(key, fd)
    assert not desk.watcher.watch_file(key, fd)
    assert not desk.watcher.is_watched(key)
    desk.watcher.watch_directory(str(tmp_path), [ANY_NAME])
    assert messages(caplog) == [
        "no file events for more than the 1 files and directories that are watched now: inotify watch limit reached. "
        "The others are scanned every prospector.scanner.check_interval; for millisecond latency raise "
        "fs.inotify.max_user_watches (sysctl)"
    ]
    assert (desk.watcher.watches, desk.watcher.fallbacks) == (1, 2), "b.log and the directory"
    FullInotify.room = 3
    assert desk.watcher.watch_file(key, fd)
    assert (desk.watcher.watches, desk.watcher.fallbacks) == (2, 1)
    desk.watcher.keep_directories([])
    assert desk.watcher.fallbacks == 0
    FullInotify.room = 1
    desk.close()


def test_running_out_of_instances_is_logged_once_and_nothing_is_watched(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gc.collect()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    path = tmp_path / "a.log"
    path.touch()
    wake = Wake()
    # The descriptor's own limit gives the same error, and affects no other process.
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        watcher = Watcher(wake)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    with path.open() as file:
        assert not watcher.watch_file(("app", 1, 2), file.fileno())
    watcher.watch_directory(str(tmp_path), [ANY_NAME])
    assert (watcher.watches, watcher.fallbacks) == (0, 2)
    watcher.unwatch_file(("app", 1, 2))
    assert watcher.fallbacks == 1
    watcher.stop()
    wake.close()
    (message,) = messages(caplog)
    assert "fs.inotify.max_user_instances" in message


def test_what_may_not_be_read_has_no_watch(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()
    (tmp_path / "logs").mkdir()
    key, fd = desk.open(tmp_path / "a.log")
    os.fchmod(fd, 0)
    (tmp_path / "logs").chmod(0)
    with without_capabilities():
        assert not desk.watcher.watch_file(key, fd)
        desk.watcher.watch_directory(f"{tmp_path}/logs", [ANY_NAME])
    assert not desk.watcher.is_watched(key)
    assert not desk.watcher._directories
    assert not desk.instances[0]._watch_for_wd
    assert messages(caplog) == []
    (tmp_path / "logs").chmod(0o700)
    desk.close()
