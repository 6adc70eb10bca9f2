"""Where a pattern leads: a walk through what the directories held, of which only those are listed that changed."""

import os
from collections.abc import Callable, Iterator, Sequence

from config.text.globs import AnyDepth, FixedName, PathPattern, Segment
from shipper.source.discovery.directory import Directory, FileKey, Kind

Place = tuple[str, bool]  # a directory's path, and whether a symlink below the pattern's root is on the way


class Tree:
    """`directories`: those of the last walk, also such as are not there."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self.directories: dict[str, Directory] = {}
        self._monotonic = monotonic
        self._walked: dict[str, Directory] = {}

    def refresh(self, *, full: bool) -> bool:
        """True if a walk would meet anything new."""
        moved = [directory.refresh(full=full) for directory in self.directories.values()]
        return any(moved)

    @property
    def is_torn(self) -> bool:
        return any(directory.is_torn for directory in self.directories.values())

    def at(self, path: str) -> Directory:
        directory = self._walked.get(path)
        if directory is None:
            directory = self.directories.get(path)
            if directory is None:
                directory = Directory(path, self._monotonic)
                directory.refresh(full=False)
            self._walked[path] = directory
        return directory

    def walked(self) -> None:
        """All patterns were followed: forget the directories that none of them led to."""
        self.directories = self._walked
        self._walked = {}

    def places(self, pattern: PathPattern) -> Iterator[Place]:
        """Where the last segment is to be looked for. Some of these may not be there."""
        return self._lead((pattern.root, False), pattern.middle)

    def _lead(self, place: Place, segments: Sequence[Segment]) -> Iterator[Place]:
        if not segments:
            yield place
            return
        segment, *rest = segments
        if isinstance(segment, FixedName):
            yield from self._lead((os.path.join(place[0], segment.name), place[1]), rest)
        elif isinstance(segment, AnyDepth):
            for below in self._below(place):
                yield from self._lead(below, rest)
        else:
            directory = self.at(place[0])
            for name, entry in directory.matching(segment):
                if entry.kind in (Kind.DIRECTORY, Kind.LINK):
                    yield from self._lead(_into(place, name, entry.kind), rest)

    def _below(self, place: Place) -> Iterator[Place]:
        """Each directory once, however many links lead to it (or round in a circle), and real ways before links."""
        seen: set[FileKey] = set()
        real, links = [place], list[Place]()
        while real or links:
            here = real.pop() if real else links.pop()
            directory = self.at(here[0])
            if directory.key is None or directory.key in seen:
                continue
            seen.add(directory.key)
            yield here
            for name, entry in reversed(directory.ways):
                (links if entry.kind is Kind.LINK else real).append(_into(here, name, entry.kind))


def _into(place: Place, name: str, kind: Kind) -> Place:
    return os.path.join(place[0], name), place[1] or kind is Kind.LINK
