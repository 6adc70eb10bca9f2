"""A watcher that tells only what a test gives it."""

from collections import deque
from collections.abc import Collection

FileKey = tuple[int, int]


class Watches:
    """`Watcher` without inotify: `files` and `directories` are what it was asked to watch."""

    def __init__(self) -> None:
        self.changed: deque[FileKey] = deque()
        self.stale = False
        self.overflowed = False
        self.files: set[FileKey] = set()
        self.directories: set[str] = set()

    def watch_directory(self, path: str) -> None:
        self.directories.add(path)

    def keep_directories(self, paths: Collection[str]) -> None:
        self.directories &= set(paths)

    def is_watched(self, key: FileKey) -> bool:
        return key in self.files

    def watch_file(self, key: FileKey, fd: int) -> bool:
        self.files.add(key)
        return True

    def unwatch_file(self, key: FileKey) -> None:
        self.files.discard(key)
