"""Follow a path through symlinks, and find the places at which a change leads it to another file.

These places are watched for hints only; a stat in each scan decides which file the path leads to. So a path is followed
again only if that file changed, or after a hint. A hint also has the number of times that a name appeared: a file that
appeared and was replaced before a scan saw it was missed.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass

Inode = tuple[int, int]  # device, inode
Place = tuple[str, str]  # a directory, and a name in it, or ANY_NAME

ANY_NAME = ""
MAX_KNOWN = 1000  # directories, looked up once per round: most paths share their first ones
MAX_LINKED_NAMES = 100  # per path; further directories on the way have no watch


@dataclass(frozen=True, slots=True)
class ResolvedPath:
    """The resolution of a path. `end`: the path without links. `links`: the places of its links; `last`: the place of
    its last name, or of the first missing one; `is_whole`: only the last name may be missing."""

    end: str
    links: tuple[Place, ...]
    last: Place
    is_whole: bool


def follow(path: str, directories: set[str]) -> ResolvedPath:
    """Follow an absolute path. Any link may lead in a circle or nowhere. `directories`: known directories that are not
    links; others are added."""
    links: dict[Place, None] = {}
    here, names, allowed = "/", _reversed_names(path), MAX_LINKED_NAMES
    last = here, ANY_NAME
    while names:
        name = names.pop()
        if name == "..":
            here = os.path.dirname(here)
            continue
        last = here, name
        step = f"{here.rstrip('/')}/{name}"
        if names and step in directories:
            here = step
            continue
        target = _target(step, is_last=not names)
        if target is None:
            return ResolvedPath(os.path.join(step, *reversed(names)), tuple(links), last, is_whole=not names)
        if target:
            links[last] = None
            below = _reversed_names(target)
            allowed -= len(below)
            if allowed < 0:
                return ResolvedPath(step, tuple(links), last, is_whole=False)
            names += below
            here = "/" if target.startswith("/") else here
        else:
            here = step
            if names and len(directories) < MAX_KNOWN:
                directories.add(step)
    return ResolvedPath(here, tuple(links), last, is_whole=True)


def _reversed_names(path: str) -> list[str]:
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _target(path: str, *, is_last: bool) -> str | None:
    """Return the target of a link, "" if it is not a link; None where the path ends because nothing, or no directory,
    is there."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return os.readlink(path)
    except OSError:
        return None
    return "" if is_last or stat.S_ISDIR(mode) else None


@dataclass(frozen=True, slots=True)
class MissedFiles:
    """The number of files missed at a path, unless they are found elsewhere. `end`: where the path led."""

    count: int
    end: str


class Symlinks:
    """The scanners' shared knowledge in a round. `hints`: the places with events since the last one, each with the
    number of times that its name appeared there; `is_partial`: the other places are assumed to be unchanged. `missed`:
    by the path that led to them. `led_elsewhere`: paths that lead to another place than before. `moved`: directories
    that may have been replaced at their path, or of which other names are in question.
    `directories`: as in `follow`."""

    def __init__(self) -> None:
        self.begin_round({}, is_partial=False)

    def begin_round(self, hints: Mapping[Place, int], *, is_partial: bool) -> None:
        self.hints = hints
        self.is_partial = is_partial
        self.missed: dict[str, MissedFiles] = {}
        self.led_elsewhere: set[str] = set()
        self.moved: set[str] = set()
        self.directories: set[str] = set()


class PathHistory:
    """The places of one path over time. `includes_last`: also that of its last name."""

    __slots__ = ("_ahead", "_hints", "_includes_last", "_is_whole", "_seen", "_symlinks", "end", "path", "places")

    def __init__(self, path: str, symlinks: Symlinks, *, includes_last: bool) -> None:
        self.path = path
        self.end = path
        self.places: tuple[Place, ...] = ()
        self._symlinks = symlinks
        self._includes_last = includes_last
        self._seen: tuple[Inode | None, object] | None = None
        self._is_whole = False
        self._hints: Mapping[Place, int] = {}  # already counted
        self._ahead = 0  # new files that were found before their hints arrived

    @property
    def is_due(self) -> bool:
        """Return True if a partial round must inspect the end of the path."""
        hints = self._symlinks.hints
        return self._seen is None or any(place in hints for place in self.places)

    def update(self, key: Inode | None, link: object = None, *, again: bool = False, counts: bool = True) -> None:
        """Note what is at the end of the path: the file, or None; of a path that is a `link`, a value that differs for
        another link. `again`: follow it in any case. `counts`: missed files would have been read."""
        hints = self._symlinks.hints
        hinted = [hints[place] for place in self.places if place in hints] if hints else []
        if hints is self._hints:  # this round inspects it once more
            hinted.clear()
        self._hints = hints
        if self._seen is not None and self._is_whole:  # else a directory on the way appeared
            self._count(sum(hinted), key, counts=counts)
        if again or hinted or self._seen != (key, link):
            way = follow(self.path, self._symlinks.directories)
            if self._seen is not None and way.end != self.end:
                self._symlinks.led_elsewhere.add(self.path)
            self._seen = key, link
            self.end, self._is_whole = way.end, way.is_whole
            self.places = (*way.links, way.last) if self._includes_last or key is None else way.links
            self._symlinks.moved.update(directory for directory, _ in self.places)

    def _count(self, appeared: int, key: Inode | None, *, counts: bool) -> None:
        """Count the files that appeared, except the current one and those that were found."""
        missed = appeared - self._ahead - (key is not None)
        if missed > 0 and counts:
            self._symlinks.missed[self.path] = MissedFiles(missed, self.end)
        if appeared:
            self._ahead = 0
        elif key is not None and self._seen is not None and self._seen[0] != key:
            self._ahead += 1
