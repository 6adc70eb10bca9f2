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

from log_shipper.shipper.inputs.files.discovery.file_system import NFS, FileSystemOf, file_system_of
from log_shipper.shipper.inputs.files.discovery.spec import FileKey
from log_shipper.shipper.inputs.files.discovery.symlinks import ANY_NAME
from log_shipper.shipper.inputs.files.discovery.watch import Inotify, Watcher
from log_shipper.shipper.wake import Wake
from tests.capabilities import without_capabilities

PATIENCE = 30.0  # seconds; what is awaited comes within milliseconds


class WatcherLab:
    """A watcher, what its events are taken in by, and open files."""

    def __init__(
        self,
        connect: Callable[[Callable[[], None]], Inotify] = Inotify,
        file_system: FileSystemOf = file_system_of,
    ) -> None:
        self.wake = Wake()
        self.instances: list[Inotify] = []
        self.watcher = Watcher(self.wake, lambda lose: self._keep(connect(lose)), file_system)
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

    def wait_until(self, condition: Callable[[], bool]) -> bool:
        """Return True if it comes true: it is asked each time events were taken in."""
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
        """Return True if no event came until that of a write to another file: events come in order."""
        _, fd = self.watch(directory / "a-last-file")
        os.write(fd, b"x")
        key = ("app", os.fstat(fd).st_dev, os.fstat(fd).st_ino)
        self.wait_until(lambda: key in self.changed)
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
def lab() -> Iterator[WatcherLab]:
    lab = WatcherLab()
    yield lab
    lab.close()


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


# ------------------------------------------------------------------------------------------------------- files


def test_a_write_to_a_watched_file_is_a_hint(lab: WatcherLab, tmp_path: Path) -> None:
    key, _ = lab.watch(tmp_path / "a.log")
    assert lab.watcher.is_watched(key)
    (tmp_path / "a.log").write_text("x")
    assert lab.wait_until(lambda: key in lab.changed)


def test_a_file_that_is_not_watched_any_more_gives_none(lab: WatcherLab, tmp_path: Path) -> None:
    key, fd = lab.watch(tmp_path / "a.log")
    lab.watcher.unwatch_file(key)
    lab.watcher.unwatch_file(key)
    assert not lab.watcher.is_watched(key)
    os.write(fd, b"x")
    assert lab.quiet(tmp_path)


def test_a_watch_stays_after_the_file_was_closed_and_renamed(lab: WatcherLab, tmp_path: Path) -> None:
    key, fd = lab.watch(tmp_path / "a.log")
    lab.close_file(fd)
    (tmp_path / "a.log").rename(tmp_path / "a.log.1")
    (tmp_path / "a.log.1").write_text("x")
    assert lab.wait_until(lambda: key in lab.changed)
    assert lab.watcher.is_watched(key)


def test_a_deleted_file_is_forgotten_with_a_hint(lab: WatcherLab, tmp_path: Path) -> None:
    key, fd = lab.watch(tmp_path / "a.log")
    (tmp_path / "a.log").unlink()
    assert lab.watcher.is_watched(key)  # it is open: it may still be written to
    lab.close_file(fd)
    assert lab.wait_until(lambda: key in lab.changed)
    assert not lab.watcher.is_watched(key)
    assert not lab.watcher._files
    assert lab.kernel_watches == 0


def test_the_file_that_takes_the_key_of_a_deleted_one_gets_a_watch_of_its_own(lab: WatcherLab, tmp_path: Path) -> None:
    key, fd = lab.watch(tmp_path / "a.log")
    (tmp_path / "a.log").unlink()
    lab.close_file(fd)
    lab.wait_until(lambda: key in lab.changed)
    _, fd = lab.open(tmp_path / "b.log")
    # Whether the file system gives the same inode again is its own affair: the watcher knows the key only.
    assert lab.watcher.watch_file(key, fd)
    lab.changed.clear()
    os.write(fd, b"x")
    assert lab.wait_until(lambda: key in lab.changed)


def test_watching_a_file_twice_is_one_watch(lab: WatcherLab, tmp_path: Path) -> None:
    key, fd = lab.watch(tmp_path / "a.log")
    assert lab.watcher.watch_file(key, fd)
    assert lab.kernel_watches == 1
    os.write(fd, b"x")
    assert lab.wait_until(lambda: bool(lab.changed))
    lab.watcher.unwatch_file(key)
    assert lab.kernel_watches == 0
    lab.changed.clear()
    os.write(fd, b"x")
    assert lab.quiet(tmp_path)


