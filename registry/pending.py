"""The entries that wait to be saved, and when they are due: the registrar's decisions, without its thread, lock and
disk."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from registry.state import FileState


class SaveTicket:
    """A ticket for an urgent save."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def __repr__(self) -> str:
        return f"SaveTicket(done={self.done})"

    @property
    def done(self) -> bool:
        """True if the entries are on disk. Never blocks."""
        return self._event.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        return self._event.wait(timeout)

    def resolve(self) -> None:
        """Called by the registrar when the entries are on disk."""
        self._event.set()


@dataclass(frozen=True, slots=True)
class Taken:
    entries: dict[str, FileState | None]  # None: to be removed
    tickets: list[SaveTicket]


class Pending:
    """Not thread-safe. `now` is monotonic seconds, always the caller's.

    Bounded by the number of files, not by how long the disk is away: one entry an id, the last one wins.
    """

    def __init__(self, flush_interval: float, retry_interval: float) -> None:
        self._flush_interval = flush_interval
        self._retry_interval = retry_interval
        self._entries: dict[str, FileState | None] = {}
        self._tickets: list[SaveTicket] = []
        self._due: float | None = None
        self._retry_at: float | None = None
        self._deadline: float | None = None  # set when closing

    def note(self, entries: dict[str, FileState | None], now: float) -> bool:
        """Add entries. Returns True if the thread must be notified, because it waits without a deadline."""
        self._entries.update(entries)
        if self._due is not None:
            return False
        self._due = now + self._flush_interval
        return True

    def urge(self, states: Sequence[FileState], now: float) -> SaveTicket:
        ticket = SaveTicket()
        self._entries.update((state.id, state) for state in states)
        self._tickets.append(ticket)
        self._due = now
        return ticket

    def close(self, deadline: float, now: float) -> None:
        self._deadline = deadline
        self._retry_at = None  # one more attempt, at once
        self._due = None if self.empty else now

    @property
    def closing(self) -> bool:
        return self._deadline is not None

    @property
    def empty(self) -> bool:
        return not self._entries and not self._tickets

    def finished(self, now: float) -> bool:
        """True if it is closing, and nothing is left or the disk did not take it in time (after at least one
        attempt)."""
        if self._deadline is None:
            return False
        return self.empty or (self._retry_at is not None and now >= self._deadline)

    def wait(self, now: float) -> float | None:
        """Return the seconds until `take` is due, 0 for now, None when nothing waits."""
        if self._due is None:
            return None
        due = self._due
        if self._retry_at is not None:
            due = max(due, self._retry_at)  # an urgent save does not make a disk that refuses more willing
            if self._deadline is not None:
                due = min(due, self._deadline)
        return max(0.0, due - now)

    def take(self) -> Taken:
        taken = Taken(self._entries, self._tickets)
        self._entries, self._tickets, self._due = {}, [], None
        return taken

    def failed(self, taken: Taken, now: float) -> None:
        """Put back the entries that were taken. Those that were noted meanwhile are newer and stay."""
        self._entries = taken.entries | self._entries
        self._tickets = taken.tickets + self._tickets
        self._retry_at = now + self._retry_interval
        self._due = now
