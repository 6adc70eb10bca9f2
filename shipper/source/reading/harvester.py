"""Reads one open file and turns what it reads into batches that its ledger tracks."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from registry.state import FileState
from shipper.clock import Clock
from shipper.errors import Truncated
from shipper.event import TRUNCATED, Batch, Messages, Source
from shipper.pipeline.acks import Ledger
from shipper.source.discovery.scanner import FileKey
from shipper.source.identity.content import Content
from shipper.source.identity.fingerprint import HEAD_SIZE
from shipper.source.reading.activity import Activity
from shipper.source.reading.file_reader import Chain, Reading, ReadPolicy
from shipper.source.reading.rotation_join import RotationJoin


@dataclass(frozen=True, slots=True)
class ReadSetup:
    """How a file is read, beside what it holds and where its entry says to resume. `source` is what its batches carry;
    `chain` turns its bytes into messages; `note` takes new states of the file to the registrar."""

    source: Source
    chain: Chain
    policy: ReadPolicy
    clock: Clock
    note: Callable[[FileState], None]


class Harvester:
    """One open file. Used by the reading thread only.

    `offset` is where reading goes on, `state.position` what is acknowledged, `size` the size seen last, `gone` what
    became of its path, if anything (plan.py). `must_save`: what is read must not be sent before `state` is saved.

    A file that may have changed since its entry was made is *proven* first: all before the position is read, some at a
    time, and its hash compared with the entry's. Until then `unproven` has that entry, as it was.
    """

    __slots__ = (
        "_clock",
        "_note",
        "_split",
        "activity",
        "at_end",
        "content",
        "gone",
        "is_open",
        "key",
        "ledger",
        "must_save",
        "opened_at",
        "policy",
        "reading",
        "rotation_join",
        "size",
        "source",
        "state",
    )

    def __init__(self, content: Content, state: FileState, setup: ReadSetup, *, was: FileState | None = None) -> None:
        """Raises OSError."""
        self.content = content
        self.key: FileKey = (state.device, state.inode)
        self.state = state
        self.source = setup.source
        self.policy = setup.policy
        self.size = state.size_seen
        self.activity = Activity(setup.clock)
        self.opened_at = setup.clock.monotonic()
        self.is_open = True
        self.at_end = False
        self.gone: str | None = None
        self.rotation_join: RotationJoin | None = None
        self._split: RotationJoin | None = None  # until it is acknowledged
        self.ledger = Ledger(state.position, self._advanced)
        self._clock = setup.clock
        self._note = setup.note
        self.must_save = False
        self.reading = Reading(content, state, setup.chain, was)

    @property
    def unproven(self) -> FileState | None:
        """The entry as it was, as long as nothing is proven of it."""
        return self.reading.unproven

    @property
    def is_proven(self) -> bool:
        return self.reading.unproven is None

    @property
    def fd(self) -> int:
        return self.content.fd

    @property
    def offset(self) -> int:
        """Up to where the bytes belong to batches. Raw bytes of a pending message lie beyond it."""
        return self.ledger.tracked

    @property
    def read_to(self) -> int:
        """Up to where the file was read, a pending message included."""
        return self.reading.file.offset if self.rotation_join is None else self.rotation_join.end

    @property
    def pending_bytes(self) -> int:
        """What the line and the pending message take in memory, about."""
        return min(self.reading.file.offset - self.offset, self.policy.most_kept) if self.is_proven else 0

    def has_new_data(self, size: int) -> bool:
        """True if a file of that size has more than what was read."""
        return size != self.read_to + self.reading.padding

    @property
    def settled(self) -> bool:
        return self.ledger.open_batches == 0

    @property
    def over(self) -> bool:
        """At its end, with nothing pending or in flight: neither batches nor a message that the timeout will end."""
        return self.at_end and self.settled and self.message_deadline is None

    @property
    def finished(self) -> bool:
        """With `once`: all that the file held when it was opened is read."""
        is_read = self.is_complete if self.content.compressed else self.offset >= self.size
        return self.policy.once and self.is_proven and is_read

    @property
    def is_complete(self) -> bool:
        """True if it is a file that cannot grow any more, and was read to its end."""
        return self.at_end and self.reading.file.complete

    @property
    def message_deadline(self) -> float | None:
        """Monotonic time at which the pending message must be ended by `end_message`."""
        since, timeout = self.reading.reader.pending_since, self.policy.multiline_timeout
        return None if since is None or timeout is None else since + timeout

    @property
    def is_overdue(self) -> bool:
        """A message is pending, and its time is over."""
        return self.message_deadline is not None and self.message_deadline <= self._clock.monotonic()

    def read(self) -> Batch | None:
        """The next batch (perhaps without events), or None: at the end of the file, or for now (`at_end` tells).
        Raises Truncated, Disproved, CompressionError, OSError."""
        if self.finished:
            return None
        was_proven = self.is_proven
        if not self.reading.confirm():
            return None
        if not was_proven:
            self._note(self.state)
        try:
            if self.rotation_join is not None:
                self.rotation_join.check(self.reading.file.offset)
            messages = self.reading.reader.next()
        except Truncated:
            if self.rotation_join is None:
                raise
            return self.end_message()  # the successor was, which tells itself; this file is as it was
        self.at_end = messages is None and not self.reading.file.busy
        if self.at_end and self.policy.once:
            self.reading.file.require_complete()
        if messages is None:
            return None
        self.activity.data_came()
        if self.reading.took_cut():
            self._save_cut(messages.end)
            messages.flag_last(TRUNCATED)
        return self._batch(messages)

    def end_message(self) -> Batch | None:
        """End the pending message by time. The cut must be saved (`state` has it) before the batch is queued."""
        messages = self.reading.reader.finish()
        if messages is None:
            return None
        self._save_cut(messages.end)
        if self.rotation_join is not None:
            self.rotation_join.cut = messages.end
        batch = self._batch(messages)
        if self.rotation_join is not None:  # a line without end lies before it, and stays
            self._part(self.rotation_join, self.offset)
        return batch

    def _save_cut(self, end: int) -> None:
        """A second reading must end a message there too, or an offset would have two texts."""
        self.must_save = True
        self.state = replace(self.state, cuts=(*self.state.cuts, end))

    def update(self, **changes: object) -> None:
        """Change the file's state (path, ended) and let the registry know."""
        self.state = replace(self.state, updated=self._clock.time(), **changes)  # type: ignore[arg-type]
        if self.is_proven:
            self._note(self.state)

    def close(self) -> None:
        self.is_open = False
        if self.rotation_join is not None:
            self.rotation_join.close()
        os.close(self.fd)

    def join(self, successor: "Harvester") -> None:
        """The pending message may go on at the start of the successor: read on there, to the end of that message."""
        file = self.reading.plain_file
        if file is not None:
            self.rotation_join = RotationJoin(file, successor)
            self.at_end = False

    def _part(self, rotation_join: RotationJoin, offset: int) -> None:
        """Read on in this file alone."""
        rotation_join.close()
        self.rotation_join = None
        self.reading.go_back(offset)

    def skip(self, length: int, data: bytes) -> Callable[[], None]:
        """They belong to the last message of the predecessor, and were `data`; what is returned resolves them."""
        if length <= self.offset or not self.is_proven:
            return lambda: None  # a second reading: they are resolved already, or come once more
        self.reading.skip(self.offset, length, self.state.cuts, data)
        self.reading.remember_end(length)
        return self.ledger.track(length)

    def _batch(self, messages: Messages) -> Batch:
        if self.state.fingerprint[0] < HEAD_SIZE:
            fingerprint = self.reading.fingerprint_now(self.state.fingerprint)
            # Met empty: an entry without any bytes would fit whatever is at this inode after a crash.
            self.must_save = self.must_save or self.state.fingerprint[0] == 0 < fingerprint[0]
            size = max(self.state.size_seen, messages.end)
            self.state = replace(self.state, fingerprint=fingerprint, size_seen=size)
        if self.rotation_join is not None and messages.end >= self.rotation_join.end:
            return self._last_batch(self.rotation_join, messages)
        self.reading.remember_end(messages.end)
        if not self.policy.once:
            self.size = max(self.size, messages.end)
        return Batch(self.source, messages, self._clock.time(), self.ledger.track(messages.end))

    def _last_batch(self, rotation_join: RotationJoin, messages: Messages) -> Batch:
        """The message that began in this file and ends in the next one, or exactly here."""
        taken = rotation_join.keep_own(messages)
        self.reading.remember_end(rotation_join.end)
        resolve_here = self.ledger.track(rotation_join.end)
        resolve_there = rotation_join.successor.skip(taken, rotation_join.taken(taken))

        def resolve() -> None:
            # The successor's position first: should only that one be saved, the message is read again as a whole,
            # because this file's entry still says where it goes on.
            resolve_there()
            resolve_here()

        self._split = rotation_join
        self._part(rotation_join, rotation_join.end)
        return Batch(self.source, messages, self._clock.time(), resolve)

    def _advanced(self, position: int) -> None:
        state = self.state
        tail, proof = self.reading.evidence_up_to(position) or (state.tail_hash, state.proof)
        cuts, continues_in = state.cuts, state.continues_in
        if self._split is not None and position >= self._split.end:
            cuts = tuple(cut for cut in cuts if cut != self._split.cut)
            continues_in = self._split = None
        self.state = replace(
            state,
            position=position,
            tail_hash=tail,
            proof=proof,
            size_seen=max(self.size, position),
            modified=os.fstat(self.fd).st_mtime_ns if self.is_open else state.modified,
            updated=self._clock.time(),
            cuts=cuts and tuple(cut for cut in cuts if cut > position),
            continues_in=continues_in,
        )
        self._note(self.state)

    def __repr__(self) -> str:
        return f"<Harvester {self.state.path} {self.state.id} position={self.state.position} offset={self.offset}>"
