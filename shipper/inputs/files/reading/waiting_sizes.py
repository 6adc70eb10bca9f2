"""Check the sizes of files that wait to be read: if one is truncated or deleted by then, this much is lost.

A file's size shows when it is read, and so does its truncation. While the queue is full nothing is read, for hours if
Kafka is down. On a slow file system one check may take long, and thousands of files may wait: so they are checked in
turn, a limited number per second, and for a small share of the time.
"""

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import Truncated
from log_shipper.shipper.inputs.files.identity.content import size_at_least
from log_shipper.shipper.inputs.files.reading.harvester import Harvester

INTERVAL = 1.0  # seconds
MAX_FILES = 1000  # files per interval
SHARE = 0.01  # of the time


def look_at_size(harvester: Harvester) -> None:
    """Record the size of a file with unread data. Raises nothing."""
    if _may_change(harvester):
        with suppress(OSError):  # the next read reports it
            size = size_at_least(harvester.content, harvester.size)
            if size > harvester.size and harvester.is_as_read:  # else it was truncated, and this was written after
                harvester.size = size


def look_at_waiting(
    may_release: Callable[[Harvester], bool],
    count_trimmed: Callable[[Harvester], None],
    rewritten: Callable[[Harvester, Truncated], object],
    harvester: Harvester,
) -> None:
    """Record the size of a file that waits; `count_trimmed` counts what a truncation has removed from its end. A file
    with other content is ended by `rewritten`: this content may be replaced, too, before it is read. Raises
    nothing."""
    if not _may_change(harvester):
        return
    look_at_size(harvester)
    with suppress(OSError):
        size = harvester.status().st_size
        if harvester.is_as_read:
            if harvester.read_to <= size < harvester.size:
                count_trimmed(harvester)
        elif _is_sent(harvester) and may_release(harvester):
            rewritten(harvester, Truncated(size))


def _may_change(harvester: Harvester) -> bool:
    return not (harvester.policy.once or harvester.content.compressed)


def _is_sent(harvester: Harvester) -> bool:
    """Return True if everything read of the file is in batches; the rest of a pending message would be lost."""
    return harvester.is_proven and harvester.offset >= harvester.read_to and not harvester.is_removed


class WaitingSizes:
    """The sizes of waiting files. Used by the reading thread only."""

    def __init__(self, clock: Clock, look: Callable[[Harvester], None], most: int = MAX_FILES) -> None:
        self._clock = clock
        self._look = look
        self._most = most
        self._turn: deque[Harvester] = deque()
        self.next_look = 0.0  # monotonic time of the next turn

    def check(self, waiting: Iterable[Harvester]) -> None:
        """Check the files whose turn it is, if that is due. `waiting` begins the next round when all had their turn."""
        started = self._clock.monotonic()
        if started < self.next_look:
            return
        if not self._turn:
            self._turn.extend(waiting)
            if not self._turn:
                return
        now = started
        for _ in range(min(len(self._turn), self._most)):
            harvester = self._turn.popleft()
            if harvester.is_open:  # the descriptor of a closed file may be another file's now
                self._look(harvester)
            now = self._clock.monotonic()
            if now - started >= INTERVAL * SHARE:
                break
        self.next_look = now + max(INTERVAL, (now - started) / SHARE)
