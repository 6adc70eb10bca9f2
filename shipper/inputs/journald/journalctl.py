"""Keep a journalctl running: restart it whenever it ends, with a longer delay each time that it gave nothing.

It reads the files of one sequence. They are listed, and opened by journalctl a moment later: a rotation in between
would lead it past the rest of a renamed file. So its output is only taken after the files were listed once more
(`awaits_look`), and are the same. A following journalctl keeps to the files that it has opened; it is replaced when
there is another one. Where new entries are unlikely, it reads to the end, and is started again when the header of a
file shows more.
"""

import logging
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from log_shipper.runtime.logs.folding import EACH
from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.journald.arguments import FIRST, command
from log_shipper.shipper.inputs.journald.child import end_in_words
from log_shipper.shipper.inputs.journald.damaged_entries import DamagedEntries
from log_shipper.shipper.inputs.journald.entries import number_of
from log_shipper.shipper.inputs.journald.host import Host, Process
from log_shipper.shipper.inputs.journald.lines import OutputLines
from log_shipper.shipper.inputs.journald.listing import JournalFile
from log_shipper.shipper.inputs.journald.options import JournaldConfig
from log_shipper.shipper.metrics import Metrics

logger = logging.getLogger(__name__)

BACKOFF = Backoff(1.0, 60.0)
ATTEMPTS_ONCE = 3  # with --once
ATTEMPTS_PAST_DAMAGE = 20  # with --once too
LONG_RUN = 60.0  # seconds; after a run this long, the delays of earlier failures are forgotten
WITHOUT_ENTRIES = 10.0  # seconds with output, but not one entry, after which that is a problem
_SHOWN = 200  # bytes of a line
_LEFT_OUT = {  # it reports this, and exits with code 0 all the same
    "ignoring file": "move that file away, or update journalctl if a newer systemd wrote it",
    "not seeing messages": "add the shipper's user to the group systemd-journal, and restart the agent",
}
# Of several journals only some may have a matching unit. journalctl looks for units when it is started.
_NO_UNIT = "Failed to add filter for units: No data available"
NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """The settings of reading. `where` names the journal in messages. `max_line`: maximum bytes of a line; `once`: it
    ends at the existing entries."""

    config: JournaldConfig
    path: str
    where: str
    max_line: int
    once: bool


