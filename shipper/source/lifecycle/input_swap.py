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
from dataclasses import replace
from typing import Protocol

from shipper.source.discovery.scanner import FileKey
from shipper.source.discovery.spec import InputSpec
from shipper.source.discovery.survey import Discovery
from shipper.source.identity.copy_detector import CopyDetector
from shipper.source.lifecycle.open_files import OpenFiles
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
        copies: CopyDetector,
        rules: Sequence[Rules],
    ) -> None:
        self._inputs = inputs
        self._survey = discovery.survey
        self._problems = discovery.problems
        self._open_files = open_files
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
        self._hand_over_suspects(gone)
        for harvester in self._open_files.running.values():
            if harvester.source.input_id in gone and not self._is_nameless(harvester):
                self._leaving[harvester] = None
        self.step()

    def step(self) -> bool:
        """Put down what can be; whether there are files now that may be opened again."""
        if not self._leaving:
            return False
        self._put_down()
        under_way = {each for each in self._leaving if self._is_running(each) or not each.settled}
        ids = {each.state.id for each in under_way}
        successors = {each.state.continues_in for each in under_way}
        # Also those that share a message with one of them: only together they can be joined again.
        waiting = {
            each: None
            for each in self._leaving
            if each in under_way or each.state.continues_in in ids or each.state.id in successors
        }
        left = len(self._leaving) > len(waiting)
        self._leaving = waiting
        return left

    def _put_down(self) -> None:
        running = [each for each in self._leaving if self._is_running(each)]
        if not running:
            return
        # What would be forgotten: another file's message goes on in it, or a batch of it waits to be queued.
        joins = [harvester.rotation_join for harvester in self._open_files.running.values()]
        joined = {join.successor for join in joins if join is not None}
        for harvester in running:
            if harvester not in joined and not self._open_files.awaits_save(harvester):
                self._open_files.release(harvester, until_news=False)

    def _hand_over_suspects(self, gone: set[str]) -> None:
        """What is suspected to be a copy perhaps is open, and belongs to an input that is not read any more."""
        for key, suspect in list(self._copies.suspects.items()):
            if suspect.opened.spec.id in gone:
                successor, _ = self._survey.found.get(key, (self._inputs.specs.get(suspect.opened.spec.id), None))
                if successor is None:
                    self._copies.drop(key)
                    os.close(suspect.opened.content.fd)
                else:
                    suspect.opened = replace(suspect.opened, spec=successor)

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
