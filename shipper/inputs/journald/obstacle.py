"""Leads journalctl past entries at which it ends each time that it is started, because their file is damaged there.

Without this, nothing of the journal would be read any more until that file is deleted, which may take weeks. An end
with an error can have other reasons, so that nothing is left out before the same start, without `--follow`, has ended
in the same way: then there is an entry behind the one that was given last, and journalctl cannot give it. The numbers
of 1, 2, 3 ... entries are skipped, until one is given; beyond 16 twice as many each time, so that of many damaged
entries as many good ones may be left out with them.
"""

import signal
from dataclasses import dataclass

from log_shipper.shipper.inputs.journald.arguments import FIRST, SINCE
from log_shipper.shipper.inputs.journald.entries import number_of

EXACTLY = 16  # numbers that are skipped one by one
MAX_ATTEMPTS = 33  # then it is tried from the beginning: a million were skipped
_CRASHES = frozenset(map(int, (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL)))


@dataclass(slots=True)
class Obstacle:
    """`attempts` in a row ended with an error, and gave no new entry."""

    attempts: int = 0

    @property
    def may_follow(self) -> bool:
        return self.attempts == 0

    @property
    def skipped(self) -> int:
        """Return how many numbers the next start skips."""
        tries = max(self.attempts - 1, 0)
        return tries if tries <= EXACTLY else EXACTLY * 2 ** (tries - EXACTLY)

    def start(self, cursor: str) -> str:
        """Return where to start if the entry with this cursor was given last."""
        if not self.skipped or not (place := number_of(cursor)):
            return cursor
        # With the time, files with other sequences begin there too. What else a cursor has would lead back.
        time = next(part for part in cursor.split(";") if part.startswith("t="))
        (sequence, _), number = place
        return f"s={sequence};i={number + 1 + self.skipped:x};{time}"

    def ended(self, cursor: str, code: int | None, *, came: bool, new: bool) -> None:
        """A journalctl ended. `cursor`: of the entry that was given last; `came`: that one was given again, which shows
        that the journal can be read as far as there; `new`: others were."""
        failed = code is not None and (code > 0 or -code in _CRASHES)
        is_known = bool(cursor) and not cursor.startswith((FIRST, SINCE)) and ";t=" in cursor
        if failed and is_known and not new and (came or self.attempts >= 2):
            self.attempts = self.attempts + 1 if self.attempts < MAX_ATTEMPTS else 0
        else:
            self.attempts = 0