class Journalctl:
    """The restarted journalctl. Used by the reading thread only. `problem`: why nothing is read now, empty if it is;
    `left_out`: why entries are skipped. `ended`: with `once`, all existing entries are read, or cannot be.
    `has_no_unit`: no unit in it matches `units`."""

    def __init__(
        self, settings: ReadSettings, start_at: Callable[[], str], host: Host, clock: Clock, metrics: Metrics
    ) -> None:
        """Take the settings. `start_at` is called before each start, and returns where to begin (arguments.py)."""
        self.problem = self.left_out = ""
        self.ended = self.has_no_unit = False
        self.lines = OutputLines(settings.max_line)
        self._settings = settings
        self._start_at = start_at
        self._host, self._wake = host, host.wake
        self._clock = clock
        self._metrics = metrics
        self._files: tuple[JournalFile, ...] = ()
        self._may_follow = self._may_start = True
        self._at_start: frozenset[JournalFile] = frozenset()  # the files that were listed before the last start
        self._is_checked = False  # they are the files that it has opened
        self._last_at_start = 0  # the number of the last entry
        self._read_to: int | None = None  # if it has read to the end, that number
        self._child: Process | None = None
        self._has_output = self._has_words = self._stopped = self._follows = False
        self._words = ""  # the last line of its standard error
        self._failures, self._next_start = 0, 0.0
        self._damaged, self._has_skipped = DamagedEntries(), False
        self._start_cursor, self._started = "", 0.0
        self._came = self._new = False  # entries since the last start, new ones
        self._refused, self._first_refused = 0, b""  # lines that are no entries
        self._sample, self._refused_since = b"", NEVER  # the first of them after the last entry, and when it came
        self._throttle = Throttle(clock.monotonic)

    @property
    def running(self) -> bool:
        return self._child is not None

    @property
    def awaits_look(self) -> bool:
        """Return True if the files must be listed, and `check` be called, before its output is read."""
        return self.has_output and not self._is_checked

    @property
    def has_output(self) -> bool:
        return self._child is not None and self._has_output

    @property
    def last_number(self) -> int:
        """Return the number of the last entry of its files, 0 if unknown."""
        return _last(self._files)

    def set_files(self, files: Sequence[JournalFile], *, follow: bool) -> None:
        """Set the current files, none if unknown. `follow`: a journalctl may wait for more entries."""
        self._files, self._may_follow = tuple(files), follow
        if not self._at_start.issuperset(files):
            self._read_to = None
            self._end_child()

    def check(self) -> None:
        """Note that the files were listed after journalctl opened them."""
        if self._at_start == frozenset(self._files):
            self._is_checked = True
        else:
            self._end_child()

    def step(self, *, may_start: bool = True) -> None:
        self._may_start = may_start
        if self._has_words and self._child is not None:
            self._has_words = False
            words = self._child.words()
            self._report(words)
            if words is not None:
                self._wake.watch(self._child.errors, self._words_came)
        if not self._has_output:  # if it has, and the pipeline is full, the next may be entries
            self._look_for_entries()
        if self._is_due and self._clock.monotonic() >= self._next_start:
            self._start()

    @property
    def _is_due(self) -> bool:
        if self._child is not None or self.ended or self._stopped or not self._may_start:
            return False
        return self._read_to is None or self._read_to < self.last_number

    def read(self) -> list[bytes]:
        """Return lines; none if there are none for now."""
        if self._child is None or not self._has_output or not self._is_checked:
            return []
        block = self._child.read()
        if block:
            lines = self.lines.split(block)
            if self.lines.is_skipping:
                self._is_no_entry(self.lines.rest())
            return lines
        self._has_output = False
        if block is None:
            self._wake.watch(self._child.output, self._output_came)
        else:
            self._child_ended(self._child)
        return []

    def next_wake(self, *, reading: bool) -> float:
        """Return the seconds until it has something to do, unless something is written."""
        if self._stopped or self.ended:
            return NEVER
        if self._child is None:
            return max(self._next_start - self._clock.monotonic(), 0.0) if self._is_due else NEVER
        return 0.0 if self._has_words or (reading and self._has_output) else NEVER

    def note_entries(self, *, new: bool) -> None:
        """Note that it has given entries, possibly only the last one again."""
        if self.problem:
            logger.info("%s: journalctl is reading again", self._settings.where, extra=EACH)
        self.problem, self.has_no_unit, self._came = "", False, True
        if new:
            self._new, self._failures = True, 0
            self._has_skipped = self._has_skipped or bool(self._damaged.skipped)
        self._sample, self._refused_since = b"", NEVER

    def note_refused(self, count: int, first: bytes) -> None:
        """Count lines that are not entries."""
        self._refused += count
        self._first_refused = self._first_refused or first[:_SHOWN]
        self._is_no_entry(first)

    def _is_no_entry(self, sample: bytes) -> None:
        self._sample = self._sample or sample[:_SHOWN]
        self._refused_since = min(self._refused_since, self._clock.monotonic())
        self._look_for_entries()

    def _look_for_entries(self) -> None:
        if self._clock.monotonic() - self._refused_since < WITHOUT_ENTRIES:
            return
        problem = (
            f"journalctl has written no entry for {WITHOUT_ENTRIES:.0f} s, but other lines: {self._sample!r}; to see "
            f"its output, run {self._settings.config.program} -o json -n 1 as the shipper's user"
        )
        self._refused_since = NEVER
        if problem != self.problem:
            logger.error("%s: %s", self._settings.where, problem, extra=EACH)
        self.problem = problem

    def stop(self) -> None:
        self._stopped = True
        self._end_child()

    def end(self) -> None:
        """Stop: there is nothing to read any more."""
        self.ended, self.problem, self.left_out = True, "", ""
        self._end_child()

    def _start(self) -> None:
        settings = self._settings
        self._start_cursor, self._started = self._start_at(), self._clock.monotonic()
        self._came, self._new, self.left_out = False, False, ""
        self._follows = self._may_follow and not settings.once and self._damaged.may_follow
        start = self._damaged.start(self._start_cursor)
        if start != self._start_cursor:
            logger.error(
                "%s: journalctl fails repeatedly at the entry after %s; skipping the next %d entry numbers. A "
                "journal file is damaged: find it with journalctl --verify, and move it away",
                settings.where,
                self._start_cursor,
                self._damaged.skipped,
                extra=EACH,
            )
        line = command(settings.config, settings.path, start, files=self._files_from(start), follow=self._follows)
        self.lines, self._words = OutputLines(settings.max_line), ""
        self._sample, self._refused_since = b"", NEVER
        try:
            self._child = self._host.start(line, settings.config.chroot)
        except OSError as error:
            self._failed(f"cannot start journalctl ({' '.join(line)}): {error}")
            return
        except subprocess.SubprocessError:  # the error has no message of its own
            self._failed(
                f"cannot start journalctl in the root directory {settings.config.chroot}; check that it exists, and "
                "that the shipper may change to it (root or CAP_SYS_CHROOT)"
            )
            return
        logger.debug("%s: process %d is %s", settings.where, self._child.pid, " ".join(line))
        self._has_output = self._has_words = False
        self._wake.watch(self._child.output, self._output_came)
        self._wake.watch(self._child.errors, self._words_came)

    def _files_from(self, start: str) -> list[str]:
        """Return the files that may have entries from there on, and remember what is known of all."""
        self._at_start, self._is_checked, self._read_to = frozenset(self._files), False, None
        self._last_at_start = self.last_number
        place = number_of(start.removeprefix(FIRST))
        needed = [file for file in self._files if place is None or file.is_live or file.last >= place[1]]
        return [file.path for file in needed or self._files]

    def _output_came(self) -> None:
        self._has_output = True

    def _words_came(self) -> None:
        self._has_words = True

    def _report(self, words: str | None) -> None:
        self._words = words or self._words
        if not words:
            return
        advice = next((advice for phrase, advice in _LEFT_OUT.items() if phrase in words), "")
        if advice and not self.left_out:
            self.left_out = f"journalctl skips a part of the journal: {words.rstrip('.')}; {advice}"
            logger.error("%s: %s", self._settings.where, self.left_out)
        elif not self._reports_no_unit and self._throttle.is_due():
            logger.warning(
                "%s: journalctl reports: %s. Its messages are logged at most once a minute",
                self._settings.where,
                words.rstrip("."),
            )

    def _child_ended(self, child: Process) -> None:
        code = child.exit_code()
        if code == 1:
            self._report(child.words())
        self.has_no_unit = code == 1 and self._reports_no_unit
        if self.has_no_unit:
            self._found_no_unit()
            return
        if code == 0 and (rest := self.lines.rest()):
            self.note_refused(1, rest)
        self._damaged.ended(self._start_cursor, code, came=self._came, new=self._new)
        if code == 0 and self._settings.once:
            self._finished(child)
            return
        if code == 0 and not self._follows:
            self._end_child()
            if not self._may_follow:
                self._read_to = self._last_at_start
            return
        words = child.words() or self._words or (repr(self._sample) if self._sample else "")
        self._end_child()
        reason = f": {words.rstrip('.')}" if words else ""
        self._failed(f"journalctl {end_in_words(code)}{reason}")

    @property
    def _reports_no_unit(self) -> bool:
        return bool(self._files) and _NO_UNIT in self._words

    def _found_no_unit(self) -> None:
        """Treat the journal as empty: it is checked again once there are more entries."""
        self._end_child()
        self.ended, self.problem = self._settings.once, ""
        self._failures += 1
        self._read_to = self._last_at_start
        self._next_start = self._clock.monotonic() + BACKOFF.jittered(self._failures)

    def _finished(self, child: Process) -> None:
        self.ended, self.problem = True, ""
        while words := child.words():
            self._report(words)
        self._end_child()
        if self._refused:
            self.problem = (
                f"journalctl wrote {self._refused} lines that are not entries, which were skipped; the first is "
                f"{self._first_refused!r}"
            )
        elif self._has_skipped:
            self.problem = "skipped entries at which journalctl failed repeatedly (the log has their cursors)"

    @property
    def _most_attempts(self) -> int:
        return ATTEMPTS_PAST_DAMAGE if self._damaged.attempts else ATTEMPTS_ONCE

    def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            self._wake.unwatch(child.output)
            self._wake.unwatch(child.errors)
            child.end()

    def _failed(self, problem: str) -> None:
        if self._clock.monotonic() - self._started >= LONG_RUN:
            self._failures = 0
        self._failures += 1
        self._metrics.journalctl_failures += 1
        delay = BACKOFF.init if self._damaged.skipped else BACKOFF.delay(self._failures)
        self._next_start = self._clock.monotonic() + delay
        if problem != self.problem:
            logger.error("%s: %s; restarting it in %.0f s", self._settings.where, problem, delay, extra=EACH)
        self.problem = problem
        self.ended = self._settings.once and self._failures >= self._most_attempts


def _last(files: Sequence[JournalFile]) -> int:
    return max((file.last for file in files), default=0)
