"""Wakes the reading loop when something happens to a file; never the truth about it, which is the scan's.

One inotify instance and one thread serve all watches. Directories are watched for what comes and goes, files for
writes, and a file only while it is quiet: an event costs far more than a look, so while a file is hot the loop looks
at it by itself. Where watches cannot be had (limit reached, no inotify), this says so once and scans go on.
"""

import errno
import logging
import os
from collections import deque
from collections.abc import Callable

from watchdog.observers.inotify_c import CallbackId, InotifyConstants, InotifyEvent, InotifyFD, Mask, WatchDescriptor

from shipper.source.discover import FileKey

logger = logging.getLogger(__name__)

FILE_MASK = Mask(InotifyConstants.IN_MODIFY)
DIRECTORY_MASK = Mask(
    InotifyConstants.IN_CREATE
    | InotifyConstants.IN_MOVED_TO
    | InotifyConstants.IN_MOVED_FROM
    | InotifyConstants.IN_DELETE
    | InotifyConstants.IN_ONLYDIR
)


class _Watch:
    """A watch as the inotify thread calls it back: it appends to a deque, which is atomic, and wakes the loop."""

    def __init__(self, note: Callable[[], None]) -> None:
        self.note = note
        self.descriptor: WatchDescriptor | None = None

    def on_event(self, event: InotifyEvent) -> None:
        self.note()

    def on_watch_deleted(self, descriptor: WatchDescriptor) -> None:
        self.descriptor = None

    def on_queue_overflow(self) -> None:
        self.note()


class Watcher:
    """Used by the reading thread only; `wake` is called from the inotify thread after each hint.

    `changed` collects the keys of files that were written to, `stale` is set when a scan should be made now.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self.changed: deque[FileKey] = deque()
        self.stale = False
        self._wake = wake
        self._files: dict[FileKey, _Watch] = {}
        self._directories: dict[str, _Watch] = {}
        self._told = False
        try:
            self._inotify: InotifyFD | None = InotifyFD()
        except OSError as error:
            self._inotify = None
            self._tell(error)

    def start(self) -> None:
        if self._inotify is not None:
            self._inotify.start()

    def stop(self) -> None:
        if self._inotify is not None:
            self._inotify.stop()
            self._inotify.join(1.0)

    def watch_directory(self, path: str) -> None:
        known = self._directories.get(path)
        if known is None or known.descriptor is None:
            watch = self._add(path, DIRECTORY_MASK, self._note_stale)
            if watch is not None:
                self._directories[path] = watch

    def is_watched(self, key: FileKey) -> bool:
        return key in self._files

    def watch_file(self, key: FileKey, fd: int) -> bool:
        """Ask for a hint at the next write to an open file. The caller looks once more afterwards: what was written
        before the watch stood gives none. False when there is no watch to be had."""
        # By descriptor, not by path: the path may belong to another file by now.
        watch = self._add(f"/proc/self/fd/{fd}", FILE_MASK, lambda: self._note_changed(key))
        if watch is not None:
            self._files[key] = watch
        return watch is not None

    def unwatch_file(self, key: FileKey) -> None:
        watch = self._files.pop(key, None)
        if watch is not None and watch.descriptor is not None and self._inotify is not None:
            self._inotify.remove_callbacks([(watch.descriptor, CallbackId(id(watch)))])

    def _add(self, path: str, mask: Mask, note: Callable[[], None]) -> _Watch | None:
        if self._inotify is None:
            return None
        watch = _Watch(note)
        try:
            watch.descriptor = self._inotify.add_callback(os.fsencode(path), mask, watch, CallbackId(id(watch)))
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.EACCES):
                self._tell(error)
            return None
        return watch

    def _tell(self, error: OSError) -> None:
        if not self._told:
            self._told = True
            logger.warning(
                "no more file events: %s. Files without a watch are looked at every prospector.scanner.check_interval; "
                "for millisecond latency raise fs.inotify.max_user_watches (sysctl)",
                error.strerror or error,
            )

    def _note_changed(self, key: FileKey) -> None:
        self.changed.append(key)
        self._wake()

    def _note_stale(self) -> None:
        self.stale = True
        self._wake()
