"""The monitoring group: the sink commits offsets only so that Kafka's tools show its lag.

The sink never reads them (it resumes from checkpoint and marks), so a commit may fail, and must not delay a batch: it
starts after one batch and is checked after the next.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.kafka.offsets import Offsets, Partition

Answer = TypeVar("Answer")


class Committer(Protocol):
    """Commits offsets of a consumer group. `Admin` is the implementation."""

    def commit(self, group: str, offsets: Offsets) -> Callable[[bool], bool]:
        """Start a commit and return at once. The returned function returns True if the commit is done; called with
        True, it waits for that. Both raise SinkError."""
        ...


class MonitoringGroup:
    """Commits the ends of the last batch. Used by one thread at a time. Errors of Kafka are not raised; the first one
    in a row is logged."""

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
        self._ends: Offsets = {}
        self._sent: dict[Partition, int] = {}  # committed, and not refused by Kafka

    def commit(self, ends: Offsets) -> None:
        """Commit the `ends` of all partitions; while the previous commit is pending, only note them. Does nothing if
        the group has no name."""
        self._ends = ends
        if self._name and self._settled(wait=False):
            self._begin_commit()

    def close(self) -> None:
        """Commit the last ends, and wait for the result as long as the committer does."""
        if self._name and self._settled(wait=True):
            self._begin_commit()
            self._settled(wait=True)

    def _begin_commit(self) -> None:
        changed = {partition: end for partition, end in self._ends.items() if self._sent.get(partition) != end}
        if changed:
            self._pending = self._try(lambda: self._committer.commit(self._name, changed))
            self._sent |= changed if self._pending else {}

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
        """Return the result, None after an error."""
        try:
            return action()
        except SinkError as error:
            self._count()
            if not self._failed:
                self._warn(f"{error}; rows still land, but tools that show this group's lag show an outdated one")
            self._failed = True
            self._sent.clear()
            return None
