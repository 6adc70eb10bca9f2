"""The positions of a transaction: known before it is committed, and moved after that."""

from typing import Any

import pytest
from confluent_kafka import KafkaException, TopicPartition

from log_shipper.registry.entry import decoded
from log_shipper.registry.state import FileState
from log_shipper.shipper.event import resolve_after_all
from log_shipper.shipper.inputs.staging import GroupOffset, Staging
from log_shipper.shipper.pipeline.acks import Ledger
from tests.builders import batch


def state_at(position: int) -> FileState:
    return FileState("f1", "/var/log/app.log", 1, 2, position=position)


class File:
    """A ledger of a file whose state is its position."""

    def __init__(self, staging: Staging) -> None:
        self.advances: list[int] = []
        self.staging = staging
        self.ledger = Ledger(0, self.advances.append, staging.stage_for(state_at))

    def prepare(self, *resolved: int) -> list[int]:
        """Stage batches of ten bytes each, of these numbers; return the positions that are to be committed."""
        self.positions = self.staging.prepare(batch([], resolve=self.resolves[number]) for number in resolved)
        return [decoded(entry).position for entry in self.positions.entries.values()]

    def track(self, batches: int) -> None:
        self.resolves = [self.ledger.track(end) for end in range(10, 10 * batches + 1, 10)]


def test_a_position_is_known_before_it_moves() -> None:
    file = File(Staging())
    file.track(3)
    assert file.prepare(0, 1) == [20]
    assert (file.ledger.position, file.ledger.open_batches, file.advances) == (0, 3, [])
    file.positions.commit()
    assert (file.ledger.position, file.ledger.open_batches, file.advances) == (20, 1, [10, 20])


def test_what_is_staged_behind_an_open_batch_does_not_count() -> None:
    file = File(Staging())
    file.track(3)
    assert file.prepare(0, 2) == [10]


def test_an_empty_batch_behind_a_staged_one_moves_with_it() -> None:
    file = File(Staging())
    file.track(2)
    file.prepare(0)
    file.resolves[1]()  # nothing of it is sent
    assert file.ledger.position == 0
    file.positions.commit()
    assert file.ledger.position == 20


def test_a_batch_is_staged_with_the_last_of_its_parts() -> None:
    file = File(Staging())
    file.track(1)
    file.resolves = resolve_after_all(file.resolves[0], 2)
    assert file.prepare(0) == []
    assert file.prepare(1) == [10]


def test_without_a_transaction_a_resolved_batch_moves_the_position_at_once() -> None:
    file = File(Staging())
    file.track(1)
    file.resolves[0]()
    assert file.ledger.position == 10


class Producer:
    """Keeps what is sent to it, with the metadata of the group."""

    def __init__(self) -> None:
        self.sent: list[tuple[list[TopicPartition], object]] = []

    def send_offsets_to_transaction(self, positions: list[Any], group_metadata: object, timeout: float) -> None:
        self.sent.append((positions, group_metadata))


class Member:
    def __init__(self) -> None:
        self.is_lost = self.is_void = False

    def metadata(self) -> object:
        return "generation 1"

    def ledger(self, staging: Staging, partition: int) -> Ledger:
        def offset_at(position: int) -> GroupOffset:
            return GroupOffset(self, "logs", partition, position, lambda: self.is_lost, lambda: self.is_void)

        return Ledger(0, None, staging.stage_for(offset_at))


def test_offsets_of_a_group_are_sent_with_the_records_and_have_no_entry() -> None:
    staging, producer, member = Staging(), Producer(), Member()
    resolves = [member.ledger(staging, partition).track(7) for partition in (0, 1)]
    offsets = staging.prepare(batch([], resolve=resolve) for resolve in resolves)
    assert offsets.entries == {}
    offsets.add_offsets(producer)
    ((positions, metadata),) = producer.sent
    assert [(position.partition, position.offset) for position in positions] == [(0, 7), (1, 7)]
    assert metadata == "generation 1"


def test_a_partition_that_is_lost_is_not_committed_and_forgotten_when_its_batches_are() -> None:
    staging, producer, member, kept = Staging(), Producer(), Member(), Member()
    lost_ledger, ledger = member.ledger(staging, 0), kept.ledger(staging, 1)
    offsets = staging.prepare(batch([], resolve=resolve) for resolve in (lost_ledger.track(7), ledger.track(8)))
    member.is_lost = True
    with pytest.raises(KafkaException) as raised:
        offsets.add_offsets(producer)
    assert raised.value.args[0].txn_requires_abort()
    offsets.drop_lost()
    producer.sent.clear()
    offsets.add_offsets(producer)
    assert [position.partition for positions, _ in producer.sent for position in positions] == [1]
    offsets.commit()
    assert (lost_ledger.position, ledger.position) == (0, 8)


def test_it_is_known_that_there_were_offsets_of_groups() -> None:
    staging = Staging()
    assert not staging.has_groups
    staging.prepare([batch([], resolve=Member().ledger(staging, 0).track(7))])
    assert staging.has_groups


def test_of_a_deleted_topic_the_records_are_sent_and_no_offset() -> None:
    staging, producer, member, kept = Staging(), Producer(), Member(), Member()
    deleted, ledger = member.ledger(staging, 0), kept.ledger(staging, 1)
    offsets = staging.prepare(batch([], resolve=resolve) for resolve in (deleted.track(7), ledger.track(8)))
    member.is_void = True
    offsets.add_offsets(producer)
    assert [position.partition for positions, _ in producer.sent for position in positions] == [1]
    offsets.commit()
    assert (deleted.position, ledger.position) == (7, 8)


def test_an_open_transaction_of_files_needs_no_group() -> None:
    file = File(Staging())
    file.track(1)
    file.prepare(0)
    file.positions.add_offsets(Producer())
