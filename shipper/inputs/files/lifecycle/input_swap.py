"""Replace the inputs while the agent runs.

The files of an unchanged input are not touched. The files of a removed or changed input are released at their current
offset: what was read of them is still delivered and acknowledged, and reading continues from the position of their
entry under the input that has it then: one with the same id, or one that takes it over (inheritance.py). That one waits
until the last batch under the old input is acknowledged, so nothing is lost or sent twice.

A file without a name (deleted, or moved out of the paths) could not be opened again: it is read to its end with its old
options, and then closed.
"""

from collections.abc import Container, Iterable, Sequence
from typing import Protocol

from log_shipper.shipper.inputs.files.discovery.directory import inode_at
from log_shipper.shipper.inputs.files.discovery.spec import Candidate, FileKey, InputSpec, key_of
from log_shipper.shipper.inputs.files.discovery.survey import Survey
from log_shipper.shipper.inputs.files.identity.rotated_names import possible_originals
from log_shipper.shipper.inputs.files.lifecycle.open_files import OpenFiles
from log_shipper.shipper.inputs.files.lifecycle.resolver import FileResolver
from log_shipper.shipper.inputs.files.lifecycle.transitions import FileEvent, next_state
from log_shipper.shipper.inputs.files.reading.batch_reader import BatchReader
from log_shipper.shipper.inputs.files.reading.factory import ActiveInputs, Input
from log_shipper.shipper.inputs.files.reading.harvester import Harvester


class Rules(Protocol):
    """A component with options of inputs. The options of removed inputs stay while nameless files are read with
    them."""

    def update_rules(self, specs: Iterable[InputSpec]) -> None: ...

    def keep(self, input_ids: Container[str]) -> None:
        """Forget the options of all other inputs."""


class InputSwap:
    """The replacement of inputs. Used by the reading thread only."""

    def __init__(
        self,
        inputs: ActiveInputs,
        survey: Survey,
        open_files: OpenFiles,
        reading: BatchReader,
        resolver: FileResolver,
        rules: Sequence[Rules],
    ) -> None:
        self._inputs = inputs
        self._survey = survey
        self._open_files = open_files
        self._reading = reading
        self._copies, self._entries = resolver.copies, resolver.entries
        self._rules = rules
        self._leaving: dict[Harvester, None] = {}

    @property
    def any_leaving(self) -> bool:
        return bool(self._leaving)

    def allowed(self, wanted: list[Candidate]) -> list[Candidate]:
        """Return those that may be opened now: not the files that are being released, under whichever input takes over
        their entries, nor a copy or .gz of one of them, of which nothing can be proven yet."""
        if not self._leaving:
            return wanted
        leaving = {key: harvester.state.path for harvester in self._leaving for key in self._keys(harvester)}
        places = {(key[0], path) for key, path in leaving.items()}

        def is_derived(candidate: Candidate) -> bool:
            originals = possible_originals(candidate.file.path)
            return any((candidate.spec.id, original) in places for original in originals)

        return [candidate for candidate in wanted if candidate.key not in leaving and not is_derived(candidate)]

    def _keys(self, harvester: Harvester) -> tuple[FileKey, FileKey]:
        """Return the key of a file, and its key under the input that takes over its entry."""
        return harvester.key, key_of(self._entries.inherited(harvester.state))

    def replace(self, inputs: list[Input]) -> None:
        """Read these inputs from now on; identical objects are unchanged inputs. If files are to be released, all paths
        are scanned at once: only a file that is found again can be."""
        removed = self._inputs.replace(inputs)
        specs = self._inputs.specs
        used = {harvester.source.input_id for harvester in self._open_files.running.values()}
        for rules in self._rules:
            rules.keep(used | specs.keys())
            rules.update_rules(specs.values())
        self._survey.problems.forget_scans(removed - specs.keys())
        self._survey.replace(specs.values())
        files = self._open_files
        leaving = [running for running in files.running.values() if running.source.input_id in removed]
        draining = [closed.harvester for key, closed in files.files.draining.items() if key[0] in removed]
        if leaving or self._open_files.files.suspects:
            self._survey.scan_now()
        else:
            self._survey.scan_due()
        self._entries.inputs_changed()
        self._forget_unread(removed & specs.keys())
        self._copies.hand_over(removed, specs)
        named = (harvester for harvester in leaving if not self._is_nameless(harvester))
        self._leaving |= dict.fromkeys((*named, *draining))
        self.step()

    def _forget_unread(self, changed: Container[str]) -> None:
        """Let the next survey open the closed files of these inputs that have unread data: ignore_older may have left
        it out, and be another now."""
        files = self._open_files
        for key, closed in [item for item in files.files.closed.items() if item[0][0] in changed]:
            state = files.state_of(key)
            if state is None or state.position != closed.seen.size:
                files.files.change(key, None)

    def step(self) -> bool:
        """Release files where possible. Return True if some may be opened again now."""
        if not self._leaving:
            return False
        self._release()
        in_flight = {file for file in self._leaving if self._is_running(file) or self._is_draining(file)}
        ids = {harvester.state.id for harvester in in_flight}
        successors = {harvester.state.continues_in for harvester in in_flight}
        # Also files that share a message with one of them: it can be resumed only if both are opened together.
        waiting = {
            harvester: None
            for harvester in self._leaving
            if harvester in in_flight or harvester.state.continues_in in ids or harvester.state.id in successors
        }
        left = len(self._leaving) > len(waiting)
        self._leaving = waiting
        return left

    def _release(self) -> None:
        for harvester in [leaving for leaving in self._leaving if self._is_running(leaving)]:
            if self._reading.may_release(harvester):
                self._open_files.leave(harvester, next_state(FileEvent.WITHDRAWN))

    def _is_nameless(self, harvester: Harvester) -> bool:
        """Return True if the file cannot be opened again: no path of the inputs matches it, and it has left its path. A
        file that is still there is not nameless, even if no input includes it."""
        is_named = any(key in self._survey.candidates for key in self._keys(harvester))
        return not is_named and inode_at(harvester.state.path) != harvester.key[1:]

    def _is_running(self, harvester: Harvester) -> bool:
        return self._open_files.running.get(harvester.key) is harvester

    def _is_draining(self, harvester: Harvester) -> bool:
        draining = self._open_files.files.draining.get(harvester.key)
        return draining is not None and draining.harvester is harvester
