"""`rate_limit`: limits the rate of events, with a token bucket per combination of field values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from log_shipper.config.text.checks import Finding, parses
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import Processor, ProcessorContext
from log_shipper.shipper.processor.events import Events
from log_shipper.shipper.processor.fields import MISSING, path_of, roots

_SECONDS = {"s": 1, "m": 60, "h": 3600}


def parse_rate(text: str) -> tuple[float, float]:
    """Return events and seconds of "10/s", "600/m" or "5000/h". Raises ValueError."""
    number, slash, unit = (part.strip() for part in text.partition("/"))
    try:
        events = float(number)
    except ValueError:
        events = -1.0
    if not slash or unit not in _SECONDS or not 0 <= events < float("inf"):
        raise ValueError(f"{text!r} is not a rate; write 10/s, 600/m or 5000/h")
    return events, float(_SECONDS[unit])


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageConfig:
    num_calls: int = field(
        default=10_000, metadata={"min": 1, "doc": "The number of events after which full buckets are freed."}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenBucketConfig:
    burst_multiplier: float = field(
        default=1.0, metadata={"min": 0.0, "doc": "The maximum burst after a quiet period, as a multiple of the limit."}
    )
    gc: GarbageConfig = field(default_factory=GarbageConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmConfig:
    token_bucket: TokenBucketConfig = field(default_factory=TokenBucketConfig)


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimitConfig(ProcessorConfig):
    """Drops events above a rate."""

    name: ClassVar = "rate_limit"
    example: ClassVar = "rate_limit: {limit: 100/s, fields: [service]}"
    limit: str = field(
        metadata={"check": parses(parse_rate), "doc": "The maximum rate, such as 10/s, 600/m or 5000/h."}
    )
    fields: tuple[str, ...] = field(
        default=(),
        metadata={"doc": "Fields whose combination of values has its own limit; one limit for all events when absent."},
    )
    algorithm: AlgorithmConfig = field(default_factory=AlgorithmConfig)

    def remarks(self) -> Iterator[Finding]:
        if not self.when and not parse_rate(self.limit)[0]:
            yield "limit", f"{self.limit} drops every event that reaches it; set a rate, or use drop_event with 'when'"

    def build(self, context: ProcessorContext) -> Processor:
        return RateLimit(self, context.clock)


Key = tuple[str, ...]


@dataclass(slots=True)
class Bucket:
    tokens: float
    filled: float  # monotonic time


class RateLimit:
    """Buckets begin full, so a burst passes at once. Full buckets are freed, so memory is bounded by the rate."""

    def __init__(self, config: RateLimitConfig, clock: Clock) -> None:
        events, seconds = parse_rate(config.limit)
        self._rate = events / seconds
        self._first = events * config.algorithm.token_bucket.burst_multiplier
        self._max_tokens = max(self._first, 1.0)  # a rate below one must be able to save up a whole token
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
        bucket.tokens = max(bucket.tokens, min(bucket.tokens + (now - bucket.filled) * self._rate, self._max_tokens))
        bucket.filled = now

    def _free_full(self, now: float) -> None:
        self._since_freed = 0
        for bucket in self._buckets.values():
            self._fill(bucket, now)
        self._buckets = {key: bucket for key, bucket in self._buckets.items() if bucket.tokens < self._first}
