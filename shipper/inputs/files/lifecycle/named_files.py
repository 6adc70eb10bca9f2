"""Finds open files by their names: of which a new file may be a copy, and which one has its fingerprint."""

from collections.abc import Hashable, Iterable, Iterator
from itertools import islice

from log_shipper.shipper.inputs.files.identity.fingerprint import Name
from log_shipper.shipper.inputs.files.identity.opened_file import OpenedFile
from log_shipper.shipper.inputs.files.identity.rotated_names import log_of, name_of, possible_names
from log_shipper.shipper.inputs.files.identity.unclaimed import times_of, times_seen
from log_shipper.shipper.inputs.files.reading.harvester import Harvester

MAX_COMPARED = 64  # of the files that have one name: thousands of them may be named alike


class NamedFiles:
    """Used by the reading thread only. It has the open files, and the closed ones of which batches are in flight."""

    def __init__(self) -> None:
        self._by: dict[Hashable, dict[Harvester, None]] = {}
        self._keys: dict[Harvester, tuple[Hashable, ...]] = {}

    def add(self, harvester: Harvester) -> None:
        """Add a file, or add it once more because its path has changed."""
        self.forget(harvester)
        state = harvester.state
        # A file that is known by its fingerprint or its path is nothing else for being a copy.
        self._add(harvester, (state.key,) if state.key else {name_of(state.path), log_of(state.path)})

    def add_ending(self, harvester: Harvester, modified: int) -> None:
        """Find a file by its time of modification, too, because it ends: it was removed, or is closed."""
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
        """Return the files of which this one may be a copy by its name, or that have its time of modification."""
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
