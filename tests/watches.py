"""A watcher whose hints come from the test."""

from collections.abc import Callable, Collection, Iterable, Mapping

from log_shipper.shipper.inputs.files.discovery.spec import FileKey
from log_shipper.shipper.inputs.files.discovery.symlinks import Place


class Watches:
    """`Watcher` without inotify: `files` and `directories` are what it was asked to watch. While it `refuses`, no
    file is watched, and while it `is_partial`, watches do not show all writes; `only_deletions` are why it wants a
    scan; `on_watch` and `on_directory` are called for each new watch."""

    def __init__(self) -> None:
        self.changed: list[FileKey] = []
        self.wants_scan = False
        self.only_deletions = False
        self.lost_events = False
        self.hints: dict[Place, int] = {}
        self.files: set[FileKey] = set()
        self.directories: set[str] = set()
        self.refuses = self.is_partial = False
        self.on_watch: Callable[[], object] = lambda: None
        self.on_directory: Callable[[], object] = lambda: None

    @property
    def is_urgent(self) -> bool:
        return self.wants_scan and not self.only_deletions

    def take_changed(self) -> list[FileKey]:
        changed, self.changed = self.changed, []
        return changed

    def scan_begins(self, *, full: bool, deletions: bool = True) -> Mapping[Place, int]:
        self.wants_scan = False
        self.lost_events = self.lost_events and not full
        hints, self.hints = self.hints, {}
        return hints

    def watch_directory(self, path: str, names: Collection[str]) -> None:
        self.directories.add(path)
        self.on_directory()

    def unwatched(self, paths: Iterable[str]) -> list[str]:
        return [path for path in paths if path not in self.directories]

    def keep_directories(self, paths: Collection[str]) -> None:
        self.directories &= set(paths)

    def is_watched(self, key: FileKey) -> bool:
        return key in self.files

    def partly_watched(self, keys: Iterable[FileKey]) -> list[FileKey]:
        return [key for key in keys if key in self.files and self.is_partial]

    def watch_file(self, key: FileKey, fd: int) -> bool:
        if self.refuses:
            return False
        self.files.add(key)
        self.on_watch()
        return True

    def unwatch_file(self, key: FileKey) -> None:
        self.files.discard(key)
