"""Keep the known files, by key, each with one state.

Everything that is not a field of a file or its state is an index, kept by `Files.change` and `renew_waiting` alone.
"""

import os
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from log_shipper.shipper.inputs.files.discovery.scanner import ScannedFile
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, FileKey
from log_shipper.shipper.inputs.files.identity.missing_files import FileIdentity
from log_shipper.shipper.inputs.files.identity.opened_file import OpenedFile
from log_shipper.shipper.inputs.files.identity.prefix import Prefix
from log_shipper.shipper.inputs.files.reading.harvester import Harvester

NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Closed:
    """A closed file that has not ended: it is opened again when it has new data. `seen`: its status when it was closed;
    `surveyed`: the survey's object, which is the same if the file was not inspected since; `nuls_at`: where the NULs
    begin with which it ends (padding.py)."""

    seen: ScannedFile
    surveyed: ScannedFile | None = None
    nuls_at: int | None = None

    @classmethod
    def from_status(
        cls, path: str, status: os.stat_result, candidate: Candidate | None, nuls_at: int | None = None
    ) -> "Closed":
        """Return the state of a file that is closed now. `candidate`: the survey's object."""
        surveyed = candidate.file if candidate is not None else None
        return cls(ScannedFile.from_status(path, status), surveyed, nuls_at)

    def has_new_data(self, scanned: ScannedFile) -> bool:
        """Return True if the file has changed. Its time of change counts too: another file may have its inode, size and
        age."""
        if scanned is self.surveyed:
            return False
        seen = self.seen
        return (scanned.size, scanned.modified, scanned.changed) != (seen.size, seen.modified, seen.changed)


@dataclass(frozen=True, slots=True)
class Waiting:
    """A file that is opened as soon as there is a place. `was`: its closed state, if it was read before."""

    candidate: Candidate
    was: Closed | None


@dataclass(slots=True)
class Suspected:
    """A suspected copy (copy_detector.py). It had grown to `size` when that was last seen, at `since`. `original_id` is
    the file id of the original; an earlier life of that file is not the original. `shipped` is the part of its content
    that equals the original's."""

    opened: OpenedFile
    original: FileKey
    size: int
    since: float
    original_id: str = ""
    shipped: Prefix = field(default_factory=Prefix)
    compare_at: float = NEVER  # monotonic time of the next comparison
    was_late: bool = False  # its grace was extended once


@dataclass(frozen=True, slots=True)
class Draining:
    """A file that is no longer read, with batches in flight. `then`: its closed state; None if it has ended, or is
    opened again as soon as a survey finds it."""

    harvester: Harvester
    then: Closed | None


State = Waiting | Suspected | Harvester | Draining | Closed


@dataclass(slots=True)
class File:
    """The record of a file in memory. Without a state it is only known: it has ended, or the next survey opens it.

    `identified`: its identity when it was last opened. `is_fresh`: its content is known to be new, and not a copy of
    another file.
    """

    state: State | None = None
    identified: FileIdentity | None = None
    is_fresh: bool = False
    warned_of_twin: bool = False
    warned_of_gzip: bool = False


