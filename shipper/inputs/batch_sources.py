"""Combine the sources that the loop reads in turn: the files of all inputs, or standard input, and the feeds."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Protocol

from log_shipper.runtime.logs.folding import EACH
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.inputs.base import BatchSource, ReadsToEnd, SourceStatus
from log_shipper.shipper.inputs.feed import Drainable, FeedInput
from log_shipper.shipper.inputs.observation import Observation

logger = logging.getLogger(__name__)

RETRY_AFTER = 10.0  # seconds
RECEIVE_SECONDS = 5.0  # for a feed removed by a reload, to receive what the system has taken for it
HANDOVER_RETRY = 0.1  # seconds; while a feed is ending that may hold a resource, such as a port, that another one needs
MakeFeed = Callable[[FeedInput], BatchSource]


class FileSource(BatchSource, Protocol):
    """The crawler, or standard input."""

    def observe(self) -> Observation:
        """Return the figures for the monitor. Any thread may call it."""


@dataclass(slots=True)
class _Running:
    """A feed, and its predecessor. `feed_input`: the input to be read, None for nothing. `ending` is drained, for which
    it receives until `receives_until` (None: it was stopped), and its last batches are awaited before the next one
    reads. `problem`: why none could be started, which is retried at `retry_at`. `changed`: when it was configured.
    Times are monotonic."""

    feed_input: FeedInput | None
    feed: BatchSource | None
    ending: BatchSource | None = None
    receives_until: float | None = None
    changed: float = float("-inf")
    problem: str = ""
    retry_at: float = 0.0

    @property
    def feeds(self) -> tuple[BatchSource, ...]:
        return tuple(feed for feed in (self.feed, self.ending) if feed is not None)

    @property
    def is_due(self) -> bool:
        """Return True if the feed is to be started."""
        return self.feed_input is not None and not self.feeds

    @property
    def reading(self) -> tuple[BatchSource, ...]:
        """Return the feeds that were not stopped."""
        return self.feeds if self.receives_until is not None else tuple(filter(None, (self.feed,)))


class BatchSources:
    """All sources. Used by the reading thread only, except `observe`. A feed that cannot start ends the start of the
    agent; a failed reload changes nothing."""

    def __init__(
        self, files: FileSource, feed_inputs: Sequence[FeedInput], maker: Callable[[], MakeFeed], clock: Clock
    ) -> None:
        """Take the sources. `maker` is called once a feed is configured. Raises StartError."""
        self.files = files
        self._maker = maker
        self._clock = clock
        self._running: dict[str, _Running] = {}
        self._next = 0
        try:
            for feed_input in feed_inputs:
                self._running[feed_input.id] = _Running(feed_input, self._make(feed_input))
        except StartError:
            self._stop_feeds()
            raise

    @property
    def finished(self) -> bool:
        return self.files.finished and all(feed.finished for feed in self._all)

    def step(self) -> None:
        self.files.step()
        for running in list(self._running.values()):
            self._advance(running)
            for feed in running.feeds:
                feed.step()

    def in_turn(self) -> Sequence[BatchSource]:
        """Return the sources to be read now, starting with the next one each time."""
        if not self._running:
            return (self.files,)
        sources = [self.files, *(feed for running in self._running.values() for feed in running.reading)]
        self._next = (self._next + 1) % len(sources)
        return [*sources[self._next :], *sources[: self._next]]

    def next_wake(self, *, reading: bool) -> float:
        wait = self.files.next_wake(reading=reading)
        if not self._running:
            return wait
        wait = min([wait, *(feed.next_wake(reading=reading) for feed in self._all)])
        retries = [running.retry_at for running in self._running.values() if running.is_due]
        return max(min([wait, *(retry - self._clock.monotonic() for retry in retries)]), 0.0)

    def status(self) -> SourceStatus:
        return SourceStatus.combine([self.files.status(), *map(_together, self._running.values())])

    def observe(self) -> Observation:
        """Return the figures of all sources for the monitor. Any thread may call it."""
        statuses = {input_id: _together(running) for input_id, running in self._running.copy().items()}
        return Observation.combine([self.files.observe(), _observation(statuses)])

    def replace_feeds(self, feed_inputs: Sequence[FeedInput]) -> None:
        """Read these feeds from now on. One whose input is the same object is left alone. A changed one is drained
        (Drainable) and stopped, and its successor begins when all its events are acknowledged."""
        wanted = {item.id: item for item in feed_inputs}
        for input_id, running in self._running.items():
            self._configure(running, wanted.pop(input_id, None))
        now = self._clock.monotonic()
        self._running |= {input_id: _Running(item, None, changed=now) for input_id, item in wanted.items()}

    def read_to_end(self, seconds: float) -> bool:
        """Read all sources that support it to their ends (ReadsToEnd)."""
        reading = [source for source in (self.files, *self._all) if isinstance(source, ReadsToEnd)]
        done = [source.read_to_end(seconds) for source in reading]  # each begins at its first call
        return all(done)

    def stop(self) -> None:
        self._stop_feeds()
        self.files.stop()

    @cached_property
    def _make(self) -> MakeFeed:
        return self._maker()

    @property
    def _all(self) -> list[BatchSource]:
        return list(chain.from_iterable(running.feeds for running in self._running.values()))

    def _configure(self, running: _Running, feed_input: FeedInput | None) -> None:
        if feed_input is running.feed_input:
            return
        running.feed_input, running.problem, running.retry_at = feed_input, "", 0.0
        running.changed = self._clock.monotonic()
        if running.feed is not None:
            running.ending, running.feed = running.feed, None
            running.receives_until = running.changed + RECEIVE_SECONDS
            self._stop_if_drained(running, running.ending)

    def _stop_if_drained(self, running: _Running, ending: BatchSource) -> None:
        """Stop a feed once it is drained, however long the output is blocked: only the feed has this data."""
        if running.receives_until is not None:
            left = max(running.receives_until - self._clock.monotonic(), 0.0)
            if not isinstance(ending, Drainable) or ending.drain(left):
                ending.stop()
                running.receives_until = None

    def _advance(self, running: _Running) -> None:
        """Start the configured feed, once its predecessor is done."""
        if running.ending is not None:
            self._stop_if_drained(running, running.ending)
        if running.ending is not None and running.ending.finished:
            running.ending = None
        if running.is_due:
            self._begin(running)
        if not running.feeds and running.feed_input is None:
            self._running = {name: other for name, other in self._running.items() if other is not running}

    def _begin(self, running: _Running) -> None:
        assert running.feed_input is not None, "it is due"
        now = self._clock.monotonic()
        if now < running.retry_at:
            return
        try:
            running.feed, running.problem = self._make(running.feed_input), ""
        except StartError as error:
            if now < running.changed + RECEIVE_SECONDS and any(
                other.ending is not None for other in self._running.values()
            ):
                running.retry_at = now + HANDOVER_RETRY  # its predecessor may still be releasing what it needs
                return
            if str(error) != running.problem:
                logger.error("%s; retrying every %d s", error, RETRY_AFTER, extra=EACH)
            running.problem, running.retry_at = str(error), now + RETRY_AFTER

    def _stop_feeds(self) -> None:
        for feed in self._all:
            feed.stop()


def _together(running: _Running) -> SourceStatus:
    status = SourceStatus.combine([feed.status() for feed in running.feeds])
    name = running.feed_input.id if running.feed_input is not None else ""
    return replace(status, problems={**status.problems, name: running.problem}) if running.problem else status


def _observation(statuses: Mapping[str, SourceStatus]) -> Observation:
    return Observation(
        open_of_input={input_id: status.files_open for input_id, status in statuses.items()},
        behind_of_feed={input_id: status.bytes_behind + status.bytes_waiting for input_id, status in statuses.items()},
        problems={name: words for status in statuses.values() for name, words in status.problems.items()},
    )
