"""Read the open files in turn, and act on the result of each read.

One read of one file gives one batch, so a big file cannot starve the others. A batch leaves here only when everything
that a second reading could not reproduce (a new id, a message end decided by time) is on disk.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice

from log_shipper.registry.registrar import Registrar, SaveTicket
from log_shipper.shipper.errors import Truncated
from log_shipper.shipper.event import Batch, Source
from log_shipper.shipper.inputs.files.discovery.spec import FileKey
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.pending_bytes import PendingBytes
from log_shipper.shipper.inputs.files.reading.rotation_links import RotationLinks, is_read_on
from log_shipper.shipper.inputs.files.reading.schedule import NEVER, Turn
from log_shipper.shipper.inputs.files.reading.scheduler import Scheduler
from log_shipper.shipper.inputs.files.reading.waiting_sizes import look_at_size
from log_shipper.shipper.reader.gzip_file import CompressionError

# A limit, so that acknowledgements are processed in between. Small reads are new data of many files; a single large one
# delays the others long enough, more so with processors.
READS_AT_ONCE = 32
# Maximum number of files checked for room in the pipeline before these reads; the others are checked later.
LOOKS_AT_ONCE = 256
LOOK_AGAIN = 0.02  # seconds, if there are more

ReadError = Truncated | CompressionError | OSError


@dataclass(frozen=True, slots=True)
class ReadHooks:
    """Callbacks to the owner of the files. `failed`: the file cannot be read further; returns the pending message,
    unless it is read elsewhere. `reached_end`: the file was read to its current end."""

    failed: Callable[[Harvester, ReadError], Batch | None]
    reached_end: Callable[[Harvester], None] = lambda harvester: None


class BatchReader:
    """The reader of batches. Used by the reading thread only. `running` are the open files; `takes_more` returns False
    for a file with too much data waiting in the pipeline."""

    def __init__(
        self,
        scheduler: Scheduler,
        registrar: Registrar,
        pending: PendingBytes,
        running: Mapping[FileKey, Harvester],
        takes_more: Callable[[Source], bool],
        hooks: ReadHooks,
    ) -> None:
        self.rotation_links = RotationLinks()
        self._scheduler = scheduler
        self._registrar = registrar
        self._pending = pending
        self._running = running
        self._takes_more = takes_more
        self._hooks = hooks
        self.reads = 0

    def read(self, budget: int) -> Iterator[Batch]:
        """Yield batches until no file has anything to read, or one read exceeded `budget` bytes, or a few small ones
        were made. The caller may stop at any batch. Raises nothing about files."""
        yield from self._scheduler.released()
        self._wake_waiting()
        for _ in range(READS_AT_ONCE):
            harvester = self._scheduler.next_ready() if budget > 0 else None
            if harvester is None:
                return
            for batch in self._read_one(harvester):
                budget -= batch.size
                yield batch

    def waiting(self, *, all_of_them: bool) -> Iterator[Harvester]:
        """Return the files with too much data waiting in the pipeline; `all_of_them`: also those whose turn will
        come."""
        return chain(self._scheduler.paused, self._scheduler.awake if all_of_them else ())

    @property
    def next_read(self) -> float:
        """Return the seconds until `read` has something to do, if nothing happens; 0: it has now."""
        paused = self._scheduler.paused
        looks = islice(paused, LOOKS_AT_ONCE)
        if self._scheduler.busy or any(self._takes_more(harvester.source) for harvester in looks):
            return 0.0
        return min(self._scheduler.idle_for, LOOK_AGAIN if len(paused) > LOOKS_AT_ONCE else NEVER)

    def wake(self, harvester: Harvester | None) -> None:
        if harvester is not None:
            self._scheduler.wake(harvester)

    def read_only(self, is_wanted: Callable[[Source], bool]) -> None:
        """Read no other files from now on."""
        takes_more = self._takes_more
        self._takes_more = lambda source: is_wanted(source) and takes_more(source)

    def await_save(self, saved: SaveTicket, harvester: Harvester) -> None:
        """Stop reading the file until that state is on disk."""
        self._scheduler.await_save(saved, harvester)

    def _wake_waiting(self) -> None:
        for harvester in self._scheduler.overdue():
            # It is read once more before its message is ended: its next line may have come while nothing was read.
            self._scheduler.wake(harvester)
        for harvester in list(islice(self._scheduler.paused, LOOKS_AT_ONCE)):
            if self._takes_more(harvester.source):
                self._scheduler.wake(harvester)
            else:
                self._scheduler.pause(harvester)

    def _read_one(self, harvester: Harvester) -> list[Batch]:
        if not self._takes_more(harvester.source):
            self._scheduler.pause(harvester)
            return []
        first = self.rotation_links.waits_for(harvester)
        if first is not None:
            self._scheduler.park(harvester)
            self._scheduler.wake(first)
            return []
        read_to = harvester.read_to
        self.reads += 1
        try:
            batch = harvester.read()
        except (Truncated, CompressionError, OSError) as error:
            last = self._hooks.failed(harvester, error)
            return [last] if last is not None else []
        if batch is None:
            return self._nothing_read(harvester)
        batches = self._take(harvester, batch)
        for largest in self._pending.grew(harvester.read_to - read_to, self._running.values):
            self._scheduler.wake(largest)
        return batches

    def _nothing_read(self, harvester: Harvester) -> list[Batch]:
        if not harvester.at_end and not harvester.finished:
            self._scheduler.again(harvester)
            return []
        self._reached_end(harvester)
        return self._end_message(harvester) if harvester.at_end and harvester.is_overdue else []

    def _reached_end(self, harvester: Harvester) -> None:
        self._scheduler.park(harvester)
        try:
            self._hooks.reached_end(harvester)
            self.wake(self.rotation_links.continue_or_release(harvester))
        except OSError as error:
            self._hooks.failed(harvester, error)

    def _end_message(self, harvester: Harvester) -> list[Batch]:
        """End the pending message by time. Its end must be on disk before it is sent: otherwise a second reading after
        a crash could join it with the next lines, and the same offset would have another text."""
        try:
            batch = harvester.end_message()
        except OSError as error:
            self._hooks.failed(harvester, error)
            return []
        return self._take(harvester, batch) if batch is not None else []

    def _take(self, harvester: Harvester, batch: Batch) -> list[Batch]:
        """Return the batch, unless it must wait until the registry is saved."""
        unsaved = harvester.take_unsaved_state()
        if unsaved is not None:
            self._scheduler.await_save(self._registrar.save([unsaved]), harvester, batch)
        elif harvester.at_end:
            self._reached_end(harvester)
        else:
            look_at_size(harvester)
            self._scheduler.again(harvester)
        self.wake(self.rotation_links.gave_batch(harvester))
        return [batch] if unsaved is None else []

    def may_release(self, harvester: Harvester) -> bool:
        """Return True if the file may be closed: none of its batches waits to be queued, and no other file's message
        continues in it."""
        return harvester.schedule.turn is not Turn.SAVING and not is_read_on(harvester)
