"""Track open files that were deleted: they keep their disk space until they are closed."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from contextlib import suppress

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.waiting_sizes import WaitingSizes


class RemovedFiles:
    """The deleted open files. Used by the reading thread only. A program with such a file open may still write to it,
    so the sizes are checked in turn."""

    def __init__(self, clock: Clock) -> None:
        self._sizes: dict[Harvester, int] = {}
        self._unread: defaultdict[str, dict[Harvester, int]] = defaultdict(dict)  # bytes when last seen, by input id
        self._bytes: Counter[str] = Counter()  # the sum of these
        self._grown: set[str] = set()  # input ids
        self._looks = WaitingSizes(clock, self._look)

    def __iter__(self) -> Iterator[Harvester]:
        return iter(self._sizes)

    def add(self, harvester: Harvester) -> bool:
        """Add a file; return False if it was there already."""
        if harvester in self._sizes:
            return False
        self._look(harvester)
        return True

    def forget(self, harvester: Harvester) -> None:
        if self._sizes.pop(harvester, None) is None:
            return
        input_id = harvester.source.input_id
        self._bytes[input_id] -= self._unread[input_id].pop(harvester)
        if not self._unread[input_id]:
            del self._unread[input_id], self._bytes[input_id]
            self._grown.discard(input_id)

    @property
    def next_look(self) -> float:
        """Monotonic time of the next `check_sizes`."""
        if self._grown:
            return 0.0
        return self._looks.next_look if self._sizes else float("inf")

    def check_sizes(self) -> set[str]:
        """Check the sizes of files whose turn it is, if that is due. Return the inputs whose files have more unread
        bytes than at the last call."""
        self._looks.check(self._sizes)
        grown, self._grown = self._grown, set()
        return grown

    def beyond(self, input_id: str, budget: int) -> Iterator[Harvester]:
        """Yield the files with unread bytes, longest open first, without which the others of the input have at most
        `budget` of them. The caller closes each."""
        if self._bytes[input_id] <= budget:
            return
        oldest_first = sorted(self._unread[input_id], key=lambda harvester: harvester.opened_at)
        for harvester in oldest_first:
            self._count(harvester)  # it may have been read since
        for harvester in oldest_first:
            if self._bytes[input_id] <= budget:
                return
            if self._unread[input_id][harvester]:
                yield harvester

    def size_of(self, harvester: Harvester) -> int:
        """Return the size of a file on disk; if it cannot be read now, the last known one."""
        with suppress(OSError):
            return harvester.content.size
        return self._sizes.get(harvester, 0 if harvester.content.compressed else max(harvester.size, harvester.offset))

    def on_devices(self, devices: Collection[int]) -> list[Harvester]:
        return [harvester for harvester in self._sizes if harvester.key[1] in devices]

    def _look(self, harvester: Harvester) -> None:
        known = self._unread[harvester.source.input_id].get(harvester, 0)
        self._sizes[harvester] = self.size_of(harvester)
        if self._count(harvester) > known:
            self._grown.add(harvester.source.input_id)

    def _count(self, harvester: Harvester) -> int:
        """Return the number of unread bytes of the file, as far as its size is known."""
        input_id, now = harvester.source.input_id, harvester.bytes_behind(harvester.offset, self._sizes[harvester])
        self._bytes[input_id] += now - self._unread[input_id].get(harvester, 0)
        self._unread[input_id][harvester] = now
        return now
