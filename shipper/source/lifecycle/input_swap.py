"""Puts other inputs in the place of those that are read, while everything goes on.

What an input that stays is reading, no one touches. The files of one that goes, or comes back with other options, are
released where they stand: what was read of them is still delivered and acknowledged, what was not is read by whoever
has them next, from the position of their entry. So nothing is lost and nothing is sent twice, and no file is open
under two inputs at once: until the last batch under the old one is acknowledged, the new one waits.

A file that has no name any more (deleted, or moved out of the paths) could not be opened again: it is read on as it
was, to its end, and closed by what closes files.
"""

import os
from collections.abc import Iterable, Sequence
from typing import Protocol

from shipper.source.discovery.scanner import FileKey
from shipper.source.discovery.spec import InputSpec
from shipper.source.discovery.survey import Discovery
from shipper.source.identity.copy_detector import CopyDetector
from shipper.source.lifecycle.open_files import OpenFiles
from shipper.source.reading.batch_reader import BatchReader
from shipper.source.reading.factory import ActiveInputs, Input
from shipper.source.reading.harvester import Harvester


class Rules(Protocol):
    """What follows the options of inputs. Those of inputs that are not read any more stay: files without a name may
    still be read by them."""

    def learn(self, specs: Iterable[InputSpec]) -> None: ...


class InputSwap:
    """Used by the reading thread only."""

    def __init__(
        self,
        inputs: ActiveInputs,
        discovery: Discovery,
        open_files: OpenFiles,
        reading: BatchReader,
        copies: CopyDetector,
        rules: Sequence[Rules],
    ) -> None:
        self._inputs = inputs
        self._survey = discovery.survey
        self._problems = discovery.problems
        self._open_files = open_files
        self._reading = reading
        self._copies = copies
        self._rules = rules
        self._leaving: dict[Harvester, None] = {}

    @property
    def blocked(self) -> set[FileKey]:
        """Files that must not be opened yet."""
        return {harvester.key for harvester in self._leaving}

    def replace(self, inputs: list[Input]) -> None:
        """These are to be read from now on; the very objects that are read already stay as they are. Looks through
        the paths at once: what can be found again can be released."""
        gone = self._inputs.replace(inputs)
        specs = self._inputs.specs
        for rules in self._rules:
            rules.learn(specs.values())
        self._problems.forget_scans(gone - specs.keys())
        self._survey.replace(specs.values())
        self._survey.scan_now()
        self._copies.hand_over(gone, self._spec_of)
        for harvester in self._open_files.running.values():
            if harvester.source.input_id in gone and not self._is_nameless(harvester):
                self._leaving[harvester] = None
        self.step()

    def step(self) -> bool:
        """Release what can be; True if there are files now that may be opened again."""
        if not self._leaving:
            return False
        self._release()
        in_flight = {harvester for harvester in self._leaving if self._is_running(harvester) or not harvester.settled}
        ids = {harvester.state.id for harvester in in_flight}
        successors = {harvester.state.continues_in for harvester in in_flight}
        # Also those that share a message with one of them: only together they can be joined again.
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
                self._open_files.release(harvester, until_new_data=False)

    def _spec_of(self, key: FileKey, input_id: str) -> InputSpec | None:
        candidate = self._survey.file(key)
        return candidate[0] if candidate is not None else self._inputs.specs.get(input_id)

    def _is_nameless(self, harvester: Harvester) -> bool:
        """True if it is under no path any more under which it could be opened again. One that is where it was, and
        that no input wants, is not."""
        return harvester.key not in self._survey.found and _key_at(harvester.state.path) != harvester.key

    def _is_running(self, harvester: Harvester) -> bool:
        return self._open_files.running.get(harvester.key) is harvester


def _key_at(path: str) -> FileKey | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
