"""Share an assigned partition between the member's thread and the reading thread."""

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from confluent_kafka import Message

from log_shipper.shipper.event import Source, no_op
from log_shipper.shipper.inputs.kafka.offset_metadata import MAX_BYTES, OffsetMetadata
from log_shipper.shipper.inputs.mailbox import Mailbox
from log_shipper.shipper.pipeline.acks import Ledger, Stage

RECORD_OVERHEAD = 400  # bytes of memory of a record in addition to its content


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive records of a partition, up to the offset `end`; gaps may follow the last one. `size`: bytes of
    content, `bytes` of memory."""

    records: Sequence[Message]
    end: int
    size: int
    bytes: int


Place = tuple[str, int]  # topic and number


class Partition:
    """An assigned partition. It begins at `start`, None for its first record. `source` is that of its events; `stage`
    makes the stage of its ledger, if the output commits transactions. `kept`: the metadata that the group keeps beside
    the start, or will keep."""

    def __init__(
        self,
        place: Place,
        kept: OffsetMetadata,
        start: int | None,
        source: Callable[["Partition"], Source],
        stage: Callable[["Partition"], Stage] | None = None,
    ) -> None:
        self.place = place
        self.topic, self.number = place
        self.topic_id = kept.topic_id
        # Of the member's thread.
        self.next = start  # the next offset to be received
        self.end = 0  # of the partition, as far as it is known
        self.at_end = False  # everything that was there is received
        self.paused = False
        self.stopped = False  # nothing more is received: an offset is missing, or `--once` is done
        self.committed: int | None = None
        self.saved_cuts: frozenset[int] = frozenset()  # of the group; replaced as a whole
        self.once_end: int | None = None  # with `--once`
        # Of both.
        self._lock = threading.Lock()
        self._blocks: Mailbox[Block] = Mailbox(no_op)  # the session wakes the loop when all partitions have theirs
        self._is_taking = False
        self.is_ending = False  # it goes to another member, or the input stops
        self.is_lost = False  # it belongs to another member
        self.is_void = False  # the group must not get an offset of it: records in flight are sent without one
        self.settled = threading.Event()  # set when a position moved while it is ending
        # Of the reading thread; the other one reads `position` and `kept`, which is replaced as a whole.
        self.position = start
        self.kept = kept  # its cuts are behind the position
        self.is_pending = False  # some of it belongs to a message that is pending, or parked
        self.ledger: Ledger | None = None
        self._make_stage = stage
        self.source = source(self)

    @property
    def cuts(self) -> tuple[int, ...]:
        """Return where messages after the position were ended by time, ascending."""
        return self.kept.cuts

    @property
    def waiting_bytes(self) -> int:
        """Return the number of received bytes that were not taken. Any thread may call it."""
        return self._blocks.waiting

    @property
    def has_blocks(self) -> bool:
        return not self._blocks.is_empty and not self.is_ending

    @property
    def lag(self) -> int:
        """Return the number of unacknowledged offsets, as far as known. Any thread may call it."""
        return max(self.end - self.position, 0) if self.position is not None else 0

    def add_block(self, block: Block) -> None:
        if not self.is_ending:
            self._blocks.put(block, block.bytes)

    def next_block(self) -> Block | None:
        """Return the next block; `taken` must follow when its batches are tracked."""
        with self._lock:
            block = self._blocks.pop()
            self._is_taking = block is not None
            return block

    def may_send_parked(self) -> bool:
        """Return True if a parked message may be sent now; `taken` must follow when its batches are tracked."""
        with self._lock:
            self._is_taking = not self.is_ending
            return self._is_taking

    def note_tracked(self) -> None:
        self._is_taking = False
        if self.is_ending:
            self.settled.set()

    def track(self, start: int, end: int, now: float) -> Callable[[], None]:
        """Track that the records from one offset to another are in flight; return the function that resolves them."""
        if self.ledger is None:
            self.position = start
            stage = self._make_stage(self) if self._make_stage is not None else None
            self.ledger = Ledger(start, self._advanced, stage)
        return self.ledger.track(end, now)

    def cut(self, end: int) -> bool:
        """Commit that a message was ended there by time. Return True once it is committed, so that the message may be
        sent; at once if the output commits the offsets with its records. Called again and again by the reading thread:
        if there is no room for another cut, the position has to pass some first."""
        if end not in self.cuts:
            kept = replace(self.kept, cuts=(*self.cuts, end))
            if len(kept.text) > MAX_BYTES:
                return False
            self.kept = kept
        return self._make_stage is not None or end in self.saved_cuts

    def staged(self) -> None:
        """Make the current transaction commit the position, even if that does not move: otherwise, if part of a batch
        is left for the next one, the cuts would be missing that this one's messages depend on."""
        if self.cuts and self.ledger is not None:
            self.ledger.track(self.ledger.tracked)()

    def unsaved(self) -> tuple[int, OffsetMetadata] | None:
        """Return the uncommitted position and its metadata; None if the group has both, or must not get them. Called by
        the member's thread."""
        kept = self.kept  # before the position, which removes the cuts that it passes
        position = self.position
        if position is None or self.is_lost or self.is_void:
            return None
        kept = kept.behind(position)
        return None if position == self.committed and self.saved_cuts.issuperset(kept.cuts) else (position, kept)

    def end_reading(self) -> None:
        """End the reading: what was received and not taken is dropped. Called by the member's thread."""
        with self._lock:
            self.is_ending = True
            self._blocks.clear()

    def invalidate(self) -> None:
        """End the reading, and commit no offset any more. The partition is not lost: no one reads the records in flight
        again. Called by the member's thread."""
        self.end_reading()
        self.is_void = True

    @property
    def is_settled(self) -> bool:
        """Return True if everything taken is acknowledged."""
        return not self._is_taking and (self.ledger is None or not self.ledger.open_batches)

    @property
    def is_done(self) -> bool:
        """Return True if everything received is acknowledged."""
        return self._blocks.is_empty and not self.is_pending and self.is_settled

    @property
    def is_read_up(self) -> bool:
        """Return True if all existing records were taken. Only then a message may be ended by time: a killed member may
        already have sent the next records with it."""
        nothing_follows = self.at_end or self.stopped  # first: what came before its end is known was given before
        return nothing_follows and self._blocks.is_empty and not self.is_ending

    @property
    def next_to_give(self) -> int:
        """Return the first offset that is not in flight. Any thread may call it."""
        if self.ledger is not None:
            return self.ledger.tracked
        return self.position if self.position is not None else self.next or 0

    def _advanced(self, position: int) -> None:
        self.position = position
        if self.cuts and self.cuts[0] <= position:
            self.kept = self.kept.behind(position)
        if self.is_ending:
            self.settled.set()


def file_id(group: str, topic: str, topic_id: str, number: int) -> str:
    """Return the id under which events of a partition are named, with their offset: the same for each member of the
    group. A re-created topic has another id in Kafka; without ids its name is used."""
    text = "\0".join((group, topic, topic_id, str(number)))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