class Files:
    """All known files. Used by the reading thread only; any thread may copy `running` and `draining`.

    The other attributes are indexes of the files by their state, to be read: `change` alone keeps them. The index of
    waiting files is by input, never with an empty one, in order of arrival.
    """

    def __init__(self) -> None:
        self._files: dict[FileKey, File] = {}
        self.with_state: set[FileKey] = set()
        self.waiting: dict[str, dict[FileKey, Waiting]] = {}
        self.bytes_waiting = 0
        self.suspects: dict[FileKey, Suspected] = {}
        self.running: dict[FileKey, Harvester] = {}
        self.running_of: Counter[str] = Counter()  # counts by input
        self.draining: dict[FileKey, Draining] = {}
        self.closed: dict[FileKey, Closed] = {}

    def __getitem__(self, key: FileKey) -> File:
        """Return the record of the file, a new one if it is unknown."""
        file = self._files.get(key)
        if file is None:
            file = self._files[key] = File()
        return file

    def identified(self, key: FileKey) -> FileIdentity | None:
        file = self._files.get(key)
        return file.identified if file is not None else None

    def state(self, key: FileKey) -> State | None:
        file = self._files.get(key)
        return file.state if file is not None else None

    def closed_as(self, key: FileKey) -> Closed | None:
        """Return the closed state of a file, also while it waits to be opened again."""
        match state := self.state(key):
            case Closed():
                return state
            case Waiting():
                return state.was
        return None

    @property
    def to_open_again(self) -> list[FileKey]:
        """The closed files, including those that wait to be opened again."""
        waiting = [of_input.items() for of_input in self.waiting.values()]
        return [*self.closed, *[key for items in waiting for key, state in items if state.was is not None]]

    def renew_waiting(self, key: FileKey, candidate: Candidate) -> None:
        """Note what was seen of a waiting file last. It keeps its place."""
        waiting = self.waiting[key[0]][key]
        self.bytes_waiting += candidate.file.size - waiting.candidate.file.size
        self.waiting[key[0]][key] = self[key].state = Waiting(candidate, waiting.was)

    def change(self, key: FileKey, state: State | None) -> None:
        file = self[key]
        if file.state is not None:
            self._leave(key, file.state)
        file.state = state
        if state is not None:
            self._enter(key, state)

    def _leave(self, key: FileKey, state: State) -> None:
        self.with_state.discard(key)
        match state:
            case Waiting():
                of_input = self.waiting[key[0]]
                del of_input[key]
                if not of_input:
                    del self.waiting[key[0]]
                self.bytes_waiting -= state.candidate.file.size
            case Suspected():
                del self.suspects[key]
            case Harvester():
                del self.running[key]
                self.running_of[key[0]] -= 1
                if not self.running_of[key[0]]:
                    del self.running_of[key[0]]  # ids of inputs that come and go would accumulate
            case Draining():
                del self.draining[key]
            case Closed():
                del self.closed[key]

    def _enter(self, key: FileKey, state: State) -> None:
        self.with_state.add(key)
        match state:
            case Waiting():
                self.waiting.setdefault(key[0], {})[key] = state
                self.bytes_waiting += state.candidate.file.size
            case Suspected():
                self.suspects[key] = state
            case Harvester():
                self.running[key] = state
                self.running_of[key[0]] += 1
            case Draining():
                self.draining[key] = state
            case Closed():
                self.closed[key] = state

    def forget(self, present: Container[FileKey]) -> list[FileKey]:
        """Forget missing files after a scan, but not their states: another file may get the inode. Return those without
        a state."""
        forgotten = []
        for key in [key for key in self._files if key not in present]:
            state = self._files[key].state
            if state is None:
                del self._files[key]
                forgotten.append(key)
            else:
                self._files[key] = File(state)
        return forgotten

    def unread(self, input_ids: Container[str], candidates: Mapping[FileKey, Candidate]) -> Iterator[str]:
        """Yield the ids of these inputs that have a file with unread data, and of all that have batches in flight."""
        for harvester in self.running.values():
            input_id = harvester.source.input_id
            if input_id in input_ids and not _is_at_end(harvester):
                yield input_id
        yield from (input_id for input_id, *_ in self.draining)
        for key, (spec, scanned, _) in candidates.items():
            if spec.id in input_ids and key not in self.running and not self._is_read(key, scanned):
                yield spec.id

    def is_read_by_all(
        self, input_id: str, scanned: ScannedFile, inputs: Iterable[str], candidates: Container[FileKey]
    ) -> bool:
        """Return True if at most one of these inputs has yet to read the file, or has batches of it in flight."""
        keys = [(other, *scanned.inode) for other in inputs if other != input_id]
        return all(self._is_read(key, scanned) for key in keys if key in candidates)

    def _is_read(self, key: FileKey, scanned: ScannedFile) -> bool:
        """Return True if the file is closed, or could be, at the end that a scan saw."""
        if (harvester := self.running.get(key)) is not None:
            return _is_at_end(harvester)
        closed = self.closed.get(key)
        return closed is not None and not closed.has_new_data(scanned)

    def check(self) -> None:
        """Assert that the indexes match the files."""
        again = Files()
        for key, file in self._files.items():
            again.change(key, file.state)
        for name in (
            "with_state",
            "waiting",
            "bytes_waiting",
            "suspects",
            "running",
            "running_of",
            "draining",
            "closed",
        ):
            assert getattr(self, name) == getattr(again, name), name


def _is_at_end(harvester: Harvester) -> bool:
    """Return True if all of the file is read and acknowledged; False if that cannot be seen."""
    try:
        return harvester.over and not harvester.has_changed(harvester.status())
    except OSError:
        return False  # its read reports it
