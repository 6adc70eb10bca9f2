"""Facts about the origin of events, shared by all events of a file, which may change while it is read."""

from collections.abc import Callable, Sequence
from typing import Any

from log_shipper.shipper.event import Constants, Doc
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.processor.events import Event, Events, all_of
from log_shipper.shipper.processor.fields import MISSING, Path, ProcessorError, roots


class Facts:
    """The facts at one time; a new object only when something has changed, so that a file's constants are derived once
    for each. `owner` is the Sharing of the processor, not the processor, which keeps its facts: in a cycle it would
    outlive a reload, and with it the watcher of a service (the collector skips objects that a reload saw)."""

    __slots__ = ("members", "owner")

    def __init__(self, owner: "Sharing", members: Doc) -> None:
        self.owner = owner
        self.members = members


class Sharing:
    """Calls `apply` once for all events of a file if none has its own member among those touched, otherwise per
    event."""

    def __init__(self, name: str, touches: frozenset[str], metrics: Metrics) -> None:
        self._name = name
        self._touches = touches
        self._metrics = metrics

    def shared(self, events: Events, indices: Sequence[int]) -> bool:
        return all_of(events, indices) and not events.shadows(self._touches)

    def run(self, events: Events, indices: Sequence[int], facts: Facts, apply: Callable[[Event], None]) -> None:
        if not self.shared(events, indices):
            self.event_by_event(events, indices, apply)
            return
        before = events.batch.constants
        if facts not in before.derived:
            _forget(before, facts.owner)
        events.share(facts, lambda alone: self.event_by_event(alone, (0,), apply))

    def event_by_event(self, events: Events, indices: Sequence[int], apply: Callable[[Event], None]) -> None:
        event = Event(events)
        for event.index in indices:
            try:
                apply(event)
            except ProcessorError as error:
                self._metrics.processor_failures += 1
                event.fail(self._name, str(error))


def all_lack(events: Events, indices: Sequence[int], paths: Sequence[Path]) -> bool:
    """Return True if no event has any of the fields; False if that would require testing every event."""
    return not events.shadows(roots(*paths)) and all(events.get(indices[0], path) is MISSING for path in paths)


def _forget(constants: Constants, owner: Sharing) -> None:
    """Delete earlier derived results: a file may stay open for months, and facts change."""
    for old in [facts for facts in constants.derived if isinstance(facts, Facts) and facts.owner is owner]:
        del constants.derived[old]


def leaves(members: Doc, above: Path = ()) -> list[tuple[Path, Any]]:
    """Return the values that are not objects, by path; an empty object counts as a value."""
    flat: list[tuple[Path, Any]] = []
    for name, value in members.items():
        flat += leaves(value, (*above, name)) if isinstance(value, dict) and value else [((*above, name), value)]
    return flat
