"""A partition while it is assigned to this member: what the member's thread and the reading thread share of it."""

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from confluent_kafka import Message

from log_shipper.shipper.event import Source, no_op
from log_shipper.shipper.inputs.kafka.offset_metadata import MAX_BYTES, OffsetMetadata
from log_shipper.shipper.inputs.mailbox import Mailbox
from log_shipper.shipper.pipeline.acks import Ledger, Stage

RECORD_OVERHEAD = 400  # bytes of memory that a record takes beside its content


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive records of a partition, up to the offset `end`; gaps may follow the last one. `size`: bytes of
    their content, `bytes` of memory."""

    records: Sequence[Message]
    end: int
    size: int
    bytes: int


Place = tuple[str, int]  # topic and number


class Partition:
    """It begins at `start`, None for its first record. `source` is that of its events; `stage` makes the stage of its
    ledger, where the output commits transactions. `kept`: what the group keeps beside the start, or is to keep."""

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
        self.at_end = False  # all that was there is received
        self.paused = False
        self.stopped = False  # nothing more is received: an offset is missing, or `--once` is done
        self.committed: int | None = None
        self.saved_cuts: frozenset[int] = frozenset()  # that the group has; replaced as a whole
        self.once_end: int | None = None  # with `--once`
        # Of both.
        self._lock = threading.Lock()
        self._blocks: Mailbox[Block] = Mailbox(no_op)  # the session wakes the loop when all partitions have theirs
        self._is_taking = False
        self.is_ending = False  # it goes to another member, or the input stops
        self.is_lost = False  # it belongs to another member
        self.is_void = False  # the group is to have no offset of it: what is in flight is sent without one
        self.settled = threading.Event()  # set when a position moved while it is ending
        # Of the reading thread; the other one reads `position` and `kept`, which is replaced as a whole.
        self.position = start
        self.kept = kept  # its cuts are behind the position
        self.is_pending = False  # some of what was taken belongs to a message that is pending, or parked
        self.ledger: Ledger | None = None
        self._make_stage = stage
        self.source = source(self)

    @property
    def cuts(self) -> tuple[int, ...]:
        """Return where messages behind the position were ended by time, ascending."""
        return self.kept.cuts

    @property
    def waiting_bytes(self) -> int:
        """Return the bytes that were received and are not taken. Any thread may ask."""
        return self._blocks.waiting

    @property
    def has_blocks(self) -> bool:
        return not self._blocks.is_empty and not self.is_ending

    @property
    def lag(self) -> int:
        """Return how many offsets are not acknowledged, as far as it is known. Any thread may ask."""
        return max(self.end - self.position, 0) if self.position is not None else 0

    def give(self, block: Block) -> None:
        if not self.is_ending:
            self._blocks.put(block, block.bytes)

    def take(self) -> Block | None:
        """Return the next block; `taken` must follow when its batches are tracked."""
        with self._lock:
            block = self._blocks.take()
            self._is_taking = block is not None
            return block

    def may_give(self) -> bool:
        """True if what was parked may be given now; `taken` must follow when its batches are tracked."""
        with self._lock:
            self._is_taking = not self.is_ending
            return self._is_taking

    def taken(self) -> None:
        self._is_taking = False
        if self.is_ending:
            self.settled.set()

    def track(self, start: int, end: int, now: float) -> Callable[[], None]:
        """Track that the records from one offset to another are in flight; return what resolves them."""
        if self.ledger is None:
            self.position = start
            stage = self._make_stage(self) if self._make_stage is not None else None
            self.ledger = Ledger(start, self._advanced, stage)
        return self.ledger.track(end, now)

    def cut(self, end: int) -> bool:
        """Have the group keep that a message was ended there by time. True once it does, so that the message may be
        sent; at once if the output commits the offsets with what it sends. Called again and again by the reading
        thread: where there is no room for another cut, the position has to pass some first."""
        if end not in self.cuts:
            kept = replace(self.kept, cuts=(*self.cuts, end))
            if len(kept.text) > MAX_BYTES:
                return False
            self.kept = kept
        return self._make_stage is not None or end in self.saved_cuts

    def staged(self) -> None:
        """Have the transaction that is being made commit the position, even if that does not move: where some of a
        batch is left for the next one, cuts would be missing that the messages of this one depend on."""
        if self.cuts and self.ledger is not None:
            self.ledger.track(self.ledger.tracked)()

    def unsaved(self) -> tuple[int, OffsetMetadata] | None:
        """Return the position and what the group is to keep beside it; None if the group has both, or must not get
        them. Called by the member's thread."""
        kept = self.kept  # before the position, which removes the cuts that it passes
        position = self.position
        if position is None or self.is_lost or self.is_void:
            return None
        kept = kept.behind(position)
        return None if position == self.committed and self.saved_cuts.issuperset(kept.cuts) else (position, kept)

    def end_reading(self) -> None:
        """Give no more of it: what was received and not taken is dropped. Called by the member's thread."""
        with self._lock:
            self.is_ending = True
            self._blocks.clear()

    def void(self) -> None:
        """Give no more of it, and let the group have no offset of it. It is not lost: nobody reads again what is in
        flight. Called by the member's thread."""
        self.end_reading()
        self.is_void = True

    @property
    def is_settled(self) -> bool:
        """True if all that was taken is acknowledged."""
        return not self._is_taking and (self.ledger is None or not self.ledger.open_batches)

    @property
    def is_done(self) -> bool:
        """True if all that was received is acknowledged."""
        return self._blocks.is_empty and not self.is_pending and self.is_settled

    @property
    def is_read_up(self) -> bool:
        """True if all that there is was taken. Only then a message may be ended by time: what comes next may have been
        read and sent with it already, by a member that was killed."""
        nothing_follows = self.at_end or self.stopped  # first: what came before that is known was given before
        return nothing_follows and self._blocks.is_empty and not self.is_ending

    @property
    def next_to_give(self) -> int:
        """Return the first offset that is not in flight. Any thread may ask."""
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
    group. A topic that is re-created has another id in Kafka; brokers that know no ids leave its name."""
    text = "\0".join((group, topic, topic_id, str(number)))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
