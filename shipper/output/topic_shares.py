"""Limits the share of the queue per topic, where topics depend on events: a topic that accepts no records must not fill
the queue, or it would hold up the files of all others."""

from dataclasses import dataclass

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Batch, Source, Topics

# Of the queue's events and bytes. A working topic needs room for records sent until the first report. One that never
# worked gets little: a missing right or a wrong name affects many topics at once.
SHARE_OF_WORKING = 1 / 8
SHARE_OF_OTHERS = 1 / 64
WORKS_FOR = 5.0  # seconds after a delivery
MAX_SHARES = 1000  # events determine the number of topics


@dataclass(slots=True)
class _Share:
    events: int = 0
    bytes: int = 0
    delivered: float = float("-inf")  # monotonic time


class TopicShares:
    """Counts published, unsettled batches. A file belongs to the topic of its last batch; a batch with several topics
    counts for its file alone, whose order would be held up in any case."""

    def __init__(self, max_events: int, max_bytes: int, clock: Clock) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._clock = clock
        self._shares: dict[str, _Share] = {}  # by topic, or by file id
        self._names: dict[str, str] = {}  # by file id, while the file has unsettled batches
        self._unsettled: dict[str, int] = {}  # batches, by file id

    def add(self, batch: Batch, topics: Topics) -> None:
        file_id = batch.source.file_id
        name = topics.shared or file_id
        share = self._shares.get(name) or self._new_share(name)
        share.events += batch.events
        share.bytes += batch.cost
        self._names[file_id] = name
        self._unsettled[file_id] = self._unsettled.get(file_id, 0) + 1

    def remove(self, batch: Batch, topics: Topics) -> None:
        """Stop counting a delivered batch."""
        file_id = batch.source.file_id
        name = topics.shared or file_id
        share = self._shares[name]
        share.events -= batch.events
        share.bytes -= batch.cost
        share.delivered = self._clock.monotonic()
        self._unsettled[file_id] -= 1
        if not self._unsettled[file_id]:
            del self._unsettled[file_id], self._names[file_id]
            if name == file_id:
                del self._shares[name]

    def takes_more(self, source: Source) -> bool:
        """Return True if more of this file may be read."""
        share = self._shares.get(self._names.get(source.file_id, ""))
        if share is None:
            return True
        part = SHARE_OF_WORKING if self._works(share) else SHARE_OF_OTHERS
        return self._is_below(share, part)

    @property
    def awaits_reports(self) -> bool:
        """Return True if a working topic has its full share: the next report makes room."""
        shares = self._shares.values()
        return any(self._works(share) and not self._is_below(share, SHARE_OF_WORKING) for share in shares)

    def _new_share(self, name: str) -> _Share:
        if len(self._shares) >= MAX_SHARES:
            self._shares = {name: share for name, share in self._shares.items() if share.events or self._works(share)}
        share = self._shares[name] = _Share()
        return share

    def _works(self, share: _Share) -> bool:
        return self._clock.monotonic() - share.delivered < WORKS_FOR

    def _is_below(self, share: _Share, part: float) -> bool:
        return share.events < self._max_events * part and share.bytes < self._max_bytes * part
