"""Check whether entries follow one another, and report deleted ones in between."""

import logging

from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.inputs.journald.arguments import FIRST, SINCE
from log_shipper.shipper.inputs.journald.entries import JournalEntry, Key, number_of
from log_shipper.shipper.inputs.journald.options import JournaldConfig
from log_shipper.shipper.metrics import Metrics

logger = logging.getLogger(__name__)


class Continuity:
    """The check for gaps. Numbers show gaps only if all entries are read: with a filter, or several journals at once,
    there are gaps. `shares_numbers`: other sequences share the counter."""

    def __init__(
        self, where: str, config: JournaldConfig, metrics: Metrics, throttle: Throttle, *, is_whole: bool
    ) -> None:
        """Take the journal. `is_whole`: the entries are those of a whole path, not of one sequence."""
        self.shares_numbers = False
        self._where = where
        self._is_filtered = bool(config.units or config.syslog_identifiers or config.matches)
        self._is_merged = is_whole and config.merge
        self._metrics = metrics
        self._throttle = throttle
        self._expected: tuple[Key, int] | None = None  # the first entry of a journalctl
        self._is_given = True  # that entry was given already
        self._before: tuple[str, int] | None = None  # sequence and number of the last entry
        self._refused = 0  # entries that are counted already; their numbers will be missing

    @property
    def _reads_all(self) -> bool:
        return not (self._is_filtered or self._is_merged or self.shares_numbers)

    def starts_at(self, start: str) -> None:
        """Expect the entry at which a journalctl begins (arguments.py). It was given already, unless it is marked as
        the first."""
        self._refused = 0
        self._is_given = not start.startswith(FIRST)
        self._expected = None if not start or start.startswith(SINCE) else number_of(start.removeprefix(FIRST))

    def new(self, entries: list[JournalEntry]) -> list[JournalEntry]:
        """Return the entries without the one that was given already."""
        if entries and self._expected is not None:
            (key, number), self._expected = self._expected, None
            if (entries[0].key, entries[0].number) == (key, number):
                self._before = key[0], self._before_it(number)
                entries = entries[1:] if self._is_given else entries
            else:
                self._report_missing(key[0], number, entries[0])
                self._before = None
        if self._reads_all:
            self._look_for_gaps(entries)
        return entries

    def damaged(self, count: int) -> None:
        """Count refused entries. Their missing numbers must not be counted again."""
        self._metrics.journal_entries_lost += count
        self._refused += count

    def skipped(self, cursor: str, size: int) -> None:
        """Report an entry that was too large to be read."""
        self._metrics.journal_entries_lost += 1
        self._expected = None
        self._before = None
        logger.error(
            "%s: skipped an entry of %d bytes, larger than message_max_bytes (cursor %s)",
            self._where,
            size,
            cursor or "unknown",
        )

    def ended(self, cursor: str, last: int) -> None:
        """Report that all files are missing. `cursor`: of the last entry read; `last`: the number of the last existing
        one."""
        place = number_of(cursor)
        if place is not None and last > place[1] and self._reads_all:
            self._report_lost(place[1], last + 1)
        elif last and (place is None or last > place[1]):
            logger.warning(
                "%s: all journal files are missing. Unread entries up to sequence number %d are lost, if any",
                self._where,
                last,
            )

    def _before_it(self, number: int) -> int:
        """Return the number of the last entry that is not missing, if the one with that number is."""
        return number if self._is_given else number - 1

    def _report_missing(self, sequence: str, number: int, first: JournalEntry) -> None:
        before = self._before_it(number)
        if not self._reads_all or first.key[0] != sequence or first.number < before:
            logger.warning(
                "%s: the %s entry read (number %d) is missing (vacuumed, or excluded by the filters); continuing "
                "with the next entry, number %d of %s. The number of entries lost is unknown",
                self._where,
                "last" if self._is_given else "first",
                number,
                first.number,
                "the same sequence" if first.key[0] == sequence else "another sequence",
            )
        elif first.number > before + 1:
            self._report_lost(before, first.number)

    def _look_for_gaps(self, entries: list[JournalEntry]) -> None:
        before = self._before
        for entry in entries:
            sequence = entry.key[0]
            if before is not None and before[0] == sequence and entry.number > before[1] + 1:
                self._report_lost(before[1], entry.number)
            before = sequence, entry.number
        self._before = before

    def _report_lost(self, last: int, first: int) -> None:
        missing = first - last - 1
        counted, self._refused = min(self._refused, missing), max(self._refused - missing, 0)
        if missing == counted:
            return
        self._metrics.journal_entries_lost += missing - counted
        if self._throttle.is_due():
            logger.warning(
                "%s: %d entries (sequence numbers %d to %d) are missing: vacuumed before they were read, in a damaged "
                "file, or unreadable for the shipper's user; %d other gaps since the last such message (at most one a "
                "minute)",
                self._where,
                first - last - 1,
                last + 1,
                first - 1,
                self._throttle.suppressed,
            )
