"""New files that may become another name for one that is there: copies, before their original is truncated or removed.

copytruncate and gzip write a second file beside the first, and only then empty or remove the first. An agent that is
told of new files within milliseconds sees both at once; taken for a file of its own, the second would be shipped a
second time. So a new file whose name and bytes look like those of another is held. Either its original ends, then it
takes that one's entry over (entries.py), or it gets bytes of its own, or it stays as it is for some seconds: then it
is a file like any other. Longer than that it is held only while its original is ending, or is another than was read
of it, which is about to be noticed; an output that is blocked can make both last.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from registry.state import FileState
from shipper.clock import Clock
from shipper.source.content import Plain
from shipper.source.discover import FileKey
from shipper.source.entries import Opened
from shipper.source.orphans import could_be, is_beginning
from shipper.source.rotation import possible_originals

ANSWER_AFTER = 0.25  # seconds between two looks whether a long comparison is done
GRACE = 5.0  # seconds without growth after which a file that looks like another is one of its own


# The files that are at a path, or were there just before.
FilesAt = Callable[[str], Iterable[FileKey]]


@dataclass(slots=True)
class Suspect:
    """A file that is held; `size` and `since`: when it was seen to have grown last. `asked`: how it compares with an
    entry is not known yet."""

    opened: Opened
    original: FileKey
    size: int
    since: float
    asked: bool = False


class Copies:
    """Used by the reading thread only. `ending`: the states of files that are gone but not done with; `state_of`: what
    is known of a file that is there."""

    def __init__(
        self, clock: Clock, ending: Callable[[], Mapping[FileKey, FileState]],
        state_of: Callable[[FileKey], FileState | None], states: Callable[[], Iterable[FileState]] = tuple,
    ) -> None:  # fmt: skip
        """`states`: those of all files that are there."""
        self._clock = clock
        self._ending = ending
        self._state_of = state_of
        self._states = states
        self._by_head: dict[tuple[int, str], list[FileState]] | None = None  # made when it is asked for
        self.held: dict[FileKey, Suspect] = {}

    def holds(self, opened: Opened, files_at: FilesAt) -> bool:
        """Whether the file must wait. Raises OSError."""
        key = opened.found.key
        original = self._original(opened, files_at)
        known = self.held.get(key)
        if original is None:
            self.held.pop(key, None)
            return False
        now = self._clock.monotonic()
        if known is None or known.size != opened.size:
            self.held[key] = known = Suspect(opened, original, opened.size, now)
        known.original = original
        if now - known.since < GRACE:
            return True
        if original in self._ending() or self._is_truncated(original):
            known.since = now
            return True
        del self.held[key]
        return False

    def await_answer(self, opened: Opened, state: FileState) -> None:
        """Hold the file until it is known whether it goes on where the entry is."""
        now = self._clock.monotonic()
        known = self.held.get(opened.found.key)
        if known is None:
            known = Suspect(opened, (state.device, state.inode), opened.size, now)
        known.asked, known.since = True, now
        self.held[opened.found.key] = known

    @property
    def awaits_answer(self) -> bool:
        return any(suspect.asked for suspect in self.held.values())

    def has_rest(self, state: FileState, key: FileKey, offset: int) -> bool:
        """Whether a file is held that has the bytes of this one from `offset` on. Raises OSError."""
        return any(
            suspect.original == key
            and suspect.opened.content.holds(state)
            and os.fstat(suspect.opened.content.fd).st_size > offset
            for suspect in self.held.values()
        )

    def inherit(self, heirs: Mapping[FileKey, FileKey]) -> set[FileKey]:
        """A file took over the entry of what was the original of others too: they look like it now. Which ones."""
        found = {key for key, suspect in self.held.items() if suspect.original in heirs}
        for key in found:
            self.held[key].original = heirs[self.held[key].original]
        return found

    def original_of(self, key: FileKey) -> FileKey | None:
        return self.held[key].original if key in self.held else None

    @property
    def next_look(self) -> float:
        """Monotonic time at which a file that is held must be looked at again."""
        held = self.held.values()
        return min((each.since + (ANSWER_AFTER if each.asked else GRACE) for each in held), default=float("inf"))

    def refreshed(self) -> list[Opened]:
        """Those that are held, as they are now. One that was deleted is let go, unless its original is gone too, or
        was truncated: then it may be the only one to have what was not read."""
        self._by_head = None
        found = []
        for key, suspect in list(self.held.items()):
            suspect.asked = False
            status = os.fstat(suspect.opened.content.fd)
            if status.st_nlink == 0 and self._is_in_original(suspect):
                del self.held[key]
                os.close(suspect.opened.content.fd)
            else:
                now = replace(suspect.opened.found, size=status.st_size, modified=status.st_mtime)
                found.append(replace(suspect.opened, size=status.st_size, found=now))
        return found

    def _is_in_original(self, suspect: Suspect) -> bool:
        state = self._state_of(suspect.original)
        if state is None:
            return False
        # Of a .gz that was read to its end no bytes before the position are known.
        state = replace(state, position=0, tail_hash="", compressed=0) if state.compressed else state
        is_known = state.fingerprint[0] > 0 and suspect.opened.content.holds(state)
        return is_known or _begins_as(state.path, suspect.opened)

    def drop(self, key: FileKey) -> None:
        """It is known now what it is; its descriptor is the caller's."""
        self.held.pop(key, None)

    def close(self) -> None:
        for suspect in self.held.values():
            os.close(suspect.opened.content.fd)
        self.held.clear()

    def _original(self, opened: Opened, files_at: FilesAt) -> FileKey | None:
        known = self.held.get(opened.found.key)
        ending = self._ending()
        if known is not None and known.original in ending and _could_become(opened, ending[known.original]):
            return known.original
        state = self._state_of(known.original) if known is not None else None
        if known is not None and state is not None and self._looks_like(opened, state.path, known.original):
            return known.original  # by its key, because it may have been renamed since
        for key, each in ending.items():
            if could_be(each, opened.found, opened.content) and opened.content.holds(each):
                return key
        for path in possible_originals(opened.found.path):
            for key in files_at(path):
                if self._looks_like(opened, path, key):
                    return key
        return self._by_its_bytes(opened)

    def _by_its_bytes(self, opened: Opened) -> FileKey | None:
        """A copy may be renamed as soon as it is made, and its original truncated. Files that are as they were are
        none: who copies one elsewhere has a second file."""
        if opened.content.compressed or not opened.size:
            return None
        if self._by_head is None:
            self._by_head = defaultdict(list)
            for state in self._states():
                self._by_head[state.fingerprint].append(state)
        for length in {length for length, _ in self._by_head if 0 < length <= opened.size}:
            for state in self._by_head.get(opened.content.fingerprint(length), ()):
                key = state.device, state.inode
                fits = key != opened.found.key and could_be(state, opened.found, opened.content)
                if fits and opened.content.holds(state) and self._is_truncated(key):
                    return key
        return None

    def _is_truncated(self, key: FileKey) -> bool:
        """Whether the file does not hold any more what was read of it. As long as nobody reads on in it, that may be
        noticed late."""
        state = self._state_of(key)
        if state is None:
            return False
        with _opened(state.path) as file:
            return file is not None and _key_of(file) == key and not file.holds(state)

    def _is_as_it_was(self, key: FileKey, state: FileState) -> bool:
        with _opened(state.path) as file:
            return file is not None and _key_of(file) == key and file.holds(state)

    def _looks_like(self, opened: Opened, path: str, key: FileKey) -> bool:
        """Whether all bytes are those of the other file, as far as head and tail tell."""
        if opened.content.fingerprint()[0] == 0:
            return True  # cp and gzip make it before they fill it
        state = self._state_of(key)
        if state is None:
            return False
        if state.fingerprint[0] and opened.content.holds(state) and not self._is_as_it_was(key, state):
            return True
        return _begins_as(path, opened)


def _could_become(opened: Opened, state: FileState) -> bool:
    """Whether it may be a copy of a file that is gone, or the beginning of one."""
    if opened.size < state.fingerprint[0] or opened.content.holds(state):
        return True
    return is_beginning(opened.size, opened.content, state)


def _key_of(file: Plain) -> FileKey:
    status = os.fstat(file.fd)
    return status.st_dev, status.st_ino


def _begins_as(path: str, opened: Opened) -> bool:
    head = opened.content.fingerprint()
    with _opened(path) as original:
        if original is None or original.fingerprint(head[0]) != head:
            return False
        return opened.content.compressed or original.tail_hash(opened.size) == opened.content.tail_hash(opened.size)


@contextmanager
def _opened(path: str) -> Iterator[Plain | None]:
    """None where it cannot be opened."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        yield None
        return
    try:
        yield Plain(fd)
    finally:
        os.close(fd)
