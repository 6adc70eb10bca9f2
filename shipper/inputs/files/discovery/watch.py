"""Wake the reading loop when something happens to a file. Events are hints: only scans are authoritative.

One inotify instance serves all watches. Directories are watched for names that appear or disappear: any name in listed
directories, only the names in question in those on the way of a path or symlink (symlinks.py). Files are watched for
writes, and only while idle: an event costs far more than a read, so busy files are polled by the loop. If watches are
not available (limit reached, no inotify), that is logged once, and files are found by scans alone. Where events do not
show all writes (network file systems), each scan looks at watched files, too.

A watch belongs to the file, not to its path, and outlives the closing of the file here; the kernel ends it when the
file is deleted and no longer open. The reading thread reads the events itself when it waits: a separate thread would
wake up first for each of them, which was a sixth of the cost of following a slow file.
"""

import errno
import logging
import os
import struct
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

from watchdog.observers.inotify_c import CallbackId, InotifyConstants, InotifyEvent, InotifyFD, Mask, WatchDescriptor

from log_shipper.shipper.inputs.files.discovery.file_system import WRITTEN_ELSEWHERE, FileSystemOf, file_system_of
from log_shipper.shipper.inputs.files.discovery.spec import FileKey
from log_shipper.shipper.inputs.files.discovery.symlinks import ANY_NAME, Place

logger = logging.getLogger(__name__)

FILE_MASK = Mask(InotifyConstants.IN_MODIFY)
DIRECTORY_MASK = Mask(
    InotifyConstants.IN_CREATE
    | InotifyConstants.IN_MOVED_TO
    | InotifyConstants.IN_MOVED_FROM
    | InotifyConstants.IN_DELETE
    | InotifyConstants.IN_MOVE_SELF
    | InotifyConstants.IN_ONLYDIR
)
APPEARED = InotifyConstants.IN_CREATE | InotifyConstants.IN_MOVED_TO
READ_AT_ONCE = 16 * 1024  # bytes of events, each of 16 and a name
EVENT = struct.Struct("iIII")  # inotify(7): descriptor, mask, cookie, and the size of the name that follows
WRITE = InotifyEvent(WatchDescriptor(-1), FILE_MASK, 0, b"")  # whichever the watch
REFUSED = WatchDescriptor(-1)  # watchdog returns it instead of an error if reading is not permitted
ADVICE = {
    errno.ENOSPC: "for millisecond latency raise fs.inotify.max_user_watches (sysctl)",
    errno.EMFILE: "for millisecond latency raise fs.inotify.max_user_instances (sysctl)",
    errno.ENOENT: "for millisecond latency mount /proc",  # the only name that surely leads to an open file
}


class Descriptors(Protocol):
    """The descriptors that the reading thread waits on (wake.py)."""

    def watch(self, fd: int, ready: Callable[[], None], *, hints: bool) -> None:
        """Call `ready`, once, on the reading thread when the descriptor has data. `hints`: they may wait a little."""

    def unwatch(self, fd: int) -> None:
        """Stop watching. Call it before the descriptor is closed."""


class Inotify(InotifyFD):
    """An inotify instance that delivers events on request: its thread is never started. Reports an overflow once, not
    once per watch."""

    def __init__(self, on_overflow: Callable[[], None]) -> None:
        super().__init__()
        self._is_reading = False  # else the thread would have to close the descriptors
        self._on_overflow = on_overflow

    @property
    def fd(self) -> int:
        """Return the descriptor that has data when there are events."""
        return self._inotify_fd

    def deliver(self) -> None:
        """Pass pending events, at most a thousand, to their watches. Blocks if there are none."""
        data, place = os.read(self._inotify_fd, READ_AT_ONCE), 0
        while place < len(data):
            descriptor, mask, cookie, name_size = EVENT.unpack_from(data, place)
            place += EVENT.size + name_size
            if mask == FILE_MASK:  # a tenth of the general way's cost, which matters beside reading one line
                watch = self._watch_for_wd.get(descriptor)
                for callback in () if watch is None else watch.callbacks.values():
                    callback.on_event(WRITE)
            else:
                name = data[place - name_size : place].rstrip(b"\0")
                self.handle_event(InotifyEvent(descriptor, mask, cookie, name))

    def handle_event(self, event: InotifyEvent) -> None:
        if event.is_queue_overflow:
            self._on_overflow()
        else:
            super().handle_event(event)


