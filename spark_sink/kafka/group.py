"""Offsets for people: the group of which Kafka's ordinary tools show the lag.

The sink never reads them (its checkpoint and its marks are the truth), so a commit may fail, and must not hold up a
batch: it is begun after one batch and looked at after the next.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from spark_sink.errors import SinkError
from spark_sink.kafka.offsets import Offsets, Partition

Answer = TypeVar("Answer")


class Committer(Protocol):
    """`Admin` is one: begins, and gives a function that says whether it is done (and raises SinkError)."""

    def commit(self, group: str, offsets: Offsets) -> Callable[[bool], bool]: ...


class Group:
    """One thread at a time. Nothing here raises for Kafka's sake; the first failure in a row is told."""

    def __init__(
        self, committer: Committer, name: str, warn: Callable[[str], None], failed: Callable[[], None] = lambda: None
    ) -> None:
        """`failed` is called for each failure, `warn` for the first in a row."""
        self._committer = committer
        self._name = name
        self._warn = warn
        self._count = failed
        self._failed = False
        self._under_way: Callable[[bool], bool] | None = None
        self._wanted: Offsets = {}
        self._given: dict[Partition, int] = {}  # what Kafka was told, and has not refused

    def commit(self, ends: Offsets) -> None:
        """`ends` of all partitions. While the commit before is under way they are noted; without a name, nothing."""
        self._wanted = ends
        if self._name and self._settled(wait=False):
            self._begin()

    def close(self) -> None:
        """Commits what is left, and waits for it as long as the committer waits for an answer."""
        if self._name and self._settled(wait=True):
            self._begin()
            self._settled(wait=True)

    def _begin(self) -> None:
        news = {at: end for at, end in self._wanted.items() if self._given.get(at) != end}
        if news:
            self._under_way = self._try(lambda: self._committer.commit(self._name, news))
            self._given |= news if self._under_way else {}

    def _settled(self, wait: bool) -> bool:
        under_way = self._under_way
        if under_way is None:
            return True
        outcome = self._try(lambda: under_way(wait))
        if outcome is False:
            return False
        self._under_way = None
        if outcome:
            self._failed = False
        return True

    def _try(self, action: Callable[[], Answer]) -> Answer | None:
        """None where it failed."""
        try:
            return action()
        except SinkError as error:
            self._count()
            if not self._failed:
                self._warn(f"{error}; rows land all the same, but tools that show this group's lag show an old one")
            self._failed = True
            self._given.clear()
            return None
