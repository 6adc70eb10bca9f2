"""The journals of one input, as a source of batches."""

import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from typing import cast

from config.shipper.feeds.journald import JournaldConfig
from registry.state import FileState
from shipper.errors import StartError
from shipper.event import Batch
from shipper.source.base import SourceContext, SourceStatus
from shipper.source.feeds.base import FeedInput
from shipper.source.feeds.journald.arguments import SINCE
from shipper.source.feeds.journald.doorbell import Doorbell
from shipper.source.feeds.journald.journal import Journal
from shipper.source.feeds.journald.rights import Rights

KIND = "journald"


class JournaldFeed:
    """Used by the reading thread only, but for `status`."""

    def __init__(
        self,
        feed_input: FeedInput,
        context: SourceContext,
        states: Sequence[FileState],
        wake: Callable[[], None],
    ) -> None:
        """Raises StartError."""
        config = cast(JournaldConfig, feed_input.config)
        _check_program(feed_input, config)
        self._once = context.once
        self._bell = Doorbell(wake, f"journald {feed_input.id}"[:15])
        self._stopped = False
        self._journals: list[Journal] = []
        known = {state.id: state for state in states}
        for path in config.reads:
            entry_id = hashlib.sha256("\0".join((KIND, feed_input.id, path)).encode()).hexdigest()[:32]
            state = known.get(entry_id) or new_state(entry_id, path, feed_input, config)
            self._journals.append(Journal(feed_input, config, state, context, self._bell))
        self._rights = [
            Rights(config, path, f"input {feed_input.id}, journal {path}", feed_input.clock) for path in config.reads
        ]
        self._next = 0

    @property
    def finished(self) -> bool:
        if self._stopped:
            return all(journal.settled for journal in self._journals)
        return self._once and all(journal.at_end for journal in self._journals)

    def step(self) -> None:
        for journal in self._journals:
            journal.journalctl.step()
        for rights in self._rights:
            rights.step()

    def read(self, budget: int) -> Iterator[Batch]:
        self._next = (self._next + 1) % len(self._journals)
        for journal in (*self._journals[self._next :], *self._journals[: self._next]):
            yield from journal.read()

    def next_wake(self, *, reading: bool) -> float:
        return min(journal.next_wake(reading=reading) for journal in self._journals)

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
            problems={
                f"journal {journal.position.state.path}": "; ".join(problems)
                for journal, rights in zip(journals, self._rights, strict=True)
                if (problems := _problems(journal, rights))
            },
        )

    def stop(self) -> None:
        if not self._stopped:
            self._stopped = True
            for journal in self._journals:
                journal.stop()
            self._bell.close()


def _problems(journal: Journal, rights: Rights) -> list[str]:
    return [words for words in (journal.journalctl.problem, journal.journalctl.left_out, rights.problem) if words]


def new_state(entry_id: str, path: str, feed_input: FeedInput, config: JournaldConfig) -> FileState:
    """Return the entry of a journal of which nothing was read. A beginning that depends on the time of the start is
    saved: what is written before the first acknowledgement is not to be left out by a restart."""
    now = feed_input.clock.time()
    ago = {"head": None, "tail": 0.0, "since": config.since_ago}[config.begins]
    cursor = "" if ago is None else f"{SINCE}{now - ago:.6f}"
    state = FileState(
        id=entry_id, path=path, device=0, inode=0, updated=now, input=feed_input.id, kind=KIND, cursor=cursor
    )
    feed_input.note(state)
    return state


def _check_program(feed_input: FeedInput, config: JournaldConfig) -> None:
    program = shutil.which((config.chroot + config.program) if config.chroot else config.program)
    if program is None:
        within = f" below {config.chroot}" if config.chroot else ""
        raise StartError(
            f"input {feed_input.id}: {config.program} is not there{within}, or may not be executed; install systemd's "
            "journalctl, or set journalctl_path"
        )
