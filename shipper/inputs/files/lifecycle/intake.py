"""Take in the files found by a survey: open, identify, suspect or start them."""

from collections.abc import Mapping

from log_shipper.registry.state import FileState
from log_shipper.shipper.inputs.base import SourceContext
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, FileKey, InputSpec
from log_shipper.shipper.inputs.files.discovery.survey import Survey
from log_shipper.shipper.inputs.files.identity.opened_file import OpenedFile
from log_shipper.shipper.inputs.files.lifecycle.copy_detector import FilesAt
from log_shipper.shipper.inputs.files.lifecycle.resolver import FileResolver
from log_shipper.shipper.inputs.files.lifecycle.starting import HarvesterStarter, OpenLimits


class FileIntake:
    """Used by the reading thread only. `specs` by input id."""

    def __init__(
        self,
        specs: Mapping[str, InputSpec],
        survey: Survey,
        resolver: FileResolver,
        places: OpenLimits,
        starter: HarvesterStarter,
        context: SourceContext,
    ) -> None:
        self._specs = specs
        self._survey, self._watcher, self._problems = survey, survey.watcher, survey.problems
        self._resolver, self._entries, self._copies = resolver, resolver.entries, resolver.copies
        self._open_limits = places
        self._starter = starter
        self._once = context.once
        self._surveyed: set[str] = set()  # inputs
        self._previous_paths: Mapping[tuple[str, str], FileKey] = {}  # the files at these paths before the last survey

    def surveyed(self, previous_paths: Mapping[tuple[str, str], FileKey]) -> None:
        """Take in the files that a survey found at other paths, or not at all, by input and previous path."""
        self._previous_paths = previous_paths

    def open(self, wanted: list[Candidate]) -> None:
        """Open as many of these and the waiting files as the limits allow, and check the suspected copies."""
        self._open(self._open_limits.admit(wanted))

    def fill_places(self) -> None:
        """Open waiting files, as far as the limits allow."""
        if admitted := self._open_limits.admit([]):
            self._open(admitted)

    def _open(self, admitted: list[Candidate]) -> None:
        self._take([*self._copies.refreshed(self._survey.candidates), *self._resolver.open(admitted)])

    def identify_again(self, opened: OpenedFile, unproven: FileState | None) -> None:
        """Identify a file again that does not have the bytes of the entry `unproven`, with which it was matched; None
        if it was new, and proves to be compressed."""
        if unproven is not None:
            self._entries.note_disproved(unproven, opened)
        self._take([opened])

    def read_removed(self, fd: int, state: FileState) -> bool:
        """Read the new data of a nameless file. Return False if no input includes it. Raises OSError."""
        spec = self._specs.get(state.input)
        if spec is not None:
            self._take([self._resolver.reopen(state.path, fd, spec)])
        return spec is not None

    def _take(self, opened: list[OpenedFile]) -> None:
        # A suspected copy that was compressed and deleted meanwhile comes before its .gz, which resumes after it.
        removed = {file.key for file in opened if file.key in self._copies.suspects and file.is_removed}
        for turn in (True, False):
            if files := [file for file in opened if (file.key in removed) == turn]:
                self._start(files)
        self._surveyed = set(self._specs)
        self._entries.possibly_lost.report({suspect.original_id for suspect in self._copies.suspects.values()})

    def _start(self, opened: list[OpenedFile]) -> None:
        files_at = FilesAt(self._survey.present, self._previous_paths)
        self._resolver.check_originals(opened, self._survey.candidates, files_at)
        may_be_copies = not self._once and bool(self._surveyed or self._entries.closed_entries)
        claims = self._resolver.identify(opened, files_at if may_be_copies else None)
        for key, suspect in self._copies.suspects.items():
            if not self._watcher.is_watched(key):
                self._watcher.watch_file(key, suspect.opened.content.fd)
        new, others_wait = self._specs.keys() - self._surveyed, self._open_limits.any_wanted
        for file, claim, error in self._starter.start(claims, fresh_inputs=new, others_wait=others_wait):
            self._entries.release_match(claim)
            self._problems.report_read(file.scanned.path, f"cannot be read: {error.strerror}")
            file.close()  # the next scan opens it again
