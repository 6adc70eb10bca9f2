"""New files that may become another name for one that is there: copies, before their original is truncated or removed.

copytruncate and gzip write a second file beside the first, and only then empty or remove the first. An agent that is
told of new files within milliseconds sees both at once; taken for a file of its own, the second would be shipped a
second time. So a new file whose name and bytes look like those of another is held, and compared with it. Either its
original ends, then it goes on there (relation.py), or it gets bytes of its own, is deleted, or stays as it is for some
seconds: then it is a file like any other. Longer than that it is held only while its original is ending, or is another
than was read of it, which is about to be noticed; an output that is blocked can make both last.
"""

import os
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from registry.state import REMOVED, TRUNCATED, FileState
from shipper.clock import Clock
from shipper.source.discovery.scanner import FileKey, ScannedFile
from shipper.source.discovery.spec import InputSpec
from shipper.source.identity.content import Content, Plain
from shipper.source.identity.opened_file import OpenedFile, opened_plain
from shipper.source.identity.prefix import Prefix
from shipper.source.identity.rotated_names import possible_originals
from shipper.source.identity.unclaimed import UnclaimedEntries

NEVER = float("inf")
GRACE = 5.0  # seconds without growth after which a file that looks like another is one of its own
MOST_HELD = 64  # their descriptors are open, and who makes many copies makes files of their own
COMPARED_AT_ONCE = 4 * 1024 * 1024
UNKNOWN = "?"  # a proof that is still to come
COMPARE_AGAIN = 0.01  # seconds until the next part of a large one is compared


# The files that are at a path, or were there just before.
FilesAt = Callable[[str], Iterable[FileKey]]


@dataclass(slots=True)
class SuspectedCopy:
    """A file that is held; `size` and `since`: when it was seen to have grown last. `shipped`: of its content, what was
    seen to be that of the life `compared_with` of its original."""

    opened: OpenedFile
    original: FileKey
    size: int
    since: float
    shipped: Prefix = field(default_factory=Prefix)
    compared_with: str = ""  # file id
    compare_at: float = NEVER  # monotonic time at which there is more to be compared


