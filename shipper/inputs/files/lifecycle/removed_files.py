"""Track open files that were deleted: they keep their disk space until they are closed."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import count

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.waiting_sizes import WaitingSizes

MAX_CLOSED = 100  # closed files that a heap may still contain


class RemovedFiles:
    """The deleted open files. Used by the reading thread only. A program with such a file open may still write to it,
    so the sizes are checked in turn."""

    def __init__(self, clock: Clock) -> None:
        self._sizes: dict[Harvester, int] = {}
        self._bytes: Counter[str] = Counter()  # by input id
        self._by_age: defaultdict[str, list[tuple[float, int, Harvester]]] = defaultdict(list)  # heaps, by input id
        self._grown: set[str] = set()  # input ids
        self._number = count()  # harvesters cannot be compared
        self._looks = WaitingSizes(clock, self._look)

    def __iter__(self) -> Iterator[Harvester]:
        return iter(self._sizes)

    def add(self, harvester: Harvester) -> bool:
        """Add a file; return False if it was there already."""
        if harvester in self._sizes:
            return False
        self._look(harvester)
        by_age = self._by_age[harvester.source.input_id]
        if len(by_age) > 2 * len(self._sizes) + MAX_CLOSED:
            by_age[:] = [item for item in by_age if item[2] in self._sizes]
            heapq.heapify(by_age)
        heapq.heappush(by_age, (harvester.opened_at, next(self._number), harvester))
        return True

    def forget(self, harvester: Harvester) -> None:
        size = self._sizes.pop(harvester, None)
        if size is None:
            return
        input_id = harvester.source.input_id
        self._bytes[input_id] -= size
        by_age = self._by_age[input_id]
        while by_age and by_age[0][2] not in self._sizes:
            heapq.heappop(by_age)
        if not by_age:
            del self._by_age[input_id], self._bytes[input_id]
            self._grown.discard(input_id)

    @property
    def next_look(self) -> float:
        """Monotonic time of the next `look`."""
        if self._grown:
            return 0.0
        return self._looks.next_look if self._sizes else float("inf")

    def check_sizes(self) -> set[str]:
        """Check the sizes of files whose turn it is, if that is due. Return the inputs whose files take more space than
        at the last call."""
        self._looks.check(self._sizes)
        grown, self._grown = self._grown, set()
        return grown

    def beyond(self, input_id: str, budget: int) -> Iterator[Harvester]:
        """Yield the files, longest open first, without which the others of the input take at most `budget` bytes. The
        caller closes each."""
        while input_id in self._by_age and self._bytes[input_id] > budget:
            yield self._by_age[input_id][0][2]

    def size_of(self, harvester: Harvester) -> int:
        """Return the size of a file; if it cannot be read now, the last known one."""
        with suppress(OSError):
            return harvester.content.size
        return self._sizes.get(harvester, harvester.size)

    def on_devices(self, devices: Collection[int]) -> list[Harvester]:
        return [harvester for harvester in self._sizes if harvester.key[1] in devices]

    def _look(self, harvester: Harvester) -> None:
        known, status = self._sizes.get(harvester, 0), harvester.status_if_known()
        self._sizes[harvester] = size = max(known, harvester.size) if status is None else status.st_size
        if size > known:
            self._grown.add(harvester.source.input_id)
        self._bytes[harvester.source.input_id] += size - known