def test_a_key_that_another_file_has_now_leaves_no_watch_behind(lab: WatcherLab, tmp_path: Path) -> None:
    key, old = lab.watch(tmp_path / "a.log")
    _, new = lab.open(tmp_path / "b.log")
    assert lab.watcher.watch_file(key, new)
    assert lab.kernel_watches == 1
    os.write(old, b"x")
    assert lab.quiet(tmp_path)
    os.write(new, b"x")
    assert lab.wait_until(lambda: key in lab.changed)


def test_a_file_that_other_hosts_may_write_to_has_a_watch_that_does_not_show_all(tmp_path: Path) -> None:
    lab = WatcherLab(file_system=lambda fd: NFS)
    key, fd = lab.open(tmp_path / "a.log")
    assert lab.watcher.partly_watched([key]) == []
    assert lab.watcher.watch_file(key, fd)
    assert lab.watcher.partly_watched([key, ("app", 0, 0)]) == [key]
    os.write(fd, b"x")
    assert lab.wait_until(lambda: key in lab.changed), "a write of this host is a hint all the same"
    lab.watcher.unwatch_file(key)
    assert lab.watcher.partly_watched([key]) == []
    lab.close()


def test_on_a_disk_a_watch_shows_all(tmp_path: Path) -> None:
    lab = WatcherLab(file_system=lambda fd: 0xEF53)
    key, fd = lab.open(tmp_path / "a.log")
    assert lab.watcher.watch_file(key, fd)
    assert lab.watcher.partly_watched([key]) == []
    lab.close()


# ------------------------------------------------------------------------------------------------- directories


@pytest.mark.parametrize("what", ["create", "delete", "into", "away"])
def test_a_name_that_comes_or_goes_asks_for_a_scan(lab: WatcherLab, tmp_path: Path, what: str) -> None:
    place = tmp_path / "logs"
    place.mkdir()
    (place / "a.log").touch()
    (tmp_path / "b.log").touch()
    lab.watcher.watch_directory(str(place), [ANY_NAME])
    lab.watcher.wants_scan = False
    actions: dict[str, Callable[[], object]] = {
        "create": (place / "new.log").touch,
        "delete": (place / "a.log").unlink,
        "into": lambda: (tmp_path / "b.log").rename(place / "b.log"),
        "away": lambda: (place / "a.log").rename(tmp_path / "a.log"),
    }
    actions[what]()
    assert lab.wait_until(lambda: lab.watcher.wants_scan)


@pytest.mark.parametrize("way", ["deleted", "moved"])
def test_a_directory_that_was_replaced_by_another_is_watched_again(lab: WatcherLab, tmp_path: Path, way: str) -> None:
    place = tmp_path / "logs"
    place.mkdir()
    lab.watcher.watch_directory(str(place), [ANY_NAME])
    lab.watcher.wants_scan = False
    if way == "deleted":
        place.rmdir()
    else:
        place.rename(tmp_path / "old")
    assert lab.wait_until(lambda: lab.watcher.wants_scan)
    lab.watcher.keep_directories([str(place)])
    assert lab.kernel_watches == 0
    lab.watcher.watch_directory(str(place), [ANY_NAME])  # it is not there: no watch, no complaint
    place.mkdir()
    lab.watcher.watch_directory(str(place), [ANY_NAME])
    assert lab.kernel_watches == 1
    lab.watcher.wants_scan = False
    (place / "a.log").touch()
    assert lab.wait_until(lambda: lab.watcher.wants_scan)


def test_another_directory_at_the_path_is_noticed_without_an_event(tmp_path: Path) -> None:
    lab = WatcherLab()  # events that are not taken in wait
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    (tmp_path / "current").symlink_to("1")
    lab.watcher.watch_directory(f"{tmp_path}/current", [ANY_NAME])
    (tmp_path / "next").symlink_to("2")
    (tmp_path / "next").replace(tmp_path / "current")
    lab.watcher.watch_directory(f"{tmp_path}/current", [ANY_NAME])
    assert lab.kernel_watches == 1
    lab.watcher.wants_scan = False
    (tmp_path / "2" / "a.log").touch()
    assert lab.wait_until(lambda: lab.watcher.wants_scan)
    lab.close()


def test_a_directory_that_was_removed_is_noticed_without_an_event(tmp_path: Path) -> None:
    lab = WatcherLab()  # events that are not taken in wait
    (tmp_path / "logs").mkdir()
    lab.watcher.watch_directory(f"{tmp_path}/logs", [ANY_NAME])
    (tmp_path / "logs").rename(tmp_path / "old")
    lab.watcher.watch_directory(f"{tmp_path}/logs", [ANY_NAME])
    assert lab.kernel_watches == 0
    lab.close()