class CopyDetector:
    """Used by the reading thread only. `ending`: the states of files that were deleted and are not done with;
    `state_of`: what is known of a file that exists; `rewritten`: the states of open files that hold something else
    now, which no one has noticed."""

    def __init__(
        self,
        clock: Clock,
        ending: Callable[[], Mapping[FileKey, FileState]],
        state_of: Callable[[FileKey], FileState | None],
        rewritten: Callable[[], Iterable[FileState]] = tuple,
    ) -> None:
        self._clock = clock
        self._ending = ending
        self._state_of = state_of
        self._rewritten = rewritten
        self._as_if_gone: UnclaimedEntries | None = None  # made once in each round, if it is asked for
        self._suspects: dict[FileKey, SuspectedCopy] = {}

    @property
    def suspects(self) -> Mapping[FileKey, SuspectedCopy]:
        return MappingProxyType(self._suspects)

    def holds(self, opened: OpenedFile, files_at: FilesAt) -> bool:
        """True if the file must wait; if not, it is for the caller to `drop` it. Raises OSError."""
        known = self._suspects.get(opened.key)
        original = self._original(opened, files_at)
        if original is None or (known is None and len(self._suspects) >= MOST_HELD):
            return False
        now = self._clock.monotonic()
        if known is None or known.size != opened.size:
            compared = (known.shipped, known.compared_with) if known is not None else (Prefix(), "")
            known = self._suspects[opened.key] = SuspectedCopy(opened, original, opened.size, now, *compared)
        known.opened, known.original = opened, original
        known.compare_at = NEVER
        is_ending = original in self._ending() or self._is_rewritten(original)
        if not is_ending and not self._compare(known):
            if not self._is_rewritten(original):
                return False
            is_ending = True  # just now
        if is_ending:
            known.since = now
        return is_ending or (now - known.since < GRACE and os.fstat(opened.content.fd).st_nlink > 0)

    def has_rest(self, state: FileState, key: FileKey, offset: int) -> bool:
        """True if a file is held that has the bytes of this one from `offset` on. Raises OSError."""
        return any(
            suspect.original == key
            and suspect.opened.content.holds(state)
            and os.fstat(suspect.opened.content.fd).st_size > offset
            for suspect in self._suspects.values()
        )

    def inherit(self, successors: Mapping[FileKey, FileKey]) -> set[FileKey]:
        """A file took over the entry of what was the original of others too: they look like it now. Which ones."""
        found = {key for key, suspect in self._suspects.items() if suspect.original in successors}
        for key in found:
            self._suspects[key].original = successors[self._suspects[key].original]
        return found

    def original_of(self, key: FileKey) -> FileKey | None:
        return self._suspects[key].original if key in self._suspects else None

    def shipped_of(self, opened: OpenedFile, unclaimed: UnclaimedEntries) -> Prefix | None:
        """All of a copy that was made before the last lines of its original came, which were read there: what was
        compared with the original, as long as that was whole."""
        suspect = self._suspects.get(opened.key)
        if suspect is None or opened.content.compressed or suspect.shipped.length != opened.size:
            return None
        was = unclaimed.of(suspect.original)
        if was is None or was.id != suspect.compared_with or was.ended != TRUNCATED:
            return None
        return suspect.shipped if was.position >= opened.size else None

    @property
    def next_look(self) -> float:
        """Monotonic time at which a file that is held must be looked at again."""
        return min((min(each.since + GRACE, each.compare_at) for each in self._suspects.values()), default=NEVER)

    def refreshed(self) -> list[OpenedFile]:
        """Those that are held, as they are now."""
        self._as_if_gone = None
        found = []
        for suspect in self._suspects.values():
            opened, status = suspect.opened, os.fstat(suspect.opened.content.fd)
            now = ScannedFile.of(opened.found.path, status)
            found.append(replace(opened, size=opened.content.size, found=now, modified=status.st_mtime_ns))
        return found

    def hand_over(self, gone: Container[str], spec_of: Callable[[FileKey, str], InputSpec | None]) -> None:
        """The inputs `gone` are not read any more: `spec_of` gives the one that has the file of a suspect now, from the
        id of the input that had it. A suspect that no input wants is closed."""
        for key, suspect in list(self._suspects.items()):
            if suspect.opened.spec.id not in gone:
                continue
            spec = spec_of(key, suspect.opened.spec.id)
            if spec is None:
                self.drop(key)
                os.close(suspect.opened.content.fd)
            else:
                suspect.opened = replace(suspect.opened, spec=spec)

    def drop(self, key: FileKey) -> None:
        """It is known now what it is; its descriptor is the caller's."""
        self._suspects.pop(key, None)

    def close(self) -> None:
        for suspect in self._suspects.values():
            os.close(suspect.opened.content.fd)
        self._suspects.clear()

    def _original(self, opened: OpenedFile, files_at: FilesAt) -> FileKey | None:
        known = self._suspects.get(opened.key)
        if known is not None and (known.original in self._ending() or self._is_like_known(opened, known.original)):
            return known.original  # by its key, because it may have been renamed since
        if self._as_if_gone is None:
            self._as_if_gone = UnclaimedEntries()
            gone = {state.id: _settled(state, state.ended or REMOVED) for state in self._ending().values()}
            gone |= {state.id: _settled(state, TRUNCATED) for state in self._rewritten()}
            for state in gone.values():
                self._as_if_gone.add(state)
        original = self._as_if_gone.match(opened, None)
        if original is not None:
            return original.device, original.inode
        for path in possible_originals(opened.found.path):
            for key in files_at(path):
                if key != opened.key and self._looks_like(opened, path, key):
                    return key
        return None

    def _is_like_known(self, opened: OpenedFile, original: FileKey) -> bool:
        state = self._state_of(original)
        return state is not None and self._looks_like(opened, state.path, original)

    def _looks_like(self, opened: OpenedFile, path: str, key: FileKey) -> bool:
        """True if all bytes are those of the other file, as far as head and tail tell, or were those of the file that
        this one was."""
        if opened.content.fingerprint()[0] == 0:
            return True  # cp and gzip make it before they fill it
        state = self._state_of(key)
        was = state is not None and state.fingerprint[0] > 0 and opened.content.holds(state)
        return (was and not self._is_as_it_was(key)) or _begins_as(path, opened)

    def _is_rewritten(self, key: FileKey) -> bool:
        """True if the file does not hold any more what was read of it. As long as no one reads on in it, that may be
        noticed late."""
        return self._is_as_it_was(key) is False

    def _is_as_it_was(self, key: FileKey) -> bool | None:
        """None where it is not known, or not found: it may just have been renamed."""
        state = self._state_of(key)
        if state is None:
            return None
        with opened_plain(state.path) as file:
            return file.holds(state) if file is not None and _key_of(file) == key else None

    def _compare(self, suspect: SuspectedCopy) -> bool:
        """Compare some more with the original; False where they differ."""
        state = self._state_of(suspect.original)
        if state is None or suspect.opened.content.compressed:
            return True
        if state.id != suspect.compared_with:  # what was shipped of an earlier life there says nothing of this one
            suspect.shipped, suspect.compared_with = Prefix(), state.id
        shipped = suspect.shipped
        with opened_plain(state.path) as original:
            if original is None or _key_of(original) != suspect.original:
                return True
            size = min(COMPARED_AT_ONCE, suspect.opened.size - shipped.length)
            data = os.pread(suspect.opened.content.fd, size, shipped.length)
            if os.pread(original.fd, len(data), shipped.length) != data:
                return False
            shipped.feed(data)
            if shipped.length < suspect.opened.size:
                suspect.compare_at = self._clock.monotonic() + COMPARE_AGAIN
        return True


def _settled(state: FileState, ended: str) -> FileState:
    """As it may be when all that was read is acknowledged, for a first suspicion."""
    tail = state.tail_hash if state.position else ""
    return replace(state, ended=ended, position=max(state.position, 1), tail_hash=tail, proof=UNKNOWN)


def _key_of(file: Plain) -> FileKey:
    status = os.fstat(file.fd)
    return status.st_dev, status.st_ino


def begins_as(content: Content, other: Content, size: int) -> bool:
    """True if it begins with all of another, of that size, as far as head and tail tell. Raises OSError."""
    head = other.fingerprint()
    if content.fingerprint(head[0]) != head:
        return False
    return other.compressed or content.tail_hash(size) == other.tail_hash(size)


def _begins_as(path: str, opened: OpenedFile) -> bool:
    with opened_plain(path) as original:
        return original is not None and begins_as(original, opened.content, opened.size)
