"""Keep entries whose file is missing: a file that proves to be it resumes there (relation.py has the rules)."""

from collections import Counter, defaultdict
from collections.abc import Container, Hashable, Iterator
from itertools import chain

from log_shipper.registry.state import TRUNCATED, FileState
from log_shipper.shipper.inputs.files.discovery.spec import FileKey
from log_shipper.shipper.inputs.files.identity.opened_file import OpenedFile
from log_shipper.shipper.inputs.files.identity.relation import SECOND, Relation, may_resume, relation
from log_shipper.shipper.inputs.files.identity.rotated_names import log_of, name_of, possible_names

MAX_COMPARED = 16  # candidate entries per file: a file that is truncated every second leaves many


class UnclaimedEntries:
    def __init__(self) -> None:
        self.states: dict[str, FileState] = {}
        self._by: defaultdict[tuple[str, Hashable], dict[str, None]] = defaultdict(dict)  # ids, by what a file may show
        self._head_lengths: Counter[int] = Counter()
        self._refused: defaultdict[FileKey, set[str]] = defaultdict(set)  # ids, by the file that was disproved

    def add(self, state: FileState) -> None:
        self.states[state.id] = state
        self._head_lengths[state.fingerprint[0]] += 1
        for what in _keys(state):
            self._by[state.input, what][state.id] = None

    def remove(self, file_id: str) -> FileState:
        state = self.states.pop(file_id)
        self._head_lengths[state.fingerprint[0]] -= 1
        for what in _keys(state):
            self._by[state.input, what].pop(file_id, None)
            if not self._by[state.input, what]:
                del self._by[state.input, what]
        for refused in self._refused.values():
            refused.discard(file_id)
        return state

    def forget_refused(self, present: Container[FileKey]) -> None:
        """Forget the refusals of missing files after a scan: they do not apply to the next file with that inode."""
        for key in [key for key, refused in self._refused.items() if not refused or key not in present]:
            del self._refused[key]

    def of_inode(self, opened: OpenedFile) -> list[FileState]:
        """Return the entries with the file's inode, whatever its content."""
        states = map(self.states.__getitem__, self._by.get((opened.spec.id, opened.scanned.inode[1]), ()))
        return [state for state in states if relation(state, opened) is Relation.SAME]

    def refuse(self, file_id: str, key: FileKey) -> None:
        """Note that the file was proven not to have the bytes that the entry remembers."""
        self._refused[key].add(file_id)

    def has_successor(self, state: FileState) -> bool:
        """Return True if another of these files was at the path of the entry's file and is younger."""
        ids = self._by.get((state.input, ("name", name_of(state.path))), ())
        others = map(self.states.__getitem__, ids)
        return any(other.path == state.path and 0 < state.birth < other.birth for other in others)

    def match(self, opened: OpenedFile, original_id: str = "") -> FileState | None:
        """Return the entry from which the file may resume, if its bytes prove that. Prefer the entry `original_id`, of
        the file of which it is a suspected copy, then the one with the highest position. Raises OSError."""
        if not self.states:
            return None
        refused = self._refused.get(opened.key, set())
        shown = ((opened.spec.id, what) for what in chain(_seen(opened), self._heads(opened)))
        seen = dict.fromkeys(file_id for what in shown for file_id in self._by.get(what, ()))
        if original_id in self.states:
            seen[original_id] = None
        allowed = [file_id for file_id in seen if file_id not in refused]
        candidates = [
            state
            for state in map(self.states.__getitem__, allowed)
            if not state.key and may_resume(state, opened, original_id)
        ]
        candidates.sort(key=lambda state: (state.id == original_id, state.position, state.updated), reverse=True)
        return next((state for state in candidates[:MAX_COMPARED] if opened.content.matches(state)), None)

    def _heads(self, opened: OpenedFile) -> Iterator[Hashable]:
        """Yield the head of a growing file, in the lengths that entries have. Raises OSError."""
        if opened.spec.config.file_identity.growing:
            for length in [length for length, entries in self._head_lengths.items() if entries and length]:
                yield "head", opened.content.fingerprint(length)


def _keys(state: FileState) -> Iterator[Hashable]:
    yield "name", name_of(state.path)
    yield "head", state.fingerprint
    if state.ended == TRUNCATED:
        yield "copied", log_of(state.path)
    else:
        yield state.inode
        yield from times_of(state.modified)
        yield "zipped", log_of(state.path)


def _seen(opened: OpenedFile) -> Iterator[Hashable]:
    yield from (("name", name) for name in possible_names(opened.scanned.path))
    log = log_of(opened.scanned.path)
    yield "copied", log
    if opened.content.compressed:
        yield "zipped", log
    yield opened.scanned.inode[1]
    yield from times_seen(opened.modified)


def times_of(modified: int) -> Iterator[Hashable]:
    """Yield the keys that find a file with the same modification time."""
    yield "modified", modified
    yield "second", modified // SECOND


def times_seen(modified: int) -> Iterator[Hashable]:
    """Yield the keys of `times_of` that a file with this modification time may share with another one."""
    if modified % SECOND:
        yield "modified", modified
        yield "modified", modified // SECOND * SECOND  # of a file whose time has whole seconds only
    else:
        yield "second", modified // SECOND
