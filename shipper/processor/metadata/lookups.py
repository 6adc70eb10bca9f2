"""Look-ups in flight, and cached answers: all events with the same name share one look-up, while it is open and while
its answer is cached. Only `_resolve_one` runs on other threads."""

import logging
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue

from log_shipper.config.text.units import readable_duration
from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.options.processors.dns import DnsConfig
from log_shipper.shipper.processor.metadata.resolver import FAILURE, Answer

logger = logging.getLogger(__name__)


class Lookup:
    """`answer` is None until it is settled, on the reading thread."""

    __slots__ = ("answer", "expires", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.answer: Answer | None = None
        self.expires = 0.0


class Lookups:
    """`resolve` blocks; `start` runs it on another thread, which then calls `wake`."""

    def __init__(
        self,
        config: DnsConfig,
        resolve: Callable[[str], Answer],
        start: Callable[[Callable[[], None]], None],
        servers: int,
        clock: Clock,
        wake: Callable[[], None],
    ) -> None:
        self.patience = config.timeout * servers
        self._servers = ", ".join(config.nameservers) or "/etc/resolv.conf"
        self._throttle = Throttle(clock.monotonic)
        self._success, self._failure = config.success_cache, config.failure_cache
        self._resolve = resolve
        self._start = start
        self._clock = clock
        self._wake = wake
        self._open: dict[str, Lookup] = {}
        self._known: dict[str, Lookup] = {}
        self._failed: dict[str, Lookup] = {}
        self._arrived: SimpleQueue[tuple[Lookup, Answer]] = SimpleQueue()
        self.responded_at = 0.0  # when a name server responded last

    def look_up(self, name: str) -> Lookup:
        """Return the look-up of a name: a cached or open one, or one that is started now."""
        known = self._open.get(name) or self._remembered(self._known, name) or self._remembered(self._failed, name)
        if known is not None:
            return known
        lookup = self._open[name] = Lookup(name)
        self._start(partial(self._resolve_one, lookup))
        return lookup

    def take_in(self) -> None:
        """Settle the look-ups that were answered meanwhile."""
        while not self._arrived.empty():
            lookup, answer = self._arrived.get()
            if answer.no_response_reason:
                self._warn(lookup, answer.no_response_reason)
            else:
                self.responded_at = self._clock.monotonic()
            if lookup.answer is None:
                self._settle(lookup, answer)

    def give_up(self, lookup: Lookup) -> None:
        """Settle a look-up that takes too long as a failure, which is cached: otherwise each event with this name would
        wait as long."""
        if lookup.answer is None:
            self._warn(lookup, f"none of them has answered any query for {readable_duration(self.patience)}")
            self._settle(lookup, FAILURE)

    def _warn(self, lookup: Lookup, why: str) -> None:
        if self._throttle.is_due():
            logger.warning(
                "dns: no answer for %r from the name servers (%s): %s. Events continue without it, with the tags of "
                "tag_on_failure; check that the name servers can be reached",
                lookup.name,
                self._servers,
                why,
            )

    def _resolve_one(self, lookup: Lookup) -> None:
        if lookup.answer is None:  # otherwise it was given up
            self._arrived.put((lookup, self._resolve(lookup.name)))
            self._wake()

    def _settle(self, lookup: Lookup, answer: Answer) -> None:
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
