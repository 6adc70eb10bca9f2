"""How long files wait for their pods: once for each pod, not for each event."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.kubernetes.objects import Pod
from log_shipper.shipper.processor.metadata.pod_paths import PodPlace

if TYPE_CHECKING:
    from log_shipper.shipper.kubernetes.cluster import Cluster

MOST_CACHED = 10_000
Value = TypeVar("Value")


class PodWaits:
    """`longest` is in seconds."""

    def __init__(self, cluster: Cluster, longest: float, clock: Clock) -> None:
        self._cluster = cluster
        self._longest = longest
        self._clock = clock
        self._settled: dict[str, None] = {}  # paths that do not wait, or not any more; the oldest first
        self._deadlines: dict[str, float] = {}  # by pod, likewise

    def is_settled(self, path: str) -> bool:
        return path in self._settled or not self._longest

    def can_wait(self) -> bool:
        """Return False where no pod can be awaited. After True the loop is woken by the next change."""
        return self._cluster.can_be_awaited()

    def settle(self, path: str) -> None:
        remember(self._settled, path, None)

    def waits_until(self, path: str, place: PodPlace, pod: Pod | None) -> float:
        """Return the monotonic time until which the file waits for its pod, which is known by now if it is not None:
        that of all files of the pod, which may be over. 0 if nothing is to be waited for any more."""
        if pod is not None and self._cluster.has_all_of(pod):
            self.settle(path)
            return 0.0
        key = place.uid or (f"{place.namespace}/{place.pod}" if place.pod else place.id)
        deadline = self._deadlines.get(key)
        if deadline is None:
            deadline = self._clock.monotonic() + self._longest
            remember(self._deadlines, key, deadline)
        return deadline


def remember(known: dict[str, Value], key: str, value: Value) -> None:
    """Keep a value, and no more than so many."""
    if key not in known and len(known) >= MOST_CACHED:
        del known[next(iter(known))]
    known[key] = value
