"""Where a path leads through symlinks, and the places at which a change leads it to another file.

These places are watched for hints only: which file is at the end of a path, a stat of each scan decides. So a path is
followed again when that is another file, or after a hint, and not at each scan. A hint also tells how often a name
appeared: a file that appeared, and was replaced before a scan saw it, was missed.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass

Inode = tuple[int, int]  # device, inode
Place = tuple[str, str]  # a directory, and a name in it, or ANY_NAME

ANY_NAME = ""
MAX_KNOWN = 1000  # directories, which are asked for once in a round: most paths have their first ones in common
MAX_LINKED_NAMES = 100  # on the way of one path; where links lead through more of them, the others have no watch


@dataclass(frozen=True, slots=True)
class Way:
    """`end`: the path without links. `links`: the places of its links, `last`: that of its last name, or of the first
    one that is missing; `is_whole`: no name before the last one is missing."""

    end: str
    links: tuple[Place, ...]
    last: Place
    is_whole: bool


def follow(path: str, directories: set[str]) -> Way:
    """Follow an absolute path. Any link may lead in a circle or nowhere. `directories`: known ones, which are no links;
    others are added."""
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
            return Way(os.path.join(step, *reversed(names)), tuple(links), last, is_whole=not names)
        if target:
            links[last] = None
            below = _reversed_names(target)
            allowed -= len(below)
            if allowed < 0:
                return Way(step, tuple(links), last, is_whole=False)
            names += below
            here = "/" if target.startswith("/") else here
        else:
            here = step
            if names and len(directories) < MAX_KNOWN:
                directories.add(step)
    return Way(here, tuple(links), last, is_whole=True)


def _reversed_names(path: str) -> list[str]:
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _target(path: str, *, is_last: bool) -> str | None:
    """Return the target of a link, "" for what is none; None where the path ends, because nothing is there, or no
    directory."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return os.readlink(path)
    except OSError:
        return None
    return "" if is_last or stat.S_ISDIR(mode) else None


@dataclass(frozen=True, slots=True)
class Missed:
    """How many files were not seen at a path, unless they are seen elsewhere. `end`: where the path led."""

    count: int
    end: str


class Symlinks:
    """What the scanners of one group of inputs know in a round. `hints`: the places at which something happened since
    the last one, each with the number of times that its name appeared there; `is_partial`: the other places are as they
    were, as far as is known. `missed`: by the path that led to them. `led_elsewhere`: paths that lead to another place
    than before. `moved`: directories at whose path another one may be now, or of which other names are in question.
    `directories`: as `follow` has it."""

    def __init__(self) -> None:
        self.hints: Mapping[Place, int] = {}
        self.is_partial = False
        self.missed: dict[str, Missed] = {}
        self.led_elsewhere: set[str] = set()
        self.moved: set[str] = set()
        self.directories: set[str] = set()

    def begin_round(self, hints: Mapping[Place, int], *, is_partial: bool) -> None:
        self.hints = hints
        self.is_partial = is_partial
        self.missed = {}
        self.led_elsewhere = set()
        self.moved = set()
        self.directories = set()


class Trail:
    """The places of one path, from look to look. `includes_last`: also that of its last name."""

    __slots__ = ("_ahead", "_hints", "_includes_last", "_is_whole", "_seen", "_symlinks", "end", "path", "places")

    def __init__(self, path: str, symlinks: Symlinks, *, includes_last: bool) -> None:
        self.path = path
        self.end = path
        self.places: tuple[Place, ...] = ()
        self._symlinks = symlinks
        self._includes_last = includes_last
        self._seen: tuple[Inode | None, object] | None = None
        self._is_whole = False
        self._hints: Mapping[Place, int] = {}  # those that were counted
        self._ahead = 0  # new files that were seen and whose hints did not come yet

    @property
    def is_due(self) -> bool:
        """True if a partial round is to look at the end of the path."""
        hints = self._symlinks.hints
        return self._seen is None or any(place in hints for place in self.places)

    def update(self, key: Inode | None, link: object = None, *, again: bool = False, counts: bool = True) -> None:
        """Note what a look found at the end of the path: the file, None if there is none, and of a path that is a
        `link` what is another value for another link. `again`: follow it whatever was found. `counts`: files that were
        missed would have been read."""
        hints = self._symlinks.hints
        hinted = [hints[place] for place in self.places if place in hints] if hints else []
        if hints is self._hints:  # this round looks once more
            hinted.clear()
        self._hints = hints
        if self._seen is not None and self._is_whole:  # else what appeared is a directory on the way
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
        """Count the files that appeared, but for the one that is there now, and those that were seen."""
        missed = appeared - self._ahead - (key is not None)
        if missed > 0 and counts:
            self._symlinks.missed[self.path] = Missed(missed, self.end)
        if appeared:
            self._ahead = 0
        elif key is not None and self._seen is not None and self._seen[0] != key:
            self._ahead += 1
