"""Where a group with `initial_offset: latest` begins: at the end of what was there before it, and nowhere else."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from log_shipper.shipper.inputs.kafka.partition import Place
from tests.fakes import ManualClock
from tests.member_lab import OTHER, PLACE, MemberLab
from tests.memory_topics import FakeMessage

ADDED = ("logs", 2)


@pytest.fixture
def lab() -> MemberLab:
    lab = MemberLab(ManualClock(), options={"initial_offset": "latest"})
    for place in (PLACE, OTHER):
        lab.topics.write(place, b"early")
    lab.topics.partitions["logs"] = 2
    return lab


def begin(lab: MemberLab, *places: Place) -> None:
    lab.begin()
    lab.consumer.plan_assignment(*places)
    lab.step()


def texts(lab: MemberLab, place: Place) -> list[str]:
    partition = lab.session.rebalances.partitions[place]
    return [text for batch in lab.read(partition) for text in batch.messages.texts]


def add_partition(lab: MemberLab) -> None:
    lab.topics.partitions["logs"] = 3
    lab.topics.write(ADDED, b"late")


@pytest.mark.parametrize("is_another_member", [False, True])
def test_a_partition_that_is_added_is_read_from_its_first_record(lab: MemberLab, is_another_member: bool) -> None:
    begin(lab, PLACE, OTHER)
    add_partition(lab)
    if is_another_member:
        begin(lab, ADDED)
    else:
        lab.consumer.plan_assignment(ADDED)
        lab.step()
    assert texts(lab, ADDED) == ["late"]
    assert (lab.topics.committed[ADDED], lab.topics.metadata[ADDED]) == (0, "shipper 1: topic id-logs of 2")


def test_partitions_that_members_get_one_after_the_other_begin_at_their_end(lab: MemberLab) -> None:
    begin(lab, PLACE)
    begin(lab, OTHER)
    assert texts(lab, OTHER) == []
    assert lab.topics.committed == {PLACE: 1, OTHER: 1}


def test_the_number_is_known_also_after_records_were_delivered(lab: MemberLab) -> None:
    begin(lab, PLACE)
    lab.topics.write(PLACE, b"one")
    lab.step()
    add_partition(lab)
    for batch in lab.read():
        batch.resolve()
    lab.step(2)
    assert lab.topics.committed[PLACE] == 2
    begin(lab, OTHER, ADDED)
    assert (texts(lab, OTHER), texts(lab, ADDED)) == ([], ["late"])


def test_of_offsets_that_another_tool_has_set_the_number_is_learnt(lab: MemberLab) -> None:
    lab.topics.committed = {PLACE: 0, OTHER: 1}
    begin(lab, PLACE, OTHER)
    for batch in lab.read():
        batch.resolve()
    lab.step(2)
    add_partition(lab)
    begin(lab, ADDED)
    assert texts(lab, ADDED) == ["late"]


def test_where_brokers_tell_no_number_a_partition_begins_at_its_end(lab: MemberLab) -> None:
    lab.topics.partitions.clear()
    begin(lab, PLACE, OTHER)
    assert (texts(lab, PLACE), lab.topics.metadata[PLACE]) == ([], "shipper 1: topic id-logs")


def test_a_topic_that_is_made_again_is_read_from_its_first_record_where_kafka_removed_its_offsets(
    lab: MemberLab,
) -> None:
    begin(lab, PLACE, OTHER)
    lab.step(2)
    context = lab.made
    lab.topics.recreate("logs")
    lab.topics.ids["logs"] = "again"
    lab.topics.write(PLACE, b"new")
    lab.step(20)
    assert lab.session.is_over
    lab.begin(context)
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    assert texts(lab, PLACE) == ["new"]
    assert (lab.topics.committed[PLACE], lab.topics.metadata[PLACE]) == (0, "shipper 1: topic again of 0")
    lab.topics.write(OTHER, b"newer")
    begin(lab, OTHER)  # a member that did not see it
    assert texts(lab, OTHER) == ["newer"]


def test_a_partition_of_a_topic_that_was_made_again_larger_is_read_from_its_first_record(lab: MemberLab) -> None:
    begin(lab, PLACE, OTHER)
    lab.topics.ids["logs"] = "another"
    add_partition(lab)
    begin(lab, ADDED)
    assert texts(lab, ADDED) == ["late"]


def test_a_topic_that_did_not_exist_is_read_from_its_first_record(lab: MemberLab) -> None:
    lab.begin()
    unknown = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    before, lab.topics.records[PLACE] = lab.topics.records[PLACE], [FakeMessage(PLACE, 0, failure=unknown)]
    lab.consumer.positions[PLACE] = 0
    lab.step()
    lab.topics.records[PLACE] = before
    lab.consumer.plan_assignment(PLACE)
    lab.step()
    assert texts(lab, PLACE) == ["early"]


def test_a_topic_that_is_deleted_at_the_assignment_is_not_taken_for_one_without_an_id(lab: MemberLab) -> None:
    lab.topics.committed[PLACE] = 1
    lab.topics.deleted.add("logs")
    lab.begin()
    lab.consumer.plan_assignment(PLACE)
    with pytest.raises(KafkaException, match="logs was deleted"):
        lab.step()
    assert lab.consumer.positions == {}
