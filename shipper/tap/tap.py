"""A sample of the events that are handed to the output, for `shipper tap`.

While no one taps, the publisher only checks its `observer`, which is None, once per batch. A tap is a *subscription*:
the reading thread encodes the few due events, and puts them into the subscription's bounded queue. It never waits:
events for which a slow reader has no room are dropped and counted. A thread of the server takes them out.

The tap encodes a copy of the batch with its own codec: the real one is not touched.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from queue import Empty, SimpleQueue
from random import Random
from threading import Lock
from typing import Protocol

from log_shipper.config.text.globs import PathPattern, matches, parse
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import TooManyTaps
from log_shipper.shipper.event import Batch
from log_shipper.shipper.output.base import Records, Sample

MAX_TAPS = 4
MAX_RATE = 100.0  # events a second
QUEUE_EVENTS = 256
QUEUE_BYTES = 4 * 1024 * 1024
BYTES_A_SECOND = 1024 * 1024  # encoded per tap: beyond it, large events are dropped
ABANDONED = 60.0  # seconds without a reader after which a subscription ends


@dataclass(frozen=True, slots=True)
class Counts:
    """Events since the subscription began: `matching` were sent and selected, `others` were sent and not selected;
    `dropped` were due to be shown without room."""

    matching: int
    others: int
    dropped: int


class ObservedPublisher(Protocol):
    """The used part of the publisher."""

    observer: Callable[[Batch], None] | None


class EventFilter:
    """Inputs by id and files by path or glob; all events if there are none."""

    def __init__(self, targets: Sequence[str]) -> None:
        self._targets = frozenset(targets)
        self._patterns = [pattern for target in targets if (pattern := _pattern(target)) is not None]
        self._cached = lru_cache(1024)(self._includes)

    def includes(self, input_id: str, path: str) -> bool:
        return not self._targets or self._cached(input_id, path)

    def _includes(self, input_id: str, path: str) -> bool:
        return not self._targets.isdisjoint((input_id, path)) or any(
            matches(pattern, path) for pattern in self._patterns
        )


def _pattern(target: str) -> PathPattern | None:
    try:
        return parse(target, recursive=True) if target.startswith("/") else None
    except ValueError:  # a file name that is not a valid glob
        return None


class Allowance:
    """A rate limit with a burst of at most a second; an amount taken may exceed it once."""

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._capacity = max(rate, 1.0)
        self._left = self._capacity
        self._filled_at = now

    def left(self, now: float) -> float:
        self._left = min(self._left + (now - self._filled_at) * self._rate, self._capacity)
        self._filled_at = now
        return self._left

    def spend(self, amount: float) -> None:
        self._left -= amount


class Subscription:
    """`offer` is called by the reading thread, `next_sample` by one other thread."""

    def __init__(self, wanted: EventFilter, rate: float, clock: Clock, chance: Random) -> None:
        now = clock.monotonic()
        self._wanted = wanted
        self._clock = clock
        self._chance = chance
        self._events = Allowance(rate, now)
        self._bytes = Allowance(BYTES_A_SECOND, now)
        self._queue: SimpleQueue[Sample] = SimpleQueue()
        self._put_bytes = self._taken_bytes = 0  # each is written by one thread
        self._matching = self._others = self._dropped = 0
        self._taken_at = now
        self.is_open = True

    @property
    def counts(self) -> Counts:
        return Counts(self._matching, self._others, self._dropped)

    @property
    def is_abandoned(self) -> bool:
        return self._clock.monotonic() - self._taken_at > ABANDONED

    def offer(self, batch: Batch, records: Records) -> None:
        """Queue the due events of the batch. Does not block."""
        if not self._wanted.includes(batch.source.input_id, batch.source.path):
            self._others += batch.events
            return
        self._matching += batch.events
        now = self._clock.monotonic()
        due = min(math.floor(self._events.left(now)), batch.events)
        for index in sorted(self._chance.sample(range(batch.events), due)) if due > 0 else ():
            self._events.spend(1)
            if self._has_room and self._bytes.left(now) > 0:
                self._put(records(batch.part([index])))
            else:
                self._dropped += 1

    @property
    def _has_room(self) -> bool:
        return self._queue.qsize() < QUEUE_EVENTS and self._put_bytes - self._taken_bytes < QUEUE_BYTES

    def _put(self, samples: Sequence[Sample]) -> None:
        for sample in samples:
            size = len(sample.value)
            self._bytes.spend(size)
            self._put_bytes += size
            self._queue.put(sample)

    def next_sample(self, timeout: float) -> Sample | None:
        """Return the next event; None if there is none within `timeout` seconds."""
        self._taken_at = self._clock.monotonic()
        try:
            sample = self._queue.get(timeout=timeout)
        except Empty:
            return None
        self._taken_bytes += len(sample.value)
        return sample


class Tap:
    """`make_records` is called at the first subscription. `subscribe`, `unsubscribe` and `close` are callable from any
    thread."""

    def __init__(
        self,
        publisher: ObservedPublisher,
        make_records: Callable[[], Records],
        clock: Clock,
        chance: Random | None = None,
    ) -> None:
        self._publisher = publisher
        self._make_records = make_records
        self._clock = clock
        self._chance = chance or Random()
        self._lock = Lock()
        self._subscriptions: tuple[Subscription, ...] = ()  # replaced as a whole: the reading thread takes no lock
        self._records: Records | None = None
        self._is_closed = False

    def subscribe(self, wanted: EventFilter, rate: float) -> Subscription:
        """Add a subscription. Raises TooManyTaps."""
        with self._lock:
            self._set([subscription for subscription in self._subscriptions if not subscription.is_abandoned])
            if self._is_closed:
                raise TooManyTaps("the shipper is stopping or restarting; run tap again when it is up")
            if len(self._subscriptions) >= MAX_TAPS:
                raise TooManyTaps(f"all {MAX_TAPS} taps are in use; stop another `shipper tap` first")
            if self._records is None:
                self._records = self._make_records()
            subscription = Subscription(wanted, rate, self._clock, self._chance)
            self._set([*self._subscriptions, subscription])
            return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        with self._lock:
            self._set([other for other in self._subscriptions if other is not subscription])

    def close(self) -> None:
        """End all subscriptions, and allow no more."""
        with self._lock:
            self._is_closed = True
            self._set([])

    def _set(self, subscriptions: Sequence[Subscription]) -> None:
        for subscription in self._subscriptions:
            subscription.is_open = subscription in subscriptions
        self._subscriptions = tuple(subscriptions)
        self._publisher.observer = self._observe if subscriptions else None

    def _observe(self, batch: Batch) -> None:
        assert self._records is not None
        for subscription in self._subscriptions:
            subscription.offer(batch, self._records)