class _Watch:
    """The watch of a file, or of the directory at `path` for some of its `names`."""

    __slots__ = ("_hear", "descriptor", "ended", "key", "names", "path")

    def __init__(self, key: FileKey, path: str | None, hear: "Callable[[_Watch, InotifyEvent | None], None]") -> None:
        self.key = key
        self.path = path
        self.names: Collection[str] = ()
        self.descriptor = REFUSED
        self.ended = False
        self._hear = hear

    def on_event(self, event: InotifyEvent) -> None:
        # A directory that was moved away still sends events, but for another path.
        self.ended = self.ended or event.is_move_self
        self._hear(self, event)

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        self.ended = True
        self._hear(self, None)

    def on_queue_overflow(self) -> None:
        """Handle a queue overflow; called by Inotify."""


class Watcher:
    """The watches on files and directories. Used by the reading thread only.

    `wants_scan`: a name appeared or disappeared since `scan_begins`; `is_urgent`: not only by a deletion;
    `lost_events`: events were lost, so a full scan is needed.
    """

    def __init__(
        self,
        descriptors: Descriptors,
        connect: Callable[[Callable[[], None]], Inotify] = Inotify,
        file_system: FileSystemOf = file_system_of,
    ) -> None:
        self.wants_scan = self.is_urgent = self.lost_events = False
        self._descriptors = descriptors
        self._file_system = file_system
        self._changed: list[FileKey] = []
        self._hints: Counter[Place] = Counter()
        self._deletions: dict[Place, None] = {}  # hints that are not urgent
        self._files: dict[FileKey, _Watch] = {}
        self._directories: dict[str, _Watch] = {}
        self._refused: set[FileKey | str] = set()  # files and directories without a watch
        self._elsewhere: dict[int, bool] = {}  # by device: writes to its files may give no event
        self._warned: set[int | None] = set()
        self._on_hint = self._hear  # one bound method for all watches
        try:
            self._inotify: Inotify | None = connect(self._lose)
        except OSError as error:
            self._inotify = None
            self._report(error)
        else:
            descriptors.watch(self._inotify.fd, self._deliver, hints=True)

    @property
    def watches(self) -> int:
        """Return the number of watched files and directories. Any thread may call it."""
        return len(self._files) + len(self._directories)

    @property
    def fallbacks(self) -> int:
        """Return the number of files and directories that are scanned because they have no watch. Any thread may call
        it."""
        return len(self._refused)

    def take_changed(self) -> list[FileKey]:
        """Return the files written to or deleted since the last call."""
        changed, self._changed = self._changed, []
        return changed

    def scan_begins(self, *, full: bool, deletions: bool = True) -> Mapping[Place, int]:
        """Note that a scan begins: later events request another one. A full scan makes up for lost events. Return the
        names that appeared, disappeared or are newly watched since the last one, each with the number of times that it
        appeared; ANY_NAME only where the watch itself is new, or has ended. Without `deletions`, hints that are not
        urgent are left for a later scan."""
        self.is_urgent = False
        self.lost_events = self.lost_events and not full
        hints, self._hints = self._hints, Counter()
        if deletions:
            hints.update(dict.fromkeys(self._deletions, 0))
            self._deletions.clear()
        self.wants_scan = bool(self._deletions)
        return hints

    def stop(self) -> None:
        if self._inotify is not None:
            self._descriptors.unwatch(self._inotify.fd)
            self._inotify.stop()

    def watch_directory(self, path: str, names: Collection[str]) -> None:
        """Watch a directory for these names, or ANY_NAME, that appear or disappear. Call it when the path may lead to
        another directory, when the names may have changed, and at every scan while there is no watch. A new watch or
        name requests a scan, because earlier changes gave no hint."""
        try:
            status = os.stat(path)
        except OSError:
            self._remove(self._directories.pop(path, None))
            self._refused.discard(path)
            return
        key = ("", status.st_dev, status.st_ino)  # of no input
        watch = self._directories.get(path)
        if watch is None or watch.key != key:
            watch = self._add(path, DIRECTORY_MASK, _Watch(key, path, self._on_hint))
            self._remove(self._directories.pop(path, None))
            self._note(path, watch)
        if watch is not None:
            self._directories[path] = watch
            self._hint(path, set(names).difference(watch.names))
            watch.names = names

    def unwatched(self, paths: Iterable[str]) -> list[str]:
        """Return the directories without a watch."""
        return [path for path in paths if path not in self._directories]

    def keep_directories(self, paths: Collection[str]) -> None:
        """Remove the watches of all other directories, which may be busy ones."""
        for path in [path for path in self._directories if path not in paths]:
            self._remove(self._directories.pop(path))
        self._refused = {refused for refused in self._refused if not isinstance(refused, str) or refused in paths}

    def is_watched(self, key: FileKey) -> bool:
        return key in self._files

    def partly_watched(self, keys: Iterable[FileKey]) -> list[FileKey]:
        """Return the watched files of which the watch may not show all writes."""
        if not any(self._elsewhere.values()):
            return []
        return [key for key in keys if key in self._files and self._elsewhere.get(key[1])]

    def watch_file(self, key: FileKey, fd: int) -> bool:
        """Watch an open file for writes. Return False if no watch is available. The caller must read once more
        afterwards: earlier writes give no hint."""
        # By descriptor: the path may belong to another file by now.
        watch = self._add(f"/proc/self/fd/{fd}", FILE_MASK, _Watch(key, None, self._on_hint))
        # After adding the new one: both share the kernel's watch, unless another file has the inode now.
        self._remove(self._files.pop(key, None))
        self._note(key, watch)
        if watch is not None:
            self._files[key] = watch
            if key[1] not in self._elsewhere:
                self._elsewhere[key[1]] = self._file_system(fd) in WRITTEN_ELSEWHERE
        return watch is not None

    def unwatch_file(self, key: FileKey) -> None:
        self._remove(self._files.pop(key, None))
        self._refused.discard(key)

    def _note(self, watched: FileKey | str, watch: _Watch | None) -> None:
        if watch is None:
            self._refused.add(watched)
        else:
            self._refused.discard(watched)

    def _add(self, path: str, mask: Mask, watch: _Watch) -> _Watch | None:
        if self._inotify is None:
            return None
        try:
            watch.descriptor = self._inotify.add_callback(os.fsencode(path), mask, watch, CallbackId(id(watch)))
        except OSError as error:
            is_missing = watch.path is not None and error.errno in (errno.ENOENT, errno.ENOTDIR)
            if not is_missing:
                self._report(error)
            return None
        if watch.descriptor == REFUSED:
            self._remove(watch)
            return None
        return watch

    def _remove(self, watch: _Watch | None) -> None:
        if watch is not None and self._inotify is not None:
            self._inotify.remove_callbacks([(watch.descriptor, CallbackId(id(watch)))])

    def _forget(self, watch: _Watch) -> None:
        """Forget a watch that has ended, unless another replaced it."""
        if watch.path is None and self._files.get(watch.key) is watch:
            del self._files[watch.key]
        elif watch.path is not None and self._directories.get(watch.path) is watch:
            self._remove(self._directories.pop(watch.path))

    def _report(self, error: OSError) -> None:
        if error.errno not in self._warned:
            self._warned.add(error.errno)
            logger.warning(
                "cannot watch more than %d files and directories: %s. The others are scanned every "
                "prospector.scanner.check_interval%s",
                len(self._files) + len(self._directories),
                error.strerror or error,
                "; " + ADVICE[error.errno] if error.errno in ADVICE else "",
            )

    def _deliver(self) -> None:
        if self._inotify is not None:
            self._inotify.deliver()
            self._descriptors.watch(self._inotify.fd, self._deliver, hints=True)

    def _hear(self, watch: _Watch, event: InotifyEvent | None) -> None:
        if watch.ended:
            self._forget(watch)
        if watch.path is None:
            self._changed.append(watch.key)
            return
        if watch.ended or event is None:
            self._hint(watch.path, watch.names, is_urgent=event is not None)
            return
        name = os.fsdecode(event.name)
        if name in watch.names or ANY_NAME in watch.names:
            self._hint(watch.path, (name,), appeared=bool(event.mask & APPEARED), is_urgent=not event.is_delete)

    def _hint(self, directory: str, names: Iterable[str], *, appeared: bool = False, is_urgent: bool = True) -> None:
        for name in names:
            self.wants_scan = True
            if is_urgent:
                self.is_urgent = True
                self._hints[directory, name] += appeared
            else:
                self._deletions[directory, name] = None

    def _lose(self) -> None:
        self.lost_events = self.wants_scan = self.is_urgent = True
        if errno.EOVERFLOW not in self._warned:
            self._warned.add(errno.EOVERFLOW)
            logger.warning(
                "inotify queue overflow: file events were lost; starting a full scan. If latency matters, raise "
                "fs.inotify.max_queued_events (sysctl)"
            )
