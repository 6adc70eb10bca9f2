"""A walk to the directories that a pattern names, through kept listings: only changed directories are listed again."""

import os
from collections.abc import Callable, Iterator, Sequence

from config.text.globs import AnyDepth, FixedName, PathPattern, Segment
from shipper.source.discovery.directory import Directory, FileKey, Kind

Place = tuple[str, bool]  # a directory's path, and whether a symlink below the pattern's root is on the way


class Tree:
    """`directories`: those of the last walk, also those that do not exist."""

    def __init__(self, monotonic: Callable[[], float], progressed: Callable[[], None]) -> None:
        self.directories: dict[str, Directory] = {}
        self.progressed = progressed
        self._monotonic = monotonic
        self._walked: dict[str, Directory] = {}

    def refresh(self, *, full: bool) -> bool:
        """List what has changed; True if a walk would give anything new."""
        changed = [directory.refresh(full=full) for directory in self.directories.values()]
        return any(changed)

    @property
    def is_torn(self) -> bool:
        return any(directory.is_torn for directory in self.directories.values())

    def directory_at(self, path: str) -> Directory:
        directory = self._walked.get(path)
        if directory is None:
            directory = self.directories.get(path)
            if directory is None:
                directory = Directory(path, self._monotonic, self.progressed)
                directory.refresh(full=False)
            self._walked[path] = directory
        return directory

    def finish_walk(self) -> None:
        """End a walk along all patterns: forget the directories that none of them led to."""
        self.directories = self._walked
        self._walked = {}

    def places(self, pattern: PathPattern) -> Iterator[Place]:
        """Yield the directories in which the pattern's last segment is searched. Some may not exist."""
        return self._descend((pattern.root, False), pattern.middle)

    def _descend(self, place: Place, segments: Sequence[Segment]) -> Iterator[Place]:
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
            directory = self.directory_at(place[0])
            for name, entry in directory.matching(segment):
                if entry.kind in (Kind.DIRECTORY, Kind.LINK):
                    yield from self._descend(_into(place, name, entry.kind), remaining)

    def _below(self, place: Place) -> Iterator[Place]:
        """Yield each directory below once, however many links lead to it (or in a circle), directories before links."""
        seen: set[FileKey] = set()
        real, links = [place], list[Place]()
        while real or links:
            here = real.pop() if real else links.pop()
            directory = self.directory_at(here[0])
            if directory.key is None or directory.key in seen:
                continue
            seen.add(directory.key)
            yield here
            for name, entry in reversed(directory.subdirectories):
                (links if entry.kind is Kind.LINK else real).append(_into(here, name, entry.kind))


def _into(place: Place, name: str, kind: Kind) -> Place:
    return os.path.join(place[0], name), place[1] or kind is Kind.LINK
