"""Decide which entries wait to be saved, and when they are due: the registrar without its thread, lock and disk."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from log_shipper.registry.state import FileState


class SaveTicket:
    """A ticket for an urgent save."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def __repr__(self) -> str:
        return f"SaveTicket(done={self.done})"

    @property
    def done(self) -> bool:
        """Return True if the entries are on disk. Never blocks."""
        return self._event.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        return self._event.wait(timeout)

    def resolve(self) -> None:
        """Mark the entries as being on disk. Called by the registrar."""
        self._event.set()


# Seconds between two writes: the maximum age of acknowledged data that is sent again after a kill.
MIN_PAUSE = 0.04
PAUSE_FOR_WORK = 19  # multiple of a write's duration, so that writes take at most 5 % of a core


@dataclass(frozen=True, slots=True)
class Taken:
    entries: dict[str, FileState | None]  # None: to be removed
    tickets: list[SaveTicket]


class Pending:
    """The unsaved entries. Not thread-safe. `now` is monotonic seconds, always the caller's.

    Entries are due twice: soon for writing, so that the page cache has them when the process is killed, and after the
    flush interval for the disk.

    Bounded by the number of files, not by the length of a disk outage: one entry per id, the last one wins.
    """

    def __init__(self, flush_interval: float, retry_interval: float) -> None:
        self._flush_interval = flush_interval
        self._retry_interval = retry_interval
        self._entries: dict[str, FileState | None] = {}
        self._tickets: list[SaveTicket] = []
        self._due: float | None = None
        self._unwritten: dict[str, FileState | None] = {}
        self._write_at: float | None = None  # for these
        self._next_write = 0.0  # not before
        self._is_steady = False  # True if something was noted in the last pause
        self._is_refused = False  # True from a write that failed to the next flush
        self._retry_at: float | None = None
        self._deadline: float | None = None  # set when closing

    def note(self, entries: dict[str, FileState | None], now: float) -> bool:
        """Add entries. Return True if the thread must be notified, because it waits for nothing or for later."""
        self._entries.update(entries)
        must_wake = self._due is None
        if self._due is None:
            self._due = now + self._flush_interval
        if not self._is_refused:
            self._unwritten.update(entries)
            if self._write_at is None:
                self._write_at = max(now, self._next_write)
                is_paused = now < self._next_write
                must_wake = must_wake or not (is_paused and self._is_steady)  # then it wakes by itself
                self._is_steady = is_paused
        return must_wake

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
    def empty(self) -> bool:
        return not self._entries and not self._tickets

    def finished(self, now: float) -> bool:
        """Return True if it is closing, and nothing is left or the disk did not take it in time (after at least one
        attempt)."""
        if self._deadline is None:
            return False
        return self.empty or (self._retry_at is not None and now >= self._deadline)

    def wait(self, now: float) -> float | None:
        """Return the seconds until `take` is due, 0 for now, None if nothing waits. While notes are steady, it is the
        end of the pause after a write even if nothing is to be written yet: so the thread wakes once per write, and no
        note has to wake it before."""
        due = self._flush_at
        if due is None:
            return None
        if self._write_at is not None:
            due = min(due, self._write_at)
        elif now < self._next_write and self._is_steady:
            due = min(due, self._next_write)
        return max(0.0, due - now)

    @property
    def _flush_at(self) -> float | None:
        if self._due is None or self._retry_at is None:
            return self._due
        due = max(self._due, self._retry_at)  # an urgent save does not make a refusing disk more willing
        return due if self._deadline is None else min(due, self._deadline)

    def take_unwritten(self, now: float) -> dict[str, FileState | None] | None:
        """Return the entries to be written now that need not be on disk yet; None if all are to be flushed."""
        flush_at = self._flush_at
        if flush_at is None or flush_at <= now:
            return None
        unwritten, self._unwritten, self._write_at = self._unwritten, {}, None
        return unwritten

    def written(self, started: float, now: float) -> None:
        """Note a write from `started` until `now`: the next one waits long enough that writes take little CPU time."""
        self._next_write = max(started + MIN_PAUSE, now + (now - started) * PAUSE_FOR_WORK)
        if self._write_at is not None:
            self._write_at = max(self._write_at, self._next_write)

    def refused(self) -> None:
        """Write nothing more before the next flush."""
        self._is_refused = True
        self._unwritten, self._write_at = {}, None

    def pop_all(self) -> Taken:
        taken = Taken(self._entries, self._tickets)
        self._entries, self._tickets, self._due = {}, [], None
        self._unwritten, self._write_at = {}, None
        return taken

    def flushed(self) -> None:
        """Note that the taken entries are on disk."""
        self._is_refused = False

    def failed(self, taken: Taken, now: float) -> None:
        """Put back the entries that were taken. Those noted meanwhile are newer and stay."""
        self._entries = taken.entries | self._entries
        self._tickets = taken.tickets + self._tickets
        self._retry_at = now + self._retry_interval
        self._due = now
        self.refused()
