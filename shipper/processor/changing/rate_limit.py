"""rate_limit: a token bucket for each combination of values. An event takes a token or is dropped."""

from collections.abc import Sequence
from dataclasses import dataclass

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.options.processors.moving import RateLimitConfig, parse_rate
from log_shipper.shipper.processor.events import Events
from log_shipper.shipper.processor.fields import MISSING, path_of, roots

Key = tuple[str, ...]


@dataclass(slots=True)
class Bucket:
    tokens: float
    filled: float  # monotonic time


class RateLimit:
    """Buckets are full at first: so many events pass at once, and then as many as tokens are added. Full buckets are
    freed, so that memory is bounded by the rate."""

    def __init__(self, config: RateLimitConfig, clock: Clock) -> None:
        events, seconds = parse_rate(config.limit)
        self._rate = events / seconds
        self._first = events * config.algorithm.token_bucket.burst_multiplier
        self._most = max(self._first, 1.0)  # a rate below one must be able to save up a whole token
        self._paths = [path_of(name) for name in sorted(config.fields)]
        self._roots = roots(*self._paths)
        self._free_after = config.algorithm.token_bucket.gc.num_calls
        self._since_freed = 0
        self._clock = clock
        self._buckets: dict[Key, Bucket] = {}

    def run(self, events: Events, indices: Sequence[int]) -> None:
        now = self._clock.monotonic()
        for key, members in self._by_key(events, indices).items():
            bucket = self._buckets.setdefault(key, Bucket(self._first, now))
            self._fill(bucket, now)
            passing = min(int(bucket.tokens), len(members))
            bucket.tokens -= passing
            events.dropped.update(members[passing:])
        self._since_freed += len(indices)
        if self._since_freed >= self._free_after:
            self._free_full(now)

    def _by_key(self, events: Events, indices: Sequence[int]) -> dict[Key, Sequence[int]]:
        if not events.shadows(self._roots):
            return {self._key(events, indices[0]): indices}
        groups: dict[Key, list[int]] = {}
        for index in indices:
            groups.setdefault(self._key(events, index), []).append(index)
        return dict(groups)

    def _key(self, events: Events, index: int) -> Key:
        values = [events.get(index, path) for path in self._paths]
        return tuple(["" if value is MISSING else str(value) for value in values])

    def _fill(self, bucket: Bucket, now: float) -> None:
        bucket.tokens = max(bucket.tokens, min(bucket.tokens + (now - bucket.filled) * self._rate, self._most))
        bucket.filled = now

    def _free_full(self, now: float) -> None:
        self._since_freed = 0
        for bucket in self._buckets.values():
            self._fill(bucket, now)
        self._buckets = {key: bucket for key, bucket in self._buckets.items() if bucket.tokens < self._first}
