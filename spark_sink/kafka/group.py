"""The monitoring group: offsets that are committed so that Kafka's ordinary tools show the sink's lag.

The sink never reads them (its checkpoint and its marks are the truth), so a commit may fail, and must not delay a
batch: it is started after one batch and checked after the next.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.kafka.offsets import Offsets, Partition

Answer = TypeVar("Answer")


class Committer(Protocol):
    """Commits offsets of a consumer group. `Admin` is the implementation."""

    def commit(self, group: str, offsets: Offsets) -> Callable[[bool], bool]:
        """Start a commit and return at once. The function that is returned returns True when the commit is done; called
        with True it waits for that. Both raise SinkError."""
        ...


class MonitoringGroup:
    """Commits the ends of the last batch. Used by one thread at a time. Raises nothing when Kafka fails; the first
    failure in a row is logged."""

    def __init__(
        self, committer: Committer, name: str, warn: Callable[[str], None], failed: Callable[[], None] = lambda: None
    ) -> None:
        """`failed` is called for each failure, `warn` for the first in a row."""
        self._committer = committer
        self._name = name
        self._warn = warn
        self._count = failed
        self._failed = False
        self._pending: Callable[[bool], bool] | None = None
        self._wanted: Offsets = {}
        self._given: dict[Partition, int] = {}  # was committed, and Kafka has not refused it

    def commit(self, ends: Offsets) -> None:
        """Commit the `ends` of all partitions; while the previous commit is pending, only note them. Without a name of
        the group, do nothing."""
        self._wanted = ends
        if self._name and self._settled(wait=False):
            self._begin_commit()

    def close(self) -> None:
        """Commit the last ends, and wait for that as long as the committer waits for an answer."""
        if self._name and self._settled(wait=True):
            self._begin_commit()
            self._settled(wait=True)

    def _begin_commit(self) -> None:
        changed = {partition: end for partition, end in self._wanted.items() if self._given.get(partition) != end}
        if changed:
            self._pending = self._try(lambda: self._committer.commit(self._name, changed))
            self._given |= changed if self._pending else {}

    def _settled(self, wait: bool) -> bool:
        pending = self._pending
        if pending is None:
            return True
        outcome = self._try(lambda: pending(wait))
        if outcome is False:
            return False
        self._pending = None
        if outcome:
            self._failed = False
        return True

    def _try(self, action: Callable[[], Answer]) -> Answer | None:
        """Return None where it failed."""
        try:
            return action()
        except SinkError as error:
            self._count()
            if not self._failed:
                self._warn(f"{error}; rows still land, but tools that show this group's lag show an outdated one")
            self._failed = True
            self._given.clear()
            return None
