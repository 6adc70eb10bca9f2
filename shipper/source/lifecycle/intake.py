"""What becomes of files that a survey wants to be read: opened, known, held or started."""

import os
from collections.abc import Mapping

from registry.state import FileState
from shipper.source.base import SourceContext
from shipper.source.discovery.scanner import FileKey
from shipper.source.discovery.spec import InputSpec
from shipper.source.discovery.survey import Discovery, Wanted
from shipper.source.identity.copy_detector import FilesAt
from shipper.source.identity.opened_file import Opened
from shipper.source.identity.resolver import Identity
from shipper.source.lifecycle.starting import Launcher, Places


class Intake:
    """Used by the reading thread only. `specs` by input id."""

    def __init__(
        self,
        specs: Mapping[str, InputSpec],
        discovery: Discovery,
        identity: Identity,
        places: Places,
        launcher: Launcher,
        context: SourceContext,
    ) -> None:
        self._specs = specs
        self._survey = discovery.survey
        self._watcher = discovery.watcher
        self._problems = discovery.problems
        self._entries = identity.entries
        self._copies = identity.copies
        self._opener = identity.opener
        self._places = places
        self._launcher = launcher
        self._once = context.once
        self._surveyed: set[str] = set()  # inputs
        self.former: dict[str, FileKey] = {}  # by the path that they had before the last survey

    def open(self, wanted: list[Wanted]) -> None:
        """As many of these, and of those that wait, as may be open; and look again at those that are held."""
        self._open(self._places.admit(wanted))

    def fill_places(self) -> None:
        """Open those that wait, as far as there is room now."""
        if admitted := self._places.admit([]):
            self._open(admitted)

    def _open(self, admitted: list[Wanted]) -> None:
        self._take([*self._copies.refreshed(), *self._opener.open(admitted)])

    def take_again(self, opened: Opened, unproven: FileState) -> None:
        """A file that does not hold what was shipped of the one for which it was taken."""
        self._entries.disproved(unproven, opened)
        self._take([opened])

    def take_removed(self, fd: int, state: FileState) -> bool:
        """What a file that has no name any more holds beyond its state. False where no input asks for it. Raises
        OSError."""
        spec = self._specs.get(state.input)
        if spec is not None:
            self._take([self._opener.again(state.path, fd, spec)])
        return spec is not None

    def _take(self, opened: list[Opened]) -> None:
        if opened:
            self._opener.look_at_originals(opened, self._survey.found)
            claims = self._opener.identify(opened, None if self._once or not self._surveyed else self._files_at())
            for key, suspect in self._copies.held.items():
                if not self._watcher.is_watched(key):
                    self._watcher.watch_file(key, suspect.opened.content.fd)
            for each, claim, error in self._launcher.launch(claims, fresh_inputs=self._specs.keys() - self._surveyed):
                self._entries.give_back(claim)
                self._problems.of_read(each.found.path, f"cannot be read: {error.strerror}")
                os.close(each.content.fd)  # the next scan opens it again
        self._surveyed |= self._specs.keys()
        self._entries.doubts.tell()

    def _files_at(self) -> FilesAt:
        # A copy that is held may be gone by now, compressed, and be known for what it is in this very round.
        held = {suspect.opened.found.path: key for key, suspect in self._copies.held.items()}
        present, former = self._survey.present, self.former
        return lambda path: [paths[path] for paths in (present, former, held) if path in paths]
