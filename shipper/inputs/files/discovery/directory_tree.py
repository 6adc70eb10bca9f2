"""Walk to the directories that a pattern names, listing only changed ones again.

Trees may share directories: thousands of inputs, one per container, use the same one. It is inspected once per round,
and each tree compares the version with that of its own last walk.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from weakref import WeakValueDictionary

from log_shipper.config.text.globs import AnyDepth, FixedName, PathPattern, Segment, Wildcard
from log_shipper.shipper.inputs.files.discovery.directory import Directory, DirectoryEntry, Kind, long_ending
from log_shipper.shipper.inputs.files.discovery.symlinks import Inode, Place, Symlinks

NO_HINTS: Mapping[Place, int] = MappingProxyType({})
Stop = tuple[str, bool]  # a directory's path, and True if a symlink below the pattern's root leads to it


class Directories:
    """The directories of one or several trees with the same filters."""

    def __init__(
        self, monotonic: Callable[[], float] = time.monotonic, progressed: Callable[[], None] = lambda: None
    ) -> None:
        self.progressed = progressed
        self.symlinks = Symlinks()
        self._monotonic = monotonic
        self._known: WeakValueDictionary[str, Directory] = WeakValueDictionary()
        self._looked_at: dict[str, bool] = {}  # of this round: by path, True if in full

    def begin_round(self, hints: Mapping[Place, int] = NO_HINTS, *, is_partial: bool = False) -> None:
        """Mark the state of all directories as possibly stale. `hints` come from Watcher.scan_begins; with
        `is_partial`, individually inspected paths need a hint."""
        self._looked_at.clear()
        self.symlinks.begin_round(hints, is_partial=is_partial)

    def refresh(self, directory: Directory, *, full: bool, again: bool = False) -> None:
        """List a directory if it has changed, once per round, or `again`."""
        if again or full > self._looked_at.get(directory.path, -1):
            self._looked_at[directory.path] = full
            directory.refresh(full=full)

    def get(self, path: str) -> Directory:
        directory = self._known.get(path)
        if directory is None:
            directory = self._known[path] = Directory(path, self.symlinks, self._monotonic, self.progressed)
        self.refresh(directory, full=False)
        return directory


class Tree:
    """The directories that a pattern leads to. `directories`: those of the last walk, including missing ones."""

    def __init__(self, directories: Directories) -> None:
        self.directories: dict[str, Directory] = {}
        self.progressed = directories.progressed
        self.symlinks = directories.symlinks
        self._all = directories
        self._versions: dict[str, int] = {}  # of the last walk
        self._walked: dict[str, Directory] = {}
        self._endings: set[Place] = set()

    def refresh(self, *, full: bool, again: bool = False) -> bool:
        """List changed directories. Return True if a walk would find anything new."""
        for directory in self.directories.values():
            self._all.refresh(directory, full=full, again=again)
        return any(directory.version != self._versions[path] for path, directory in self.directories.items())

    @property
    def is_torn(self) -> bool:
        """Return True if a file renamed meanwhile can be missing under both names. A single directory does not count:
        thousands of trees may share it, and in each round one of its files ends."""
        alone = len(self.directories) == 1
        return any(directory.is_torn for directory in self.directories.values() if not (alone and directory.is_whole))

    def directory_at(self, path: str) -> Directory:
        directory = self._walked.get(path)
        if directory is None:
            directory = self.directories.get(path) or self._all.get(path)
            self._walked[path] = directory
        return directory

    def matching(self, path: str, segment: Wildcard) -> list[tuple[str, DirectoryEntry]]:
        """Return the entries of a directory that match a segment of the pattern."""
        self._endings.add((path, long_ending(segment)))
        return self.directory_at(path).matching(segment)

    def finish_walk(self) -> set[Place]:
        """End a walk along all patterns: drop the directories that none of them led to. Return the directories in which
        names were searched, with the endings of these names."""
        self.directories = self._walked
        self._versions = {path: directory.version for path, directory in self._walked.items()}
        endings, self._walked, self._endings = self._endings, {}, set()
        return endings

    def places(self, pattern: PathPattern) -> Iterator[Stop]:
        """Yield the directories in which the pattern's last segment is searched. Some may not exist."""
        return self._descend((pattern.root, False), pattern.middle)

    def _descend(self, place: Stop, segments: Sequence[Segment]) -> Iterator[Stop]:
        if not segments:
            yield place
            return
        segment, *remaining = segments
        if isinstance(segment, FixedName):
            yield from self._descend((os.path.join(place[0], segment.name), place[1]), remaining)
        elif isinstance(segment, AnyDepth):
            for below in self._below(place):
                yield from self._descend(below, remaining)
        else:
            for name, entry in self.matching(place[0], segment):
                if entry.kind in (Kind.DIRECTORY, Kind.LINK):
                    yield from self._descend(_into(place, name, entry.kind), remaining)

    def _below(self, place: Stop) -> Iterator[Stop]:
        """Yield each directory below once, however many links lead to it (or in a circle), directories before links."""
        seen: set[Inode] = set()
        real, links = [place], list[Stop]()
        while real or links:
            here = real.pop() if real else links.pop()
            directory = self.directory_at(here[0])
            self._endings.add((here[0], ""))
            if directory.key is None or directory.key in seen:
                continue
            seen.add(directory.key)
            yield here
            for name, entry in reversed(directory.subdirectories):
                (links if entry.kind is Kind.LINK else real).append(_into(here, name, entry.kind))


def _into(place: Stop, name: str, kind: Kind) -> Stop:
    return os.path.join(place[0], name), place[1] or kind is Kind.LINK
