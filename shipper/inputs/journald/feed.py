"""Provide the journals of one input as a source of batches."""

import shutil
from collections.abc import Iterator, Sequence
from typing import cast

from log_shipper.registry.state import FileState
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch
from log_shipper.shipper.inputs.base import SourceContext, SourceStatus
from log_shipper.shipper.inputs.feed import FeedInput
from log_shipper.shipper.inputs.journald.host import Host
from log_shipper.shipper.inputs.journald.journal import Journal
from log_shipper.shipper.inputs.journald.journalctl import NEVER
from log_shipper.shipper.inputs.journald.options import JournaldConfig
from log_shipper.shipper.inputs.journald.sequences import Sequences


class JournaldFeed:
    """The feed of journals. Used by the reading thread only, except `status`."""

    def __init__(
        self,
        feed_input: FeedInput,
        context: SourceContext,
        states: Sequence[FileState],
        host: Host,
    ) -> None:
        """Open the journals. Raises StartError."""
        config = cast(JournaldConfig, feed_input.config)
        _check_program(feed_input, config)
        self._once = context.once
        self._stopped = False
        known = {state.id: state for state in states}
        self._paths = [Sequences(path, feed_input, config, context, known, host) for path in config.reads]
        self._next = 0

    @property
    def finished(self) -> bool:
        if self._stopped:
            return all(journal.settled for journal in self._journals)
        return self._once and all(journal.at_end for journal in self._journals)

    def step(self) -> None:
        if not self._stopped:
            for sequences in self._paths:
                sequences.step()

    def read(self, budget: int) -> Iterator[Batch]:
        journals = self._journals
        self._next = (self._next + 1) % max(len(journals), 1)
        for journal in (*journals[self._next :], *journals[: self._next]):
            yield from journal.read()

    def next_wake(self, *, reading: bool) -> float:
        looks = NEVER if self._stopped else min(sequences.wait for sequences in self._paths)
        return min([looks, *(journal.next_wake(reading=reading) for journal in self._journals)])

    def status(self) -> SourceStatus:
        journals = self._journals
        return SourceStatus(
            files_open=sum(journal.journalctl.running for journal in journals),
            reading=sum(not journal.journalctl.ended for journal in journals),
            unsettled=sum(journal.journalctl.ended and not journal.settled for journal in journals),
            waiting=0,
            bytes_waiting=0,
            bytes_behind=sum(journal.position.behind for journal in journals),
            is_size_known=False,
            problems=self._problems,
        )

    @property
    def _journals(self) -> list[Journal]:
        return [journal for sequences in self._paths for journal in sequences.journals]

    @property
    def _problems(self) -> dict[str, str]:
        """Return the problems by journal. A path with one sequence is one journal, whichever part has the problem."""
        problems: dict[str, list[str]] = {}
        for sequences in self._paths:
            for name, words in sequences.problems:
                problems.setdefault(name, []).append(words)
        return {name: "; ".join(words) for name, words in problems.items()}

    def stop(self) -> None:
        if not self._stopped:
            self._stopped = True
            for journal in self._journals:
                journal.stop()


def _check_program(feed_input: FeedInput, config: JournaldConfig) -> None:
    program = shutil.which((config.chroot + config.program) if config.chroot else config.program)
    if program is None:
        within = f" below {config.chroot}" if config.chroot else ""
        raise StartError(
            f"input {feed_input.id}: {config.program} does not exist{within}, or is not executable; install "
            "systemd's journalctl, set journalctl_path, or remove the input"
        )
