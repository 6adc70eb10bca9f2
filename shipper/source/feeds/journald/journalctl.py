"""A journalctl that is started again whenever it ends, later each time that it has given nothing."""

import logging
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

logger = logging.getLogger(__name__)

BACKOFF = Backoff(1.0, 60.0)
ATTEMPTS_ONCE = 3  # with --once
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
    """Used by the reading thread only. `problem`: why nothing is read now, empty if it is. `ended`: with `once`, all
    that there was is read, or it cannot be."""

    def __init__(
        self, settings: ReadSettings, start_at: Callable[[], str], bell: Doorbell, clock: Clock, metrics: Metrics
    ) -> None:
        """`start_at` is called before each start, and returns where to begin (arguments.py)."""
        self.problem = ""
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
        self._throttle = Throttle(clock.monotonic)

    @property
    def running(self) -> bool:
        return self._child is not None

    def step(self) -> None:
        if self._has_words and self._child is not None:
            self._has_words = False
            self._report(self._child.words())
            self._bell.watch(self._child.errors, self._words_came)
        may_start = self._child is None and not self.ended and not self._stopped
        if may_start and self._clock.monotonic() >= self._next_start:
            self._start()

    def read(self) -> list[bytes]:
        """Return lines; none if there are none for now."""
        if self._child is None or not self._has_output:
            return []
        block = self._child.read()
        if block:
            return self.lines.split(block)
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

    def works(self) -> None:
        """It has given entries."""
        if self.problem:
            logger.info("%s: journalctl reads again", self._settings.where, extra=EACH)
        self.problem, self._failures = "", 0

    def stop(self) -> None:
        self._stopped = True
        self._end_child()

    def _start(self) -> None:
        settings = self._settings
        line = command(settings.config, settings.path, self._start_at(), follow=not settings.once)
        self.lines, self._words = Lines(settings.longest), ""
        try:
            self._child = Child(line, settings.config.chroot)
        except (OSError, subprocess.SubprocessError) as error:
            self._failed(f"journalctl cannot be started ({' '.join(line)}): {error}")
            return
        logger.debug("%s: process %d is %s", settings.where, self._child.pid, " ".join(line))
        self._has_output = self._has_words = False
        self._bell.watch(self._child.output, self._output_came)
        self._bell.watch(self._child.errors, self._words_came)

    def _output_came(self) -> None:  # on the doorbell's thread
        self._has_output = True

    def _words_came(self) -> None:  # on the doorbell's thread
        self._has_words = True

    def _report(self, words: str) -> None:
        self._words = words or self._words
        if words and self._throttle.is_due():
            logger.warning("%s: journalctl reports: %s (at most one a minute)", self._settings.where, words)

    def _child_ended(self, child: Child) -> None:
        code = child.exit_code()
        if self._settings.once and code == 0:
            self.ended, self.problem = True, ""
            self._report(child.words())
            self._end_child()
            return
        words = child.words() or self._words
        self._end_child()
        how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
        self._failed(f"journalctl {how}{f': {words}' if words else ''}")

    def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            self._bell.unwatch(child.output)
            self._bell.unwatch(child.errors)
            child.end()

    def _failed(self, problem: str) -> None:
        self._failures += 1
        self._metrics.journalctl_failures += 1
        delay = BACKOFF.delay(self._failures)
        self._next_start = self._clock.monotonic() + delay
        if problem != self.problem:
            logger.error("%s: %s; it is started again in %.0f s", self._settings.where, problem, delay, extra=EACH)
        self.problem = problem
        self.ended = self._settings.once and self._failures >= ATTEMPTS_ONCE
