"""Find open files by their names: the possible originals of a new file, and the file with its fingerprint."""

from collections.abc import Hashable, Iterable, Iterator
from itertools import islice

from log_shipper.shipper.inputs.files.identity.fingerprint import Name
from log_shipper.shipper.inputs.files.identity.opened_file import OpenedFile
from log_shipper.shipper.inputs.files.identity.rotated_names import log_of, name_of, possible_names
from log_shipper.shipper.inputs.files.identity.unclaimed import times_of, times_seen
from log_shipper.shipper.inputs.files.reading.harvester import Harvester

MAX_COMPARED = 64  # per name: thousands of files may have the same one


class NamedFiles:
    """The open files by name, and the closed ones with batches in flight. Used by the reading thread only."""

    def __init__(self) -> None:
        self._by: dict[Hashable, dict[Harvester, None]] = {}
        self._keys: dict[Harvester, tuple[Hashable, ...]] = {}

    def add(self, harvester: Harvester) -> None:
        """Add a file, or add it once more after a change of its path."""
        self.forget(harvester)
        state = harvester.state
        # A file known by its fingerprint or path stays the same file when it is copied.
        self._add(harvester, (state.key,) if state.key else {name_of(state.path), log_of(state.path)})

    def add_ending(self, harvester: Harvester, modified: int) -> None:
        """Find a file by its modification time too, because it ends: it was removed, or is closed."""
        if not harvester.state.key:
            self._add(harvester, times_of(modified))

    def forget(self, harvester: Harvester) -> None:
        for key in self._keys.pop(harvester, ()):
            if (known := self._by.get(key)) is not None:
                known.pop(harvester, None)
                if not known:
                    del self._by[key]

    def path_of(self, name: Name) -> str | None:
        """Return the path of the file with this fingerprint, if there is one."""
        known = self._by.get(name)
        return next(reversed(known)).state.path if known else None

    def possible_originals(self, opened: OpenedFile) -> set[Harvester]:
        """Return the files of which this one may be a copy, by its name or modification time."""
        return {
            harvester
            for key in _shown(opened)
            for harvester in islice(reversed(self._by.get((opened.spec.id, key), {})), MAX_COMPARED)
        }

    def _add(self, harvester: Harvester, shown: Iterable[Hashable]) -> None:
        keys = tuple((harvester.source.input_id, what) for what in shown)
        self._keys[harvester] = self._keys.get(harvester, ()) + keys
        for key in keys:
            self._by.setdefault(key, {})[harvester] = None


def _shown(opened: OpenedFile) -> Iterator[Hashable]:
    path = opened.scanned.path
    yield from {*possible_names(path), log_of(path)}
    yield from times_seen(opened.modified)
