"""`dns`: looks up names of addresses, or addresses of names.

Look-ups run on threads. Events wait as long as answers arrive, and without any at most `timeout` per name server. So an
unavailable name server costs this once, and the failure is cached; one that is busy may answer any number of queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from log_shipper.config.text.checks import Finding
from log_shipper.config.text.units import Duration
from log_shipper.shipper.options.dns import FailureCacheConfig, SuccessCacheConfig, nameserver
from log_shipper.shipper.options.processors import ProcessorConfig
from log_shipper.shipper.processor.base import AsyncProcessor, ProcessorContext
from log_shipper.shipper.processor.events import Events
from log_shipper.shipper.processor.fields import MISSING, FieldError, Path, path_of
from log_shipper.shipper.processor.metadata.lookups import Lookup, LookupResult, Lookups

_KINDS = {"a": "A", "aaaa": "AAAA", "ptr": "PTR", "reverse": "PTR", "txt": "TXT"}


def parse_kind(text: str) -> str:
    """Return the record type. Raises ValueError."""
    kind = _KINDS.get(text.lower())
    if kind is None:
        raise ValueError(f"{text!r} must be one of: reverse (or PTR), A, AAAA, TXT")
    return kind


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsConfig(ProcessorConfig):
    """Looks up names of addresses, or addresses of names, in DNS."""

    name: ClassVar = "dns"
    example: ClassVar = "dns: {type: reverse, fields: {source.ip: source.domain}}"
    awaits: ClassVar = True
    kind: Annotated[str, parse_kind] = field(
        metadata={"key": "type", "doc": "The type of query: reverse (or PTR), A, AAAA, TXT."}
    )
    fields: dict[str, str] = field(
        metadata={"doc": "The target field of the answer, by the field with the address (or name)."}
    )
    action: Literal["append", "replace"] = field(
        default="append", metadata={"doc": "Whether the answer is appended to an existing target or replaces it."}
    )
    nameservers: tuple[str, ...] = field(
        default=(),
        metadata={
            "doc": "Name servers in order of preference, as address or address:port; those of "
            "/etc/resolv.conf when absent. The system looks up a name instead of an address."
        },
    )
    timeout: Duration = field(default=0.5, metadata={"doc": "How long to wait for each name server."})
    transport: Literal["udp", "tls"] = field(
        default="udp", metadata={"doc": "Plain DNS (udp), or DNS over TLS (tls) on port 853."}
    )
    tag_on_failure: tuple[str, ...] = field(default=(), metadata={"doc": "Tags for an event whose look-up fails."})
    order: Literal["kept", "free"] = field(
        default="kept",
        metadata={"doc": "Whether later events of a file wait for a pending look-up (kept) or overtake it (free)."},
    )
    success_cache: SuccessCacheConfig = field(default_factory=SuccessCacheConfig)
    failure_cache: FailureCacheConfig = field(default_factory=FailureCacheConfig)

    def check(self) -> Iterator[Finding]:
        if not self.fields:
            yield "fields", "must not be empty"
        for source, target in self.fields.items():
            if not isinstance(target, str) or not target:
                yield f"fields.{source}", "must be the name of a field"
        if self.timeout <= 0:
            yield "timeout", "must be more than 0"
        for index, address in enumerate(self.nameservers):
            try:
                nameserver(address)
            except ValueError as error:
                yield f"nameservers[{index}]", str(error)

    def build(self, context: ProcessorContext) -> AsyncProcessor:
        # Imported late: dnspython takes longer to load than all other modules.
        from log_shipper.shipper.processor.metadata.resolver import Resolver, Workers

        resolver = Resolver(self.kind, self.nameservers, self.timeout, tls=self.transport == "tls")
        caches = self.success_cache, self.failure_cache
        lookups = Lookups(resolver, Workers(MAX_AT_ONCE).start, *caches, context.clock, context.wake)
        return Dns(self, lookups, context)


MAX_AT_ONCE = 16  # parallel look-ups of one processor
TAGS: Path = ("tags",)
Item = tuple[int, Path, Lookup]  # event, target


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
        self.lookups.settle_arrived()
        items: list[Item] = []
        lookups: dict[str, Lookup] = {}  # most batches have few distinct names
        for source, target in self._fields:
            for index in indices:
                name = events.get(index, source)
                if isinstance(name, str):
                    if name not in lookups:
                        lookups[name] = self.lookups.look_up(name)
                    items.append((index, target, lookups[name]))
        return PendingDnsLookups(self, items, self._clock.monotonic())

    def write(self, events: Events, index: int, target: Path, answer: LookupResult) -> None:
        try:
            if not answer.values:
                raise FieldError("no answer")
            events.put(index, target, self._value(events.get(index, target), answer))
        except FieldError:
            self._tag(events, index)

    def _value(self, before: object, answer: LookupResult) -> object:
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
        self._dns.lookups.settle_arrived()
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
