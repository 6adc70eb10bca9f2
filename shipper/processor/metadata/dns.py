"""dns: names of addresses, addresses of names.

Look-ups run on threads; events wait as long as answers come in, but without any no longer than `timeout` for each name
server. So a name server that is down costs this once, and then the failure is cached; one that is busy with very many
queries may answer all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from log_shipper.shipper.options.processors.dns import DnsConfig
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.events import Events
from log_shipper.shipper.processor.fields import MISSING, FieldError, Path, path_of
from log_shipper.shipper.processor.metadata.lookups import Lookup, Lookups
from log_shipper.shipper.processor.metadata.resolver import Answer, Resolver, Workers

MOST_AT_ONCE = 16  # look-ups of one processor
TAGS: Path = ("tags",)
Item = tuple[int, Path, Lookup]  # event, target


def build(config: DnsConfig, context: ProcessorContext) -> Dns:
    resolver, workers = Resolver(config), Workers(MOST_AT_ONCE)
    servers = len(resolver.servers)
    lookups = Lookups(config, resolver.resolve, workers.start, servers, context.clock, context.wake)
    return Dns(config, lookups, context)


class Dns:
    def __init__(self, config: DnsConfig, lookups: Lookups, context: ProcessorContext) -> None:
        self.keeps_order = config.order == "kept"
        self.lookups = lookups
        self._fields = [(path_of(source), path_of(target)) for source, target in config.fields.items()]
        self._appends = config.action == "append"
        self._single = config.kind == "PTR"
        self._tags = config.tag_on_failure
        self._clock = context.clock

    def look_up(self, events: Events, indices: Sequence[int]) -> PendingDnsLookups:
        self.lookups.take_in()
        items: list[Item] = []
        lookups: dict[str, Lookup] = {}  # most batches have few names
        for source, target in self._fields:
            for index in indices:
                name = events.get(index, source)
                if isinstance(name, str):
                    if name not in lookups:
                        lookups[name] = self.lookups.look_up(name)
                    items.append((index, target, lookups[name]))
        return PendingDnsLookups(self, items, self._clock.monotonic())

    def write(self, events: Events, index: int, target: Path, answer: Answer) -> None:
        try:
            if not answer.values:
                raise FieldError("no answer")
            events.put(index, target, self._value(events.get(index, target), answer))
        except FieldError:
            self._tag(events, index)

    def _value(self, before: object, answer: Answer) -> object:
        values = list(answer.values[:1] if self._single else answer.values)
        if self._appends and isinstance(before, str):
            return [before, *values]
        if self._appends and isinstance(before, list):
            return [*before, *values]
        return values[0] if self._single else values

    def _tag(self, events: Events, index: int) -> None:
        before = events.get(index, TAGS)
        tags = [] if before is MISSING else list(before) if isinstance(before, list) else [before]
        new = [tag for tag in self._tags if tag not in tags]
        if new:
            events.put(index, TAGS, tags + new)


class PendingDnsLookups:
    def __init__(self, dns: Dns, items: list[Item], started: float) -> None:
        self._dns = dns
        self._items = items
        self._started = started
        self._unanswered = [lookup for _, _, lookup in items if lookup.answer is None]

    @property
    def open(self) -> bool:
        self._dns.lookups.take_in()
        while self._unanswered and self._unanswered[-1].answer is not None:
            self._unanswered.pop()
        return bool(self._unanswered)

    @property
    def waiting(self) -> list[int]:
        return sorted({index for index, _, lookup in self._items if lookup.answer is None})

    @property
    def due(self) -> float:
        return max(self._started, self._dns.lookups.responded_at) + self._dns.lookups.patience

    def part(self, indices: Sequence[int]) -> PendingDnsLookups:
        renumbered = {old: new for new, old in enumerate(indices)}
        items = [(renumbered[index], target, lookup) for index, target, lookup in self._items if index in renumbered]
        return PendingDnsLookups(self._dns, items, self._started)

    def write(self, events: Events) -> None:
        for index, target, lookup in self._items:
            if lookup.answer is None:
                self._dns.lookups.give_up(lookup)
            if lookup.answer is not None:
                self._dns.write(events, index, target, lookup.answer)
