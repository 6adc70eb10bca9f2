"""Entries whose file is gone: its life ended, or nobody has seen it where it was. Another file may turn out to be it.

A device number that changed at a reboot, a disk that was restored, a copy that logrotate made before it truncated the
original, a .gz of a rotated file: each is a file of unknown device and inode that holds what an entry remembers. It
takes that entry over, with its id and its position. So that no file is taken for another, more must agree than a
common header: a whole tail of bytes before the position, or the inode or the path beside what bytes there are.

The price: a copy that is given an unrelated name within the moment in which it is made, before anybody looked, and of
which fewer bytes were acknowledged than `is_told_by_bytes` asks for, is shipped again under an id of its own.
"""

from collections import defaultdict

from registry.state import FileState
from shipper.reader.log_file import TAIL_SIZE
from shipper.source.content import Content
from shipper.source.discover import FileKey, Found
from shipper.source.identity import HEAD_SIZE
from shipper.source.rotation import is_named_after

TRUNCATED = "truncated"  # the life of a file ended: what is at its inode now is another
MISSING = "missing"  # not under the paths any more: it may come back


class Orphans:
    def __init__(self) -> None:
        self.states: dict[str, FileState] = {}
        self._by_head: dict[tuple[int, str], set[str]] = defaultdict(set)
        self._lengths: dict[int, int] = defaultdict(int)

    def add(self, state: FileState) -> None:
        self.states[state.id] = state
        self._by_head[state.fingerprint].add(state.id)
        self._lengths[state.fingerprint[0]] += 1

    def remove(self, file_id: str) -> FileState:
        state = self.states.pop(file_id)
        self._by_head[state.fingerprint].discard(file_id)
        if not self._by_head[state.fingerprint]:
            del self._by_head[state.fingerprint]
        self._lengths[state.fingerprint[0]] -= 1
        if not self._lengths[state.fingerprint[0]]:
            del self._lengths[state.fingerprint[0]]
        return state

    def match(self, found: Found, content: Content, original: FileKey | None) -> FileState | None:
        """The entry that the file continues; of several that of `original`, the file that it was taken for a copy of,
        or else the one that was read furthest. Raises OSError."""
        if not self.states:
            return None
        size, _ = content.fingerprint(HEAD_SIZE)
        heads = [content.fingerprint(length) for length in self._lengths if 0 < length <= size]
        fitting = [
            state
            for head in heads
            for file_id in self._by_head.get(head, ())
            if could_be(state := self.states[file_id], found, content)
            and (agrees(content, state) or (_key(state) == original and is_beginning(found.size, content, state)))
        ]
        return max(fitting, key=lambda each: (_key(each) == original, each.position), default=None)


def could_be(state: FileState, found: Found, content: Content) -> bool:
    """Whether enough speaks for it, should the bytes agree."""
    if state.key:
        return False  # it has another name than its bytes
    if _key(state) == found.key:
        return state.ended == MISSING
    if state.compressed:
        return False  # no bytes before its position are known
    if state.inode == found.key[1] or is_named_after(found.path, state.path):
        return state.position > 0 or content.compressed or found.size >= max(state.size_seen, state.fingerprint[0])
    return is_told_by_bytes(state)


def is_told_by_bytes(state: FileState) -> bool:
    """Whether the bytes of a file tell which it is, whatever its name: those before the position must be enough, and
    not lie in what may be a header."""
    return state.position >= TAIL_SIZE + (HEAD_SIZE if state.fingerprint[0] == HEAD_SIZE else 0)


def agrees(content: Content, state: FileState) -> bool:
    return content.holds(state) and content.agrees_at_position(state)


def is_beginning(size: int, content: Content, state: FileState) -> bool:
    """A copy may have been made before the last lines came, which were read from the original all the same: then it
    is shorter than the position, and nothing of it is left to read. Only of a file that was seen beside its original
    the head is enough to tell."""
    if content.compressed or size >= state.position:
        return False
    return content.fingerprint(state.fingerprint[0]) == state.fingerprint


def _key(state: FileState) -> FileKey:
    return state.device, state.inode
