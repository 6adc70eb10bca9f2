"""Reads one open file and turns what it reads into batches that its ledger tracks."""

import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from registry.state import FileState
from shipper.clock import Clock
from shipper.event import Batch, Messages, Source
from shipper.pipeline.acks import Ledger
from shipper.reader.base import Reader
from shipper.reader.log_file import LogFile
from shipper.source.discover import FileKey
from shipper.source.identity import HEAD_SIZE, fingerprint, tail_hash

# A file is hot while data comes so often that looking at it costs less than being told. Seconds between two reads with
# data, as a running mean: one long pause among many short ones (the machine was busy) does not make it quiet, because
# going to and fro between looking and being told is what costs most.
HOT_GAP = 0.005  # it becomes hot below this,
QUIET_GAP = 0.008  # and quiet above this
LONGEST_GAP = 0.03  # what a longer pause counts for
GAP_WEIGHT = 0.1
QUIET_AFTER = 0.05  # quiet also when no data came for this long


@dataclass(frozen=True, slots=True)
class ReadPolicy:
    """`multiline_timeout`: seconds after its last line at which a message under way is ended; None: never.
    `once`: the file ends at the size it had when it was opened."""

    multiline_timeout: float | None = None
    once: bool = False


class Harvester:
    """One open file. Used by the reading thread only; `note` takes each new state of the file to the registrar.

    `offset` is where reading goes on, `state.position` what is acknowledged; `size` the size seen last.
    """

    def __init__(
        self, file: LogFile, state: FileState, source: Source, reader: Reader, policy: ReadPolicy, clock: Clock,
        note: Callable[[FileState], None],
    ) -> None:  # fmt: skip
        self.fd = file.fd
        self._file = file
        self.key: FileKey = (state.device, state.inode)
        self.state = state
        self.source = source
        self.policy = policy
        self.size = state.size_seen
        self.read_at = clock.monotonic()
        self.at_end = False
        self.ledger = Ledger(state.position, self._advanced)
        self._hot = False
        self._gap = LONGEST_GAP
        self._reader = reader
        self._clock = clock
        self._note = note
        self._tails: deque[tuple[int, str]] = deque()

    @property
    def offset(self) -> int:
        """Up to where the bytes belong to batches. Raw bytes of a message under way lie beyond it."""
        return self.ledger.tracked

    @property
    def read_to(self) -> int:
        """Up to where the file was read, a message under way included."""
        return self._file.offset

    @property
    def settled(self) -> bool:
        """Every batch that was made is resolved."""
        return self.ledger.open_batches == 0

    @property
    def is_hot(self) -> bool:
        """Data comes so often that looking costs less than being told."""
        return self._hot and self._clock.monotonic() - self.read_at < QUIET_AFTER

    @property
    def over(self) -> bool:
        """At its end, with nothing under way: neither batches nor a message that the timeout will end."""
        return self.at_end and self.settled and self.message_deadline is None

    @property
    def finished(self) -> bool:
        """With `once`: all that the file held when it was opened is read."""
        return self.policy.once and self.offset >= self.size

    @property
    def message_deadline(self) -> float | None:
        """Monotonic time at which the message under way must be ended by `end_message`."""
        since = self._reader.pending_since
        if since is None or self.policy.multiline_timeout is None:
            return None
        return since + self.policy.multiline_timeout

    @property
    def is_overdue(self) -> bool:
        """A message is under way, and its time is over."""
        return self.message_deadline is not None and self.message_deadline <= self._clock.monotonic()

    def read(self) -> Batch | None:
        """The next batch (perhaps without events), or None at the end of the file. Raises Truncated, OSError."""
        if self.finished:
            return None
        messages = self._reader.next()
        self.at_end = messages is None
        if messages is None:
            return None
        now = self._clock.monotonic()
        self._gap += (min(now - self.read_at, LONGEST_GAP) - self._gap) * GAP_WEIGHT
        self._hot = self._gap < (QUIET_GAP if self._hot else HOT_GAP)
        self.read_at = now
        return self._batch(messages)

    def end_message(self) -> Batch | None:
        """End the message under way by time. The cut must be saved (`state` has it) before the batch is queued."""
        messages = self._reader.finish()
        if messages is None:
            return None
        batch = self._batch(messages)
        self.state = replace(self.state, cuts=(*self.state.cuts, messages.end))
        return batch

    def update(self, **changes: object) -> None:
        """Change the file's state (path, ended) and let the registry know."""
        self.state = replace(self.state, updated=self._clock.time(), **changes)  # type: ignore[arg-type]
        self._note(self.state)

    def close(self) -> None:
        os.close(self.fd)

    def _batch(self, messages: Messages) -> Batch:
        if self.state.fingerprint[0] < HEAD_SIZE:
            self.state = replace(self.state, fingerprint=fingerprint(self.fd))
        if messages.end > self.offset:
            self._tails.append((messages.end, tail_hash(self.fd, messages.end)))
        if not self.policy.once:
            self.size = max(self.size, messages.end)
        return Batch(self.source, messages, self._clock.time(), self.ledger.track(messages.end))

    def _advanced(self, position: int) -> None:
        state, tail = self.state, self.state.tail_hash
        while self._tails and self._tails[0][0] <= position:
            tail = self._tails.popleft()[1]
        cuts = state.cuts and tuple(cut for cut in state.cuts if cut > position)
        size = max(self.size, position)
        self.state = replace(
            state, position=position, tail_hash=tail, size_seen=size, updated=self._clock.time(), cuts=cuts
        )
        self._note(self.state)

    def __repr__(self) -> str:
        return f"<Harvester {self.state.path} {self.state.id} position={self.state.position} offset={self.offset}>"
