"""New files that may become another name for one that is there: copies, before their original is truncated or removed.

copytruncate and gzip write a second file beside the first, and only then empty or remove the first. An agent that is
told of new files within milliseconds sees both at once; taken for a file of its own, the second would be shipped a
second time. So a new file whose name and bytes look like those of another is held. Either its original ends, then it
takes that one's entry over (entries.py), or it gets bytes of its own, or it stays as it is for some seconds: then it
is a file like any other.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from registry.state import FileState
from shipper.clock import Clock
from shipper.source.content import Plain
from shipper.source.discover import FileKey
from shipper.source.entries import Opened
from shipper.source.orphans import could_be
from shipper.source.rotation import possible_originals

GRACE = 5.0  # seconds without growth after which a file that looks like another is one of its own


# The files that are at a path, or were there just before.
FilesAt = Callable[[str], Iterable[FileKey]]


@dataclass(slots=True)
class Suspect:
    """A file that is held; `size` and `since`: when it was seen to have grown last."""

    opened: Opened
    original: FileKey
    size: int
    since: float


class Copies:
    """Used by the reading thread only. `ending`: the states of files that are gone but not done with; `state_of`: what
    is known of a file that is there."""

    def __init__(
        self, clock: Clock, ending: Callable[[], Mapping[FileKey, FileState]],
        state_of: Callable[[FileKey], FileState | None],
    ) -> None:  # fmt: skip
        self._clock = clock
        self._ending = ending
        self._state_of = state_of
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
        if now - known.since < GRACE or original in self._ending():
            return True
        if not self._is_still_there(opened, original):
            known.since = now  # it was truncated, and that is about to be noticed
            return True
        del self.held[key]
        return False

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
        return min((suspect.since + GRACE for suspect in self.held.values()), default=float("inf"))

    def refreshed(self) -> list[Opened]:
        """Those that are held, as they are now. One that was deleted is let go, unless its original is gone too: then
        it may be the only one to have what was not read."""
        found = []
        for key, suspect in list(self.held.items()):
            status = os.fstat(suspect.opened.content.fd)
            if status.st_nlink == 0 and self._state_of(suspect.original) is not None:
                del self.held[key]
                os.close(suspect.opened.content.fd)
            else:
                now = replace(suspect.opened.found, size=status.st_size, modified=status.st_mtime)
                found.append(replace(suspect.opened, size=status.st_size, found=now))
        return found

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
        if known is not None and known.original in ending:
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
        return None

    def _is_still_there(self, opened: Opened, original: FileKey) -> bool:
        """Whether the original still holds the same bytes."""
        state = self._state_of(original)
        return state is not None and _begins_as(state.path, opened, opened.content.fingerprint())

    def _looks_like(self, opened: Opened, path: str, key: FileKey) -> bool:
        """Whether all bytes are those of the other file, as far as head and tail tell."""
        head = opened.content.fingerprint()
        if head[0] == 0:
            return True  # cp and gzip make it before they fill it
        state = self._state_of(key)
        if state is None:
            return False
        if state.fingerprint[0] and opened.content.holds(state):
            return True  # the original may have been truncated by now
        return _begins_as(path, opened, head)


def _begins_as(path: str, opened: Opened, head: tuple[int, str]) -> bool:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        original = Plain(fd)
        if original.fingerprint(head[0]) != head:
            return False
        return opened.content.compressed or original.tail_hash(opened.size) == opened.content.tail_hash(opened.size)
    finally:
        os.close(fd)
