"""Entries whose file is missing, so that a file that turns out to be it goes on there (relation.py says which)."""

from collections import defaultdict
from collections.abc import Container, Hashable, Iterator

from registry.state import TRUNCATED, FileState
from shipper.source.discovery.scanner import FileKey
from shipper.source.identity.opened_file import OpenedFile
from shipper.source.identity.relation import SECOND, Relation, may_go_on, relation
from shipper.source.identity.rotated_names import family_of, generation_of, name_of, possible_names

LOOKED_AT = 16  # of the entries that a file may belong to: who truncates a file every second leaves many


class UnclaimedEntries:
    def __init__(self) -> None:
        self.states: dict[str, FileState] = {}
        self._by: defaultdict[Hashable, dict[str, None]] = defaultdict(dict)  # ids, by all that could be seen
        self._refused: defaultdict[FileKey, set[str]] = defaultdict(set)  # ids, by the file that is another one

    def add(self, state: FileState) -> None:
        self.states[state.id] = state
        for what in _keys(state):
            self._by[what][state.id] = None

    def remove(self, file_id: str) -> FileState:
        state = self.states.pop(file_id)
        for what in _keys(state):
            self._by[what].pop(file_id, None)
            if not self._by[what]:
                del self._by[what]
        for refused in self._refused.values():
            refused.discard(file_id)
        return state

    def forget_refused(self, present: Container[FileKey]) -> None:
        """After a scan: what was refused to a file says nothing about the next one that has its inode."""
        for key in [key for key, refused in self._refused.items() if not refused or key not in present]:
            del self._refused[key]

    def of(self, key: FileKey) -> FileState | None:
        """What was at this device and inode last, and was truncated there."""
        states = map(self.states.__getitem__, self._by.get(key, ()))
        return max(states, key=lambda each: each.updated, default=None)

    def at_inode(self, opened: OpenedFile) -> list[FileState]:
        """Those of which this is the file, whatever it holds."""
        states = map(self.states.__getitem__, self._by.get(opened.key[1], ()))
        return [state for state in states if relation(state, opened, None) is Relation.SAME]

    def refuse(self, file_id: str, key: FileKey) -> None:
        """The file does not hold what the entry remembers: it was proven."""
        self._refused[key].add(file_id)

    def match(self, opened: OpenedFile, original: FileKey | None) -> FileState | None:
        """The entry on which the file may go on, if its bytes prove it; of several that of `original`, the file that it
        was suspected to be a copy of, or else the one that was read furthest. Raises OSError."""
        if not self.states:
            return None
        refused = self._refused.get(opened.key, set())
        seen = dict.fromkeys(file_id for what in _seen(opened, original) for file_id in self._by.get(what, ()))
        found = [file_id for file_id in seen if file_id not in refused]
        candidates = [
            state
            for state in map(self.states.__getitem__, found)
            if not state.key and may_go_on(state, opened, original)
        ]
        candidates.sort(
            key=lambda each: ((each.device, each.inode) == original, each.position, each.updated), reverse=True
        )
        return next((state for state in candidates[:LOOKED_AT] if opened.content.holds(state)), None)


def _keys(state: FileState) -> Iterator[Hashable]:
    yield "name", name_of(state.path)
    if state.ended == TRUNCATED:
        yield state.device, state.inode
        yield "family", family_of(state.path)
    else:
        yield state.inode
        yield "modified", state.modified
        yield "second", state.modified // SECOND
        if generation := generation_of(state.path):
            yield "generations", generation[0]


def _seen(opened: OpenedFile, original: FileKey | None) -> Iterator[Hashable]:
    if original is not None:
        yield original
    yield from (("name", name) for name in possible_names(opened.found.path))
    yield "family", family_of(opened.found.path)
    if generation := generation_of(opened.found.path):
        yield "generations", generation[0]
    yield opened.key[1]
    if opened.modified % SECOND:
        yield "modified", opened.modified
        yield "modified", opened.modified // SECOND * SECOND  # of one that keeps no more than the second
    else:
        yield "second", opened.modified // SECOND