def test_a_new_watch_of_a_directory_asks_for_a_scan_and_an_old_one_does_not(lab: WatcherLab, tmp_path: Path) -> None:
    lab.watcher.watch_directory(str(tmp_path), [ANY_NAME])
    assert lab.watcher.wants_scan
    lab.watcher.wants_scan = False
    lab.watcher.watch_directory(str(tmp_path), [ANY_NAME])
    assert not lab.watcher.wants_scan


def test_two_paths_to_one_directory_do_not_take_each_other_s_watch(lab: WatcherLab, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "link").symlink_to("logs")
    lab.watcher.watch_directory(f"{tmp_path}/logs", [ANY_NAME])
    lab.watcher.watch_directory(f"{tmp_path}/link", [ANY_NAME])
    lab.watcher.keep_directories([f"{tmp_path}/logs"])
    lab.watcher.wants_scan = False
    (tmp_path / "logs" / "a.log").touch()
    assert lab.wait_until(lambda: lab.watcher.wants_scan)


def test_a_directory_that_is_not_kept_gives_no_hints(lab: WatcherLab, tmp_path: Path) -> None:
    (tmp_path / "busy").mkdir()
    lab.watcher.watch_directory(f"{tmp_path}/busy", [ANY_NAME])
    lab.watcher.keep_directories([])
    assert lab.kernel_watches == 0
    lab.watcher.wants_scan = False
    (tmp_path / "busy" / "a").touch()
    assert lab.quiet(tmp_path)


def test_of_a_directory_to_which_a_link_leads_only_the_names_in_question_count(lab: WatcherLab, tmp_path: Path) -> None:
    (tmp_path / "busy").mkdir()
    directory = f"{tmp_path}/busy"
    lab.watcher.watch_directory(directory, {"a.log"})
    assert lab.watcher.scan_begins(full=False) == {(directory, "a.log"): 0}, "what happened before gave no hint"
    (tmp_path / "busy" / "other").touch()
    assert lab.quiet(tmp_path)
    for _ in range(2):
        (tmp_path / "busy" / "a.log").touch()
        (tmp_path / "busy" / "a.log").rename(tmp_path / "busy" / "a.log.1")
    assert lab.wait_until(lambda: lab.watcher.wants_scan)
    assert lab.watcher.scan_begins(full=False) == {(directory, "a.log"): 2}
    assert lab.watcher.scan_begins(full=False) == {}


def test_of_a_directory_that_is_listed_each_name_is_a_hint_of_its_own(lab: WatcherLab, tmp_path: Path) -> None:
    lab.watcher.watch_directory(str(tmp_path), {ANY_NAME, "a.log"})
    lab.watcher.scan_begins(full=False)
    (tmp_path / "b.log").touch()
    (tmp_path / "b.log").rename(tmp_path / "c.log")
    assert lab.wait_until(lambda: lab.watcher.wants_scan)
    assert lab.watcher.scan_begins(full=False) == {(str(tmp_path), "b.log"): 1, (str(tmp_path), "c.log"): 1}


def test_a_file_that_is_deleted_is_less_urgent_than_one_that_is_renamed(lab: WatcherLab, tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).touch()
    lab.watcher.watch_directory(str(tmp_path), {ANY_NAME})
    lab.watcher.scan_begins(full=False)
    (tmp_path / "a.log").unlink()
    assert lab.wait_until(lambda: lab.watcher.wants_scan)
    assert not lab.watcher.is_urgent
    (tmp_path / "b.log").rename(tmp_path / "b.log.1")
    assert lab.wait_until(lambda: lab.watcher.is_urgent)
    lab.watcher.scan_begins(full=False)
    (tmp_path / "b.log.1").unlink()
    tmp_path.rmdir()
    assert lab.wait_until(lambda: lab.watcher.unwatched([str(tmp_path)]) != [])
    assert (lab.watcher.wants_scan, lab.watcher.is_urgent) == (True, False)
    assert lab.watcher.scan_begins(full=False, deletions=False) == {}
    assert lab.watcher.wants_scan
    assert lab.watcher.scan_begins(full=False) == {(str(tmp_path), "b.log.1"): 0, (str(tmp_path), ANY_NAME): 0}


def test_another_name_in_a_watched_directory_asks_for_a_scan_and_takes_no_other_watch(
    lab: WatcherLab, tmp_path: Path
) -> None:
    lab.watcher.watch_directory(str(tmp_path), {"a.log"})
    lab.watcher.scan_begins(full=False)
    lab.watcher.watch_directory(str(tmp_path), {"a.log", "b.log"})
    assert (lab.kernel_watches, lab.watcher.wants_scan) == (1, True)
    assert lab.watcher.scan_begins(full=False) == {(str(tmp_path), "b.log"): 0}


