"""Where a group with `initial_offset: latest` begins: at the end of what was there before it, and nowhere else."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from log_shipper.shipper.inputs.kafka.partition import Place
from tests.fakes import ManualClock
from tests.member_desk import OTHER, PLACE, Desk
from tests.memory_topics import FakeMessage

ADDED = ("logs", 2)


@pytest.fixture
def desk() -> Desk:
    desk = Desk(ManualClock(), options={"initial_offset": "latest"})
    for place in (PLACE, OTHER):
        desk.topics.write(place, b"early")
    desk.topics.partitions["logs"] = 2
    return desk


def begin(desk: Desk, *places: Place) -> None:
    desk.begin()
    desk.consumer.give(*places)
    desk.step()


def texts(desk: Desk, place: Place) -> list[str]:
    partition = desk.session.rebalances.partitions[place]
    return [text for batch in desk.read(partition) for text in batch.messages.texts]


def add_partition(desk: Desk) -> None:
    desk.topics.partitions["logs"] = 3
    desk.topics.write(ADDED, b"late")


@pytest.mark.parametrize("is_another_member", [False, True])
def test_a_partition_that_is_added_is_read_from_its_first_record(desk: Desk, is_another_member: bool) -> None:
    begin(desk, PLACE, OTHER)
    add_partition(desk)
    if is_another_member:
        begin(desk, ADDED)
    else:
        desk.consumer.give(ADDED)
        desk.step()
    assert texts(desk, ADDED) == ["late"]
    assert (desk.topics.committed[ADDED], desk.topics.metadata[ADDED]) == (0, "shipper 1: topic id-logs of 2")


def test_partitions_that_members_get_one_after_the_other_begin_at_their_end(desk: Desk) -> None:
    begin(desk, PLACE)
    begin(desk, OTHER)
    assert texts(desk, OTHER) == []
    assert desk.topics.committed == {PLACE: 1, OTHER: 1}


def test_the_number_is_known_also_after_records_were_delivered(desk: Desk) -> None:
    begin(desk, PLACE)
    desk.topics.write(PLACE, b"one")
    desk.step()
    add_partition(desk)
    for batch in desk.read():
        batch.resolve()
    desk.step(2)
    assert desk.topics.committed[PLACE] == 2
    begin(desk, OTHER, ADDED)
    assert (texts(desk, OTHER), texts(desk, ADDED)) == ([], ["late"])


def test_of_offsets_that_another_tool_has_set_the_number_is_learnt(desk: Desk) -> None:
    desk.topics.committed = {PLACE: 0, OTHER: 1}
    begin(desk, PLACE, OTHER)
    for batch in desk.read():
        batch.resolve()
    desk.step(2)
    add_partition(desk)
    begin(desk, ADDED)
    assert texts(desk, ADDED) == ["late"]


def test_where_brokers_tell_no_number_a_partition_begins_at_its_end(desk: Desk) -> None:
    desk.topics.partitions.clear()
    begin(desk, PLACE, OTHER)
    assert (texts(desk, PLACE), desk.topics.metadata[PLACE]) == ([], "shipper 1: topic id-logs")


def test_a_topic_that_is_made_again_is_read_from_its_first_record_where_kafka_removed_its_offsets(desk: Desk) -> None:
    begin(desk, PLACE, OTHER)
    desk.step(2)
    context = desk.made
    desk.topics.recreate("logs")
    desk.topics.ids["logs"] = "again"
    desk.topics.write(PLACE, b"new")
    desk.step(20)
    assert desk.session.is_over
    desk.begin(context)
    desk.consumer.give(PLACE)
    desk.step()
    assert texts(desk, PLACE) == ["new"]
    assert (desk.topics.committed[PLACE], desk.topics.metadata[PLACE]) == (0, "shipper 1: topic again of 0")
    desk.topics.write(OTHER, b"newer")
    begin(desk, OTHER)  # a member that did not see it
    assert texts(desk, OTHER) == ["newer"]


def test_a_partition_of_a_topic_that_was_made_again_larger_is_read_from_its_first_record(desk: Desk) -> None:
    begin(desk, PLACE, OTHER)
    desk.topics.ids["logs"] = "another"
    add_partition(desk)
    begin(desk, ADDED)
    assert texts(desk, ADDED) == ["late"]


def test_a_topic_that_did_not_exist_is_read_from_its_first_record(desk: Desk) -> None:
    desk.begin()
    unknown = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
    before, desk.topics.records[PLACE] = desk.topics.records[PLACE], [FakeMessage(PLACE, 0, failure=unknown)]
    desk.consumer.positions[PLACE] = 0
    desk.step()
    desk.topics.records[PLACE] = before
    desk.consumer.give(PLACE)
    desk.step()
    assert texts(desk, PLACE) == ["early"]


def test_a_topic_that_is_deleted_at_the_assignment_is_not_taken_for_one_without_an_id(desk: Desk) -> None:
    desk.topics.committed[PLACE] = 1
    desk.topics.deleted.add("logs")
    desk.begin()
    desk.consumer.give(PLACE)
    with pytest.raises(KafkaException, match="logs was deleted"):
        desk.step()
    assert desk.consumer.positions == {}
