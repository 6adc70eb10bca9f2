"""A journalctl that is started again whenever it ends, later each time that it has given nothing."""

import logging
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from config.shipper.feeds.journald import JournaldConfig
from logs.folding import EACH
from logs.throttle import Throttle
from shipper.backoff import Backoff
from shipper.clock import Clock
from shipper.metrics import Metrics
from shipper.source.feeds.journald.arguments import command
from shipper.source.feeds.journald.child import Child
from shipper.source.feeds.journald.doorbell import Doorbell
from shipper.source.feeds.journald.lines import Lines
from shipper.source.feeds.journald.obstacle import Obstacle

logger = logging.getLogger(__name__)

BACKOFF = Backoff(1.0, 60.0)
ATTEMPTS_ONCE = 3  # with --once
ATTEMPTS_PAST_OBSTACLE = 20  # with --once too
LONG_RUN = 60.0  # seconds; when one ends that ran so long, the next is not delayed for what was before
WITHOUT_ENTRIES = 10.0  # seconds in which it writes something, and not one entry, until that is a problem
_SHOWN = 200  # bytes of a line
_LEFT_OUT = {  # it reports this, and ends with code 0 all the same
    "ignoring file": "move that file away, or update journalctl if the file is of a newer systemd",
    "not seeing messages": "give the shipper's user the group systemd-journal, and restart the agent",
}
NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """`where` names the journal in messages. `longest`: the longest line in bytes; `once`: it ends at what there is."""

    config: JournaldConfig
    path: str
    where: str
    longest: int
    once: bool


