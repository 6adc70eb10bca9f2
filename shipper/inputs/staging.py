"""Compute the positions after a transaction's commit.

An output with transactions writes the positions with the records, so it needs them before anything may move: until the
commit no position is noted, and no file closed or deleted. So its batches are resolved while they are *staged*: their
ledgers keep them open, and the future entries of the files are made. After the commit they are settled, as a resolved
batch otherwise is at once. A failed transaction is repeated with the same batches, so nothing ever has to be unstaged.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from log_shipper.registry import entry
from log_shipper.registry.state import FileState
from log_shipper.shipper.event import Batch, always_false
from log_shipper.shipper.pipeline.acks import Ledger, OpenBatch, Stage

SEND_TIMEOUT = 10.0  # seconds


class Group(Protocol):
    def metadata(self) -> object:
        """Return the metadata that proves to the broker that its member still has its partitions. Any thread may call
        it."""


@dataclass(frozen=True, slots=True)
class GroupOffset:
    """The position of a consumer group, and its metadata. `is_lost`: True once another member has the partition;
    `is_void`: True once the group must not get an offset of it, because no one can read these records again."""

    group: Group
    topic: str
    partition: int
    offset: int
    is_lost: Callable[[], bool]
    is_void: Callable[[], bool] = always_false
    metadata: str = ""


class OffsetSender(Protocol):
    """The part of confluent_kafka.Producer that is used."""

    def send_offsets_to_transaction(self, positions: list[Any], group_metadata: object, timeout: float) -> None: ...


StateAt = Callable[[int], FileState | GroupOffset | None]
# Makes the stage of a ledger from the function that returns the state at a position; None if there is no entry.
MakeStage = Callable[[StateAt], Stage]


class StagedPositions:
    """The positions of a transaction. Used by the reading thread only, except `add_offsets`."""

    def __init__(self, staged: Mapping[Ledger, tuple[list[OpenBatch], StateAt]]) -> None:
        self._staged = dict(staged)
        self.offsets: dict[Ledger, GroupOffset] = {}  # replaced as a whole: another thread reads it
        self.entries: dict[str, bytes] = {}  # the registry's entries, by file id
        for ledger, (nodes, state_at) in staged.items():
            state = state_at(ledger.position_with(set(nodes)))
            if isinstance(state, GroupOffset):
                self.offsets[ledger] = state
            elif state is not None:
                self.entries[state.id] = entry.encoded(state)

    def add_offsets(self, producer: OffsetSender) -> None:
        """Add the groups' offsets to the transaction. Blocks; any thread may call it. Raises KafkaException, after
        which the transaction must be aborted if the exception requires it."""
        groups: dict[Group, list[GroupOffset]] = {}
        for offset in self.offsets.values():
            groups.setdefault(offset.group, []).append(offset)
        for group, offsets in groups.items():
            _send(producer, group, offsets)

    def drop_lost(self) -> None:
        """Forget staged offsets of partitions that belong to another member by now."""
        lost = [ledger for ledger, offset in self.offsets.items() if offset.is_lost()]
        for ledger in lost:
            del self._staged[ledger]
        self.offsets = {ledger: offset for ledger, offset in self.offsets.items() if ledger not in lost}

    def commit(self) -> None:
        """Settle the staged batches: the positions move."""
        for ledger, (nodes, _) in self._staged.items():
            for node in nodes:
                ledger.settle(node)


class Staging:
    """The staging of batches. Used by the reading thread only, except `has_groups`: True once a transaction has had
    offsets of groups, or if it is known that there will be some."""

    def __init__(self) -> None:
        self.has_groups = False
        self._staged: dict[Ledger, tuple[list[OpenBatch], StateAt]] | None = None  # while batches are resolved for it

    def stage_for(self, state_at: StateAt) -> Stage:
        """Return the stage of a ledger. `state_at` returns the file's state, or the group's offset, at a position; None
        if there is no entry."""

        def takes(ledger: Ledger, node: OpenBatch) -> bool:
            if self._staged is not None:
                self._staged.setdefault(ledger, ([], state_at))[0].append(node)
            return self._staged is not None

        return takes

    def prepare(self, batches: Iterable[Batch]) -> StagedPositions:
        """Stage batches, and return the positions of the transaction that commits them."""
        staged = self._staged = {}
        for batch in batches:
            batch.resolve()
            batch.source.staged()
        self._staged = None
        positions = StagedPositions(staged)
        self.has_groups |= bool(positions.offsets)
        return positions


def _send(producer: OffsetSender, group: Group, offsets: Sequence[GroupOffset]) -> None:
    """Send the offsets. Blocks. Raises KafkaException; also if one of the partitions belongs to another member."""
    from confluent_kafka import KafkaError, KafkaException, TopicPartition  # few outputs have transactions

    # The metadata first: partitions taken from a member are marked as lost before it gets new metadata, and the broker
    # refuses the old.
    metadata = group.metadata()
    offsets = [offset for offset in offsets if not offset.is_void()]  # their records are sent without them
    if not offsets:
        return
    lost = [offset for offset in offsets if offset.is_lost()]
    if lost or metadata is None:
        words = "not a member of the group"
        if lost:
            words = f"{lost[0].topic}[{lost[0].partition}] is now assigned to another member"
        raise KafkaException(KafkaError(KafkaError.ILLEGAL_GENERATION, words, False, False, True))
    positions = [TopicPartition(offset.topic, offset.partition, offset.offset, offset.metadata) for offset in offsets]
    producer.send_offsets_to_transaction(positions, metadata, SEND_TIMEOUT)
