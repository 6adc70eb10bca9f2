"""Standard input, read by one harvester from the first byte that comes to the last.

It cannot be opened again, so it has no entry in the registry: a position in a pipe means nothing to a later process.
Each run gives it a new file id, and offsets count from 0. So a record is never sent twice under one id, and what was
read but not acknowledged when a run ends early is lost, which is counted and logged.

It cannot be combined with other inputs, so nothing is scanned: `StdinSource` takes the place of the crawler.
"""

import logging
import os
import sys
import uuid
from collections.abc import Callable
from dataclasses import replace

from log_shipper.registry.state import FileState
from log_shipper.runtime.logs.folding import EACH
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch
from log_shipper.shipper.inputs.base import SourceContext, SourceStatus
from log_shipper.shipper.inputs.files.discovery.problems import FileProblems
from log_shipper.shipper.inputs.files.discovery.spec import FileKey
from log_shipper.shipper.inputs.files.identity.prefix import ProofTrail
from log_shipper.shipper.inputs.files.reading.batch_reader import BatchReader, ReadError, ReadHooks
from log_shipper.shipper.inputs.files.reading.factory import Input
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.pending_bytes import PendingBytes
from log_shipper.shipper.inputs.files.reading.scheduler import Scheduler
from log_shipper.shipper.inputs.observation import Observation
from log_shipper.shipper.reader.stream import Stream

logger = logging.getLogger(__name__)

READ_INTERVAL = 0.004  # seconds: a pipe has room for 64 KiB, and its writer waits
PATH = "-"  # the log.file.path of Filebeat's stdin input
NEVER = float("inf")


class StreamContent:
    """The content of a pipe: nothing can be read again."""

    compressed = True  # its size does not show where its content ends

    def __init__(self, fd: int) -> None:
        self.fd = fd

    @property
    def size(self) -> int:
        return 0

    def fingerprint(self, length: int | None = None) -> tuple[int, str]:
        return 0, ""

    def tail_hash(self, position: int) -> str:
        return ""

    def matches(self, state: FileState) -> bool:
        return True

    def ends_before(self, length: int) -> bool:
        return False

    def reader(self, offset: int, cuts: tuple[int, ...], trail: ProofTrail, fd: int | None = None) -> Stream:
        return Stream(self.fd)


def open_stdin(source: Input) -> Harvester:
    """Return the harvester of standard input; it is finished when the stream has ended, with and without `--once`.
    Raises StartError."""
    if sys.stdin is None:  # the next opened file would get descriptor 0, and be taken for it
        raise StartError("type: stdin: standard input is closed; connect a pipe or a file, or </dev/null")
    return harvester_of(os.dup(0), source)


def harvester_of(fd: int, source: Input) -> Harvester:
    status = os.fstat(fd)
    state = FileState(
        id=uuid.uuid4().hex,
        path=PATH,
        device=status.st_dev,
        inode=status.st_ino,
        updated=source.clock.time(),
        input=source.id,
    )
    harvester = replace(source, note=_keep_nothing).open(StreamContent(fd), state, once=False)
    # It ends, as a file does with `--once`; but its writer may be slow, so a pending message keeps its timeout.
    harvester.policy = replace(harvester.policy, once=True, repeatable=False)
    return harvester


class StreamWatcher:
    """The replacement of the file watcher: `watch` calls back once when a descriptor has data (Wake.watch)."""

    def __init__(self, watch: Callable[[int, Callable[[], None]], None], unwatch: Callable[[int], None]) -> None:
        self.changed = False
        self._watch = watch
        self._unwatch = unwatch
        self._fd: int | None = None

    def is_watched(self, key: FileKey) -> bool:
        return self._fd is not None

    def watch_file(self, key: FileKey, fd: int) -> bool:
        self._fd = fd
        self._watch(fd, self._has_data)
        return True

    def unwatch_file(self, key: FileKey) -> None:
        if self._fd is not None:
            self._unwatch(self._fd)
            self._fd = None

    def _has_data(self) -> None:
        self._fd = None
        self.changed = True


class StdinSource:
    """Used by the reading thread only."""

    def __init__(
        self, harvester: Harvester, watcher: StreamWatcher, context: SourceContext, *, pending_bytes: int = sys.maxsize
    ) -> None:
        clock, metrics = context.clock, context.metrics
        self._harvester = harvester
        self._watcher = watcher
        self._metrics = metrics
        self._problems = FileProblems()
        self._scheduler = Scheduler(watcher, clock, READ_INTERVAL)
        pending = PendingBytes(pending_bytes, metrics, clock)
        running = {harvester.key: harvester}
        hooks = ReadHooks(self._failed)
        self._reading = BatchReader(
            self._scheduler, context.registrar, pending, running, context.pipeline.takes_more, hooks
        )
        self.read = self._reading.read
        metrics.harvesters_started += 1
        self._scheduler.wake(harvester)

    @property
    def finished(self) -> bool:
        return not self._scheduler.busy and self._harvester.finished and self._harvester.settled

    def step(self) -> None:
        if self._watcher.changed:
            self._watcher.changed = False
            if not self._harvester.finished:  # poll reports the end of a pipe again and again
                self._scheduler.wake(self._harvester)

    def next_wake(self, *, reading: bool) -> float:
        return self._reading.next_read if reading else NEVER

    def status(self) -> SourceStatus:
        harvester = self._harvester
        return SourceStatus(
            files_open=1,
            reading=int(not harvester.finished),
            unsettled=int(harvester.finished and not harvester.settled),
            waiting=0,
            bytes_waiting=0,
            bytes_behind=self._behind,
            is_size_known=harvester.finished,
            problems=self._problems.now,
        )

    def observe(self) -> Observation:
        """Return the figures for the monitor. Any thread may call it."""
        harvester = self._harvester
        running = [harvester] if harvester.is_open else []
        return Observation(running=running, open_of_input={harvester.source.input_id: len(running)})

    def stop(self) -> None:
        """Close the stream. Unacknowledged data cannot be read again: it is counted and logged."""
        harvester, lost = self._harvester, self._behind
        if not harvester.is_open:
            return
        if lost > 0:
            self._metrics.bytes_lost += lost
            logger.error(
                "standard input (file id %s): %d bytes from offset %d on were not acknowledged. Some or all of them "
                "are lost, because standard input cannot be read again",
                harvester.state.id,
                lost,
                harvester.state.position,
                extra=EACH,
            )
        self._watcher.unwatch_file(harvester.key)
        self._scheduler.closed(harvester)
        harvester.close()
        self._metrics.harvesters_closed += 1

    @property
    def _behind(self) -> int:
        """Return the number of unacknowledged bytes; how many are still in the pipe is unknown."""
        return self._harvester.read_to - self._harvester.state.position

    def _failed(self, harvester: Harvester, error: ReadError) -> Batch | None:
        """Report a failed read, which ends the stream; the next read gives a last line without terminator."""
        if not isinstance(error, OSError):
            raise error  # a stream is neither truncated nor decompressed
        self._problems.of_file(PATH, f"cannot read standard input at offset {harvester.read_to}: {error.strerror}")
        self._scheduler.wake(harvester)
        return None


def _keep_nothing(state: FileState) -> None:
    """Discard a state in place of the registrar: standard input has no entry."""