class Journalctl:
    """Used by the reading thread only. `problem`: why nothing is read now, empty if it is; `left_out`: why not all is.
    `ended`: with `once`, all that there was is read, or it cannot be."""

    def __init__(
        self, settings: ReadSettings, start_at: Callable[[], str], bell: Doorbell, clock: Clock, metrics: Metrics
    ) -> None:
        """`start_at` is called before each start, and returns where to begin (arguments.py)."""
        self.problem = self.left_out = ""
        self.ended = False
        self.lines = Lines(settings.longest)
        self._settings = settings
        self._start_at = start_at
        self._bell = bell
        self._clock = clock
        self._metrics = metrics
        self._child: Child | None = None
        self._has_output = self._has_words = self._stopped = False
        self._words = ""  # of its standard error, the last
        self._failures, self._next_start = 0, 0.0
        self._obstacle, self._has_skipped = Obstacle(), False
        self._start_cursor, self._started = "", 0.0
        self._came = self._new = False  # entries since the last start, new ones
        self._refused, self._first_refused = 0, b""  # lines that are no entries
        self._sample, self._refused_since = b"", NEVER  # the first of them after the last entry, and when it came
        self._throttle = Throttle(clock.monotonic)

    @property
    def running(self) -> bool:
        return self._child is not None

    def step(self) -> None:
        if self._has_words and self._child is not None:
            self._has_words = False
            words = self._child.words()
            self._report(words)
            if words is not None:
                self._bell.watch(self._child.errors, self._words_came)
        if not self._has_output:  # if it has, and the pipeline no room, the next may be entries
            self._look_for_entries()
        may_start = self._child is None and not self.ended and not self._stopped
        if may_start and self._clock.monotonic() >= self._next_start:
            self._start()

    def read(self) -> list[bytes]:
        """Return lines; none if there are none for now."""
        if self._child is None or not self._has_output:
            return []
        block = self._child.read()
        if block:
            lines = self.lines.split(block)
            if self.lines.is_skipping:
                self._is_no_entry(self.lines.rest())
            return lines
        self._has_output = False
        if block is None:
            self._bell.watch(self._child.output, self._output_came)
        else:
            self._child_ended(self._child)
        return []

    def next_wake(self, *, reading: bool) -> float:
        """Return the seconds that may pass before it has something to do, if the doorbell does not ring."""
        if self._stopped or self.ended:
            return NEVER
        if self._child is None:
            return max(self._next_start - self._clock.monotonic(), 0.0)
        return 0.0 if self._has_words or (reading and self._has_output) else NEVER

    def works(self, *, new: bool) -> None:
        """It has given entries, perhaps only the one that was given last."""
        if self.problem:
            logger.info("%s: journalctl reads again", self._settings.where, extra=EACH)
        self.problem, self._came = "", True
        if new:
            self._new, self._failures = True, 0
            self._has_skipped = self._has_skipped or bool(self._obstacle.skipped)
        self._sample, self._refused_since = b"", NEVER

    def refused(self, count: int, first: bytes) -> None:
        """It has written so many lines that are no entries."""
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
            f"journalctl writes something else than entries, and no entry for {WITHOUT_ENTRIES:.0f} s: "
            f"{self._sample!r}; run {self._settings.config.program} -o json -n 1 as the shipper's user to see what "
            "it writes"
        )
        self._refused_since = NEVER
        if problem != self.problem:
            logger.error("%s: %s", self._settings.where, problem, extra=EACH)
        self.problem = problem

    def stop(self) -> None:
        self._stopped = True
        self._end_child()

    def _start(self) -> None:
        settings = self._settings
        self._start_cursor, self._started = self._start_at(), self._clock.monotonic()
        self._came, self._new, self.left_out = False, False, ""
        follow = not settings.once and self._obstacle.may_follow
        start = self._obstacle.start(self._start_cursor)
        if start != self._start_cursor:
            logger.error(
                "%s: journalctl ends each time at an entry behind %s, so the entries with the next %d numbers are left "
                "out. A file of the journal is damaged: journalctl --verify shows which; move it away",
                settings.where,
                self._start_cursor,
                self._obstacle.skipped,
                extra=EACH,
            )
        line = command(settings.config, settings.path, start, follow=follow)
        self.lines, self._words = Lines(settings.longest), ""
        self._sample, self._refused_since = b"", NEVER
        try:
            self._child = Child(line, settings.config.chroot)
        except OSError as error:
            self._failed(f"journalctl cannot be started ({' '.join(line)}): {error}")
            return
        except subprocess.SubprocessError:  # it has no words of its own
            self._failed(
                f"journalctl cannot be started in the root directory {settings.config.chroot}: is it there, and has "
                "the shipper the right to change to it (root, or CAP_SYS_CHROOT)?"
            )
            return
        logger.debug("%s: process %d is %s", settings.where, self._child.pid, " ".join(line))
        self._has_output = self._has_words = False
        self._bell.watch(self._child.output, self._output_came)
        self._bell.watch(self._child.errors, self._words_came)

    def _output_came(self) -> None:  # on the doorbell's thread
        self._has_output = True

    def _words_came(self) -> None:  # on the doorbell's thread
        self._has_words = True

    def _report(self, words: str | None) -> None:
        self._words = words or self._words
        if not words:
            return
        advice = next((advice for phrase, advice in _LEFT_OUT.items() if phrase in words), "")
        if advice and not self.left_out:
            self.left_out = f"journalctl leaves out a part of the journal: {words.rstrip('.')}; {advice}"
            logger.error("%s: %s", self._settings.where, self.left_out)
        elif self._throttle.is_due():
            logger.warning("%s: journalctl reports: %s (at most one a minute)", self._settings.where, words)

    def _child_ended(self, child: Child) -> None:
        code = child.exit_code()
        if code == 0 and (rest := self.lines.rest()):
            self.refused(1, rest)
        followed = self._obstacle.may_follow
        self._obstacle.ended(self._start_cursor, code, came=self._came, new=self._new)
        if code == 0 and self._settings.once:
            self._finished(child)
            return
        if code == 0 and not followed:
            self._end_child()
            return
        words = child.words() or self._words or (repr(self._sample) if self._sample else "")
        self._end_child()
        reason = f": {words.rstrip('.')}" if words else ""
        self._failed(f"journalctl {_end_in_words(code)}{reason}")

    def _finished(self, child: Child) -> None:
        self.ended, self.problem = True, ""
        while words := child.words():
            self._report(words)
        self._end_child()
        if self._refused:
            self.problem = (
                f"of what journalctl wrote, lines that are not entries are left out: {self._refused}, the first of "
                f"which is {self._first_refused!r}"
            )
        elif self._has_skipped:
            self.problem = "entries at which journalctl ended each time are left out (the log has their cursors)"

    @property
    def _most_attempts(self) -> int:
        return ATTEMPTS_PAST_OBSTACLE if self._obstacle.attempts else ATTEMPTS_ONCE

    def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            self._bell.unwatch(child.output)
            self._bell.unwatch(child.errors)
            child.end()

    def _failed(self, problem: str) -> None:
        if self._clock.monotonic() - self._started >= LONG_RUN:
            self._failures = 0
        self._failures += 1
        self._metrics.journalctl_failures += 1
        delay = BACKOFF.init if self._obstacle.skipped else BACKOFF.delay(self._failures)
        self._next_start = self._clock.monotonic() + delay
        if problem != self.problem:
            logger.error("%s: %s; it is started again in %.0f s", self._settings.where, problem, delay, extra=EACH)
        self.problem = problem
        self.ended = self._settings.once and self._failures >= self._most_attempts


def _end_in_words(code: int | None) -> str:
    """`code`: None if it has closed its output, but did not end."""
    if code is None:
        return "closed its output and did not end, so it is killed"
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:  # of realtime signals only the first and the last have names
        return f"was killed by signal {-code}"
