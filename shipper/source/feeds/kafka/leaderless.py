"""Which partitions have had no leader for long.

A partition has none while another broker is elected for some seconds, and while the only broker that has it is
restarted: neither is a problem yet. One that stays so is not read, and the client reports nothing of it.
"""

from collections.abc import Callable, Collection, Iterable

from log_shipper.shipper.source.feeds.kafka.brokers_away import LONG
from log_shipper.shipper.source.feeds.kafka.partition import Place

MOST_NAMES = 20  # in a message


class Leaderless:
    """`for_long`: as of the last note."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._since: dict[Place, float] = {}  # when each was seen first without a leader
        self.for_long: frozenset[Place] = frozenset()

    @property
    def now(self) -> frozenset[Place]:
        return frozenset(self._since)

    def note(self, places: Collection[Place]) -> None:
        """Note which partitions have no leader now; all others have one, or are no concern of this member."""
        now = self._monotonic()
        self._since = {place: self._since.get(place, now) for place in places}
        self.for_long = frozenset(place for place, since in self._since.items() if now - since >= LONG)


def named(places: Iterable[Place]) -> str:
    """Return the names of partitions, of the first ones if they are many."""
    names = [f"{topic}[{number}]" for topic, number in sorted(places)]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