def test_the_end_of_a_watch_is_a_hint_for_all_of_its_names(lab: WatcherLab, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    directory = f"{tmp_path}/logs"
    lab.watcher.watch_directory(directory, {"a.log", ANY_NAME})
    assert lab.watcher.unwatched([directory]) == []
    lab.watcher.scan_begins(full=False)
    (tmp_path / "logs").rename(tmp_path / "old")
    assert lab.wait_until(lambda: lab.watcher.wants_scan)
    assert lab.watcher.scan_begins(full=False) == {(directory, "a.log"): 0, (directory, ANY_NAME): 0}
    assert lab.watcher.unwatched([directory]) == [directory]


def test_after_it_was_stopped_there_is_nothing_to_wait_for(lab: WatcherLab, tmp_path: Path) -> None:
    lab.watch(tmp_path / "a.log")
    lab.watcher.stop()
    began = time.monotonic()
    lab.wake.wait(0.02)  # of a descriptor that was closed, it would be notified at once
    assert time.monotonic() - began >= 0.019


def test_many_events_are_taken_in_one_part_after_the_other(lab: WatcherLab, tmp_path: Path) -> None:
    keys = {lab.watch(tmp_path / f"{number}.log")[0] for number in range(10)}
    for _ in range(1000):
        for fd in lab.fds:
            os.write(fd, b"x")
    assert lab.wait_until(lambda: bool(lab.changed))
    assert len(lab.changed) < 10_000
    assert lab.wait_until(lambda: len(lab.changed) == 10_000)
    assert set(lab.changed) == keys


# ---------------------------------------------------------------------------------------- when there is no event


def test_lost_events_are_logged_once_and_ask_for_a_full_scan(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lab = WatcherLab()  # as long as no events are taken in, the queue fills
    a, b = lab.watch(tmp_path / "a.log"), lab.watch(tmp_path / "b.log")
    for _ in range(int(Path("/proc/sys/fs/inotify/max_queued_events").read_text()) // 2 + 1):
        os.write(a[1], b"x")  # in turn: an event that equals the last one in the queue is left out
        os.write(b[1], b"x")
    assert lab.wait_until(lambda: lab.watcher.lost_events)
    assert lab.watcher.wants_scan
    assert lab.watcher.is_watched(a[0])
    lab.watcher.scan_begins(full=False)
    assert (lab.watcher.wants_scan, lab.watcher.lost_events) == (False, True)
    lab.watcher.scan_begins(full=True)
    assert not lab.watcher.lost_events
    lab.instances[0].handle_event(InotifyEvent(WatchDescriptor(-1), InotifyConstants.IN_Q_OVERFLOW, 0, b""))
    assert lab.watcher.lost_events
    assert lab.watcher.is_watched(a[0])
    (message,) = messages(caplog)
    assert message.startswith("inotify queue overflow: file events were lost; starting a full scan")
    lab.close()


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
    lab = WatcherLab(FullInotify)
    lab.watch(tmp_path / "a.log")
    key, fd = lab.open(tmp_path / "b.log")
    assert not lab.watcher.watch_file(key, fd)
    assert not lab.watcher.watch_file(key, fd)
    assert not lab.watcher.is_watched(key)
    lab.watcher.watch_directory(str(tmp_path), [ANY_NAME])
    assert messages(caplog) == [
        "cannot watch more than 1 files and directories: inotify watch limit reached. The others are scanned every "
        "prospector.scanner.check_interval; for millisecond latency raise fs.inotify.max_user_watches (sysctl)"
    ]
    assert (lab.watcher.watches, lab.watcher.fallbacks) == (1, 2), "b.log and the directory"
    FullInotify.room = 3
    assert lab.watcher.watch_file(key, fd)
    assert (lab.watcher.watches, lab.watcher.fallbacks) == (2, 1)
    lab.watcher.keep_directories([])
    assert lab.watcher.fallbacks == 0
    FullInotify.room = 1
    lab.close()


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
    lab = WatcherLab()
    (tmp_path / "logs").mkdir()
    key, fd = lab.open(tmp_path / "a.log")
    os.fchmod(fd, 0)
    (tmp_path / "logs").chmod(0)
    with without_capabilities():
        assert not lab.watcher.watch_file(key, fd)
        lab.watcher.watch_directory(f"{tmp_path}/logs", [ANY_NAME])
    assert not lab.watcher.is_watched(key)
    assert not lab.watcher._directories
    assert not lab.instances[0]._watch_for_wd
    assert messages(caplog) == []
    (tmp_path / "logs").chmod(0o700)
    lab.close()
