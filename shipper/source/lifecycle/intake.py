"""What happens to files that a survey wants to be read: opened, identified, suspected or started."""

import os
from collections.abc import Mapping

from registry.state import FileState
from shipper.source.base import SourceContext
from shipper.source.discovery.scanner import FileKey
from shipper.source.discovery.spec import InputSpec
from shipper.source.discovery.survey import Candidate, Discovery
from shipper.source.identity.copy_detector import FilesAt
from shipper.source.identity.opened_file import OpenedFile
from shipper.source.identity.resolver import Identity
from shipper.source.lifecycle.starting import HarvesterStarter, OpenLimits


class Intake:
    """Used by the reading thread only. `specs` by input id."""

    def __init__(
        self,
        specs: Mapping[str, InputSpec],
        discovery: Discovery,
        identity: Identity,
        places: OpenLimits,
        starter: HarvesterStarter,
        context: SourceContext,
    ) -> None:
        self._specs = specs
        self._survey = discovery.survey
        self._watcher = discovery.watcher
        self._problems = discovery.problems
        self._entries = identity.entries
        self._copies = identity.copies
        self._resolver = identity.resolver
        self._open_limits = places
        self._starter = starter
        self._once = context.once
        self._surveyed: set[str] = set()  # inputs
        self._previous_paths: Mapping[str, FileKey] = {}  # what was there before the last survey

    def surveyed(self, previous_paths: Mapping[str, FileKey]) -> None:
        """Files that a survey found at other paths, or not at all, by the path that they had before it."""
        self._previous_paths = previous_paths

    def open(self, wanted: list[Candidate]) -> None:
        """As many of these, and of those that wait, as may be open; and look again at those that are held."""
        self._open(self._open_limits.admit(wanted))

    def fill_places(self) -> None:
        """Open those that wait, as far as there is room now."""
        if admitted := self._open_limits.admit([]):
            self._open(admitted)

    def _open(self, admitted: list[Candidate]) -> None:
        self._take([*self._copies.refreshed(), *self._resolver.open(admitted)])

    def take_again(self, opened: OpenedFile, unproven: FileState) -> None:
        """A file that does not hold what was shipped of the one for which it was taken."""
        self._entries.disproved(unproven, opened)
        self._take([opened])

    def take_removed(self, fd: int, state: FileState) -> bool:
        """What a file that has no name any more holds beyond its state. False where no input asks for it. Raises
        OSError."""
        spec = self._specs.get(state.input)
        if spec is not None:
            self._take([self._resolver.again(state.path, fd, spec)])
        return spec is not None

    def _take(self, opened: list[OpenedFile]) -> None:
        if opened:
            self._resolver.look_at_originals(opened, self._survey.found)
            claims = self._resolver.identify(opened, None if self._once or not self._surveyed else self._files_at())
            for key, suspect in self._copies.suspects.items():
                if not self._watcher.is_watched(key):
                    self._watcher.watch_file(key, suspect.opened.content.fd)
            for each, claim, error in self._starter.start(claims, fresh_inputs=self._specs.keys() - self._surveyed):
                self._entries.give_back(claim)
                self._problems.of_read(each.found.path, f"cannot be read: {error.strerror}")
                os.close(each.content.fd)  # the next scan opens it again
        self._surveyed |= self._specs.keys()
        self._entries.possibly_lost.report()

    def _files_at(self) -> FilesAt:
        # A copy that is held may be gone by now, compressed, and be known for what it is in this very round.
        suspects = {suspect.opened.found.path: key for key, suspect in self._copies.suspects.items()}
        present, previous = self._survey.present, self._previous_paths
        return lambda path: [paths[path] for paths in (present, previous, suspects) if path in paths]
