"""Lead journalctl past entries at which it ends each time it is started, because their file is damaged there.

Otherwise nothing of the journal would be read until that file is deleted, which may take weeks. An end with an error
can have other reasons, so entries are skipped only after the same start, without `--follow`, has ended in the same way:
then there is an entry after the last one given, and journalctl cannot give it. The numbers of 1, 2, 3 ... entries are
skipped, until one is given; beyond 16 twice as many each time, so that as many good entries may be skipped with many
damaged ones.
"""

import signal
from dataclasses import dataclass

from log_shipper.shipper.inputs.journald.arguments import FIRST, SINCE
from log_shipper.shipper.inputs.journald.entries import number_of

EXACTLY = 16  # numbers that are skipped one by one
MAX_ATTEMPTS = 33  # then it starts again from the beginning: a million were skipped
_CRASHES = frozenset(map(int, (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL)))


@dataclass(slots=True)
class DamagedEntries:
    """The damaged place. `attempts` in a row ended with an error, and gave no new entry."""

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
        """Return where to start after the entry with this cursor."""
        if not self.skipped or not (place := number_of(cursor)):
            return cursor
        # With the time, files with other sequences begin there too. The rest of a cursor would lead back.
        time = next(part for part in cursor.split(";") if part.startswith("t="))
        (sequence, _), number = place
        return f"s={sequence};i={number + 1 + self.skipped:x};{time}"

    def ended(self, cursor: str, code: int | None, *, came: bool, new: bool) -> None:
        """Note the end of a journalctl. `cursor`: of the last entry given; `came`: that one was given again, so the
        journal is readable up to there; `new`: others were given."""
        failed = code is not None and (code > 0 or -code in _CRASHES)
        is_known = bool(cursor) and not cursor.startswith((FIRST, SINCE)) and ";t=" in cursor
        if failed and is_known and not new and (came or self.attempts >= 2):
            self.attempts = self.attempts + 1 if self.attempts < MAX_ATTEMPTS else 0
        else:
            self.attempts = 0
