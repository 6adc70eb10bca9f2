"""Look-ups in flight, and cached answers: events with the same name share one look-up while it is open, and its answer
while it is cached. Only `_resolve_one` runs on other threads."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import Protocol

from log_shipper.config.text.units import readable_duration
from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.options.dns import FailureCacheConfig, SuccessCacheConfig

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LookupResult:
    """`values` is empty for a failure; `ttl` in seconds; `no_response_reason` is empty if a name server responded."""

    values: tuple[str, ...] = ()
    ttl: float = 0.0
    no_response_reason: str = ""


FAILURE = LookupResult()


class NameServers(Protocol):
    """The name servers. `described`: as text; `patience`: the seconds after which none will respond."""

    @property
    def described(self) -> str: ...

    @property
    def patience(self) -> float: ...

    def resolve(self, name: str) -> LookupResult:
        """Return the answer. Blocks; callable from any thread."""


class Lookup:
    """`answer` is None until it is settled, on the reading thread."""

    __slots__ = ("answer", "expires", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.answer: LookupResult | None = None
        self.expires = 0.0


class Lookups:
    """`start` runs a query on another thread, which then calls `wake`."""

    def __init__(
        self,
        servers: NameServers,
        start: Callable[[Callable[[], None]], None],
        success: SuccessCacheConfig,
        failure: FailureCacheConfig,
        clock: Clock,
        wake: Callable[[], None],
    ) -> None:
        self.patience = servers.patience
        self._servers = servers
        self._throttle = Throttle(clock.monotonic)
        self._success, self._failure = success, failure
        self._start = start
        self._clock = clock
        self._wake = wake
        self._open: dict[str, Lookup] = {}
        self._known: dict[str, Lookup] = {}
        self._failed: dict[str, Lookup] = {}
        self._arrived: SimpleQueue[tuple[Lookup, LookupResult]] = SimpleQueue()
        self.responded_at = 0.0  # time of the last response of a name server

    def look_up(self, name: str) -> Lookup:
        """Return the look-up of a name: cached, open, or started now."""
        known = self._open.get(name) or self._remembered(self._known, name) or self._remembered(self._failed, name)
        if known is not None:
            return known
        lookup = self._open[name] = Lookup(name)
        self._start(partial(self._resolve_one, lookup))
        return lookup

    def settle_arrived(self) -> None:
        """Settle look-ups answered meanwhile."""
        while not self._arrived.empty():
            lookup, answer = self._arrived.get()
            if answer.no_response_reason:
                self._warn(lookup, answer.no_response_reason)
            else:
                self.responded_at = self._clock.monotonic()
            if lookup.answer is None:
                self._settle(lookup, answer)

    def give_up(self, lookup: Lookup) -> None:
        """Settle an overdue look-up as a failure, which is cached: otherwise each event with this name would wait as
        long."""
        if lookup.answer is None:
            self._warn(lookup, f"none of them has answered a query for {readable_duration(self.patience)}")
            self._settle(lookup, FAILURE)

    def _warn(self, lookup: Lookup, why: str) -> None:
        if self._throttle.is_due():
            logger.warning(
                "dns: no response for %r from the name servers (%s): %s. Events continue without the result, "
                "tagged as tag_on_failure says. Check that the name servers are reachable",
                lookup.name,
                self._servers.described,
                why,
            )

    def _resolve_one(self, lookup: Lookup) -> None:
        if lookup.answer is None:  # otherwise given up
            self._arrived.put((lookup, self._servers.resolve(lookup.name)))
            self._wake()

    def _settle(self, lookup: Lookup, answer: LookupResult) -> None:
        lookup.answer = answer
        self._open.pop(lookup.name, None)
        now = self._clock.monotonic()
        if answer.values and self._success.enabled:
            lookup.expires = now + max(answer.ttl, self._success.min_ttl)
            _remember(self._known, lookup, self._success.capacity)
        elif not answer.values and self._failure.enabled:
            lookup.expires = now + self._failure.ttl
            _remember(self._failed, lookup, self._failure.capacity)

    def _remembered(self, cache: dict[str, Lookup], name: str) -> Lookup | None:
        lookup = cache.get(name)
        if lookup is not None and lookup.expires <= self._clock.monotonic():
            del cache[name]
            return None
        return lookup


def _remember(cache: dict[str, Lookup], lookup: Lookup, capacity: int) -> None:
    cache.pop(lookup.name, None)
    while len(cache) >= capacity:
        del cache[next(iter(cache))]  # the oldest
    cache[lookup.name] = lookup
