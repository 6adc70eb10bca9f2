"""Reads one open file and turns what it reads into batches that its ledger tracks."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from registry.state import FileState
from shipper.clock import Clock
from shipper.errors import Truncated
from shipper.event import Batch, Messages, Source
from shipper.pipeline.acks import Ledger
from shipper.reader.base import RawFile, Reader
from shipper.reader.log_file import LogFile
from shipper.source.content import Content, fingerprint_now, tail_at
from shipper.source.discover import FileKey
from shipper.source.heat import Heat
from shipper.source.identity import HEAD_SIZE
from shipper.source.seam import Seam

# What may have become of the path under which an open file was found.
REMOVED = "removed"
MOVED = "moved"  # out of the paths
RENAMED = "renamed"

Chain = Callable[[RawFile], Reader]  # what turns the bytes of a file into messages


@dataclass(frozen=True, slots=True)
class ReadPolicy:
    """`multiline_timeout`: seconds after its last line at which a message under way is ended; None: never.
    `once`: the file ends at the size it had when it was opened. `repeatable`: it can be read again."""

    multiline_timeout: float | None = None
    once: bool = False
    repeatable: bool = True
    line_end: bytes = b"\n"


class Harvester:
    """One open file. Used by the reading thread only; `note` takes new states of the file to the registrar.

    `offset` is where reading goes on, `state.position` what is acknowledged, `size` the size seen last, `gone` what
    became of its path. `must_save`: what is read must not be sent before `state` is saved.
    """

    __slots__ = (
        "_chain", "_clock", "_file", "_is_confirmed", "_note", "_parted", "_reader", "_tails", "at_end",
        "content", "gone", "heat", "is_open", "key", "ledger", "must_save", "opened_at", "policy", "seam", "size",
        "source", "state",
    )  # fmt: skip

    def __init__(
        self, content: Content, state: FileState, source: Source, chain: Chain, policy: ReadPolicy, clock: Clock,
        note: Callable[[FileState], None],
    ) -> None:  # fmt: skip
        self.content = content
        self.key: FileKey = (state.device, state.inode)
        self.state = state
        self.source = source
        self.policy = policy
        self.size = state.size_seen
        self.heat = Heat(clock)
        self.opened_at = clock.monotonic()
        self.is_open = True
        self.at_end = False
        self.gone: str | None = None
        self.seam: Seam | None = None
        self._parted: Seam | None = None  # until it is acknowledged
        self.ledger = Ledger(state.position, self._advanced)
        self._chain = chain
        self._clock = clock
        self._note = note
        self._is_confirmed = False
        self.must_save = False
        self._tails: list[tuple[int, str]] = []
        self._read_from(state.position, state.cuts)

    def _read_from(self, offset: int, cuts: tuple[int, ...]) -> None:
        self._file = self.content.reader(offset, cuts)
        self._reader = self._chain(self._file)

    @property
    def fd(self) -> int:
        return self.content.fd

    @property
    def offset(self) -> int:
        """Up to where the bytes belong to batches. Raw bytes of a message under way lie beyond it."""
        return self.ledger.tracked

    @property
    def read_to(self) -> int:
        """Up to where the file was read, a message under way included."""
        return self._file.offset if self.seam is None else self.seam.end

    @property
    def settled(self) -> bool:
        return self.ledger.open_batches == 0

    @property
    def is_hot(self) -> bool:
        return self.heat.is_hot

    @property
    def over(self) -> bool:
        """At its end, with nothing under way: neither batches nor a message that the timeout will end."""
        return self.at_end and self.settled and self.message_deadline is None

    @property
    def finished(self) -> bool:
        """With `once`: all that the file held when it was opened is read."""
        return self.policy.once and (self.is_complete if self.content.compressed else self.offset >= self.size)

    @property
    def is_complete(self) -> bool:
        """Whether it is a file that cannot grow any more, and was read to its end."""
        return self.at_end and self._file.complete

    @property
    def message_deadline(self) -> float | None:
        """Monotonic time at which the message under way must be ended by `end_message`."""
        since, timeout = self._reader.pending_since, self.policy.multiline_timeout
        return None if since is None or timeout is None else since + timeout

    @property
    def is_overdue(self) -> bool:
        """A message is under way, and its time is over."""
        return self.message_deadline is not None and self.message_deadline <= self._clock.monotonic()

    def read(self) -> Batch | None:
        """The next batch (perhaps without events), or None: at the end of the file, or for now (`at_end` tells).
        Raises Truncated, CompressionError, OSError."""
        if self.finished:
            return None
        if not self._is_confirmed:
            # Between finding out which file it is and now, its id was saved, and it may have become another.
            if not self.content.holds(self.state):
                raise Truncated(os.fstat(self.fd).st_size)
            self._is_confirmed = True
        try:
            if self.seam is not None:
                self.seam.check(self._file.offset)
            messages = self._reader.next()
        except Truncated:
            if self.seam is None:
                raise
            return self.end_message()  # the successor was, which tells itself; this file is as it was
        self.at_end = messages is None and not self._file.busy
        if self.at_end and self.policy.once:
            self._file.require_complete()
        if messages is None:
            return None
        self.heat.data_came()
        return self._batch(messages)

    def end_message(self) -> Batch | None:
        """End the message under way by time. The cut must be saved (`state` has it) before the batch is queued."""
        messages = self._reader.finish()
        if messages is None:
            return None
        self.must_save = True
        self.state = replace(self.state, cuts=(*self.state.cuts, messages.end))
        if self.seam is not None:
            self.seam.cut = messages.end
        batch = self._batch(messages)
        if self.seam is not None:  # a line without end lies before it, and stays
            self._part(self.seam, self.offset)
        return batch

    def update(self, **changes: object) -> None:
        """Change the file's state (path, ended) and let the registry know."""
        self.state = replace(self.state, updated=self._clock.time(), **changes)  # type: ignore[arg-type]
        self._note(self.state)

    def close(self) -> None:
        self.is_open = False
        if self.seam is not None:
            self.seam.close()
        os.close(self.fd)

    def join(self, successor: "Harvester") -> None:
        """The message under way may go on at the start of the successor: read on there, to the end of that message."""
        if isinstance(self._file, LogFile):
            self.seam = Seam(self._file, successor)
            self.at_end = False

    def _part(self, seam: Seam, offset: int) -> None:
        """Read on in this file alone."""
        seam.close()
        self.seam = None
        self._read_from(offset, ())

    def skip(self, length: int) -> Callable[[], None]:
        """They belong to the last message of the predecessor; what is returned resolves them."""
        if length <= self.offset:
            return lambda: None  # a second reading: they are resolved already
        self._read_from(length, self.state.cuts)
        self._remember_tail(length)
        return self.ledger.track(length)

    def _batch(self, messages: Messages) -> Batch:
        if self.state.fingerprint[0] < HEAD_SIZE:
            fingerprint = fingerprint_now(self.content, self._file, self.state.fingerprint)
            # Met empty: an entry without any bytes would fit whatever is at this inode after a crash.
            self.must_save = self.must_save or self.state.fingerprint[0] == 0 < fingerprint[0]
            size = max(self.state.size_seen, messages.end)
            self.state = replace(self.state, fingerprint=fingerprint, size_seen=size)
        if self.seam is not None and messages.end >= self.seam.end:
            return self._last_batch(self.seam, messages)
        self._remember_tail(messages.end)
        if not self.policy.once:
            self.size = max(self.size, messages.end)
        return Batch(self.source, messages, self._clock.time(), self.ledger.track(messages.end))

    def _last_batch(self, seam: Seam, messages: Messages) -> Batch:
        """The message that began in this file and ends in the next one, or exactly here."""
        taken = seam.keep_own(messages)
        self._remember_tail(seam.end)
        resolve_here, resolve_there = self.ledger.track(seam.end), seam.successor.skip(taken)

        def resolve() -> None:
            # The successor's position first: should only that one be saved, the message is read again as a whole,
            # because this file's entry still says where it goes on.
            resolve_there()
            resolve_here()

        self._parted = seam
        self._part(seam, seam.end)
        return Batch(self.source, messages, self._clock.time(), resolve)

    def _remember_tail(self, end: int) -> None:
        if end > self.offset:
            self._tails.append((end, tail_at(self.content, self._file, end)))

    def _advanced(self, position: int) -> None:
        state, tail = self.state, self.state.tail_hash
        while self._tails and self._tails[0][0] <= position:
            tail = self._tails.pop(0)[1]
        cuts, continues_in = state.cuts, state.continues_in
        if self._parted is not None and position >= self._parted.end:
            cuts = tuple(cut for cut in cuts if cut != self._parted.cut)
            continues_in = self._parted = None
        self.state = replace(
            state, position=position, tail_hash=tail, size_seen=max(self.size, position), updated=self._clock.time(),
            cuts=cuts and tuple(cut for cut in cuts if cut > position), continues_in=continues_in,
        )  # fmt: skip
        self._note(self.state)

    def __repr__(self) -> str:
        return f"<Harvester {self.state.path} {self.state.id} position={self.state.position} offset={self.offset}>"
