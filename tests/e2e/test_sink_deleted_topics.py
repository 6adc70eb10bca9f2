"""Topics that are deleted, or deleted and re-created, while a planned batch or the marks name their offsets."""

import json
from collections import Counter

import pytest
from confluent_kafka.cimpl import TopicPartition
from deltalake import DeltaTable

from demo.broker import Broker
from tests.e2e.running import await_true
from tests.e2e.sinking import BEGAN, PATIENCE, SinkLab, send, spark_sink

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.slow("several starts of Spark each; landing/test_deleted_topics.py proves what is decided"),
]


def configure(lab: SinkLab, broker: Broker, *topics: str, options: str = "") -> None:
    (lab.directory / "sink.yml").write_text(
        f"kafka: {{hosts: ['{broker.bootstrap}'], topics: [{', '.join(topics)}], metadata_max_age: 1s}}\n"
        f"table.path: {lab.lines}\ncheckpoint.path: {lab.checkpoint}\ntrigger.interval: 0s\n{options}"
    )


def land(lab: SinkLab) -> None:
    lab.start("--available-now")
    assert lab.wait() == 0, lab.log_text()


def plan(lab: SinkLab, *, committed: bool = False, **ends: int) -> None:
    """Leave the checkpoint as a process does that is killed before its batch lands; or, `committed`, as a run with
    bounds does that read further than it landed. `ends`: of partition 0 of each topic that the batch reads further."""
    offsets = lab.checkpoint / "offsets"
    last = max((path for path in offsets.glob("[0-9]*")), key=lambda path: int(path.name))
    lines = last.read_text().splitlines()
    planned = json.loads(lines[2]) | {topic: {"0": end} for topic, end in ends.items()}
    batch = str(int(last.name) + 1)
    (offsets / batch).write_text("\n".join([*lines[:2], json.dumps(planned)]))
    if committed:
        (lab.checkpoint / "commits" / batch).write_text((lab.checkpoint / "commits" / last.name).read_text())


def delete(broker: Broker, *topics: str) -> None:
    admin = broker.admin()
    for done in admin.delete_topics(list(topics)).values():
        done.result(PATIENCE)
    await_true(lambda: not set(topics) & set(admin.list_topics(timeout=60).topics), "the topics are deleted", PATIENCE)


def lost(lab: SinkLab) -> list[tuple[str, int, int]]:
    """Topic, first and last offset of each lost range in the dead letter."""
    table = DeltaTable(str(lab.dead_letter)).to_pyarrow_table().to_pylist()
    return sorted(
        (row["topic"], row["kafka_offset"], row["last_offset"]) for row in table if row["last_offset"] is not None
    )


def trim(broker: Broker, topic: str, first: int) -> None:
    """Delete the records before the offset, as retention does."""
    admin = broker.admin()
    for done in admin.delete_records([TopicPartition(topic, 0, first)]).values():
        done.result(PATIENCE)


@pytest.fixture
def topics(lab: SinkLab, kafka_broker: Broker) -> tuple[str, str]:
    """Two topics; three records of each have landed."""
    stays, other = f"{lab.topic}-stays", f"{lab.topic}-other"
    for topic in (stays, other):
        kafka_broker.create_topic(topic, 1)
        send(kafka_broker.bootstrap, topic, 0, 3)
    configure(lab, kafka_broker, stays, other)
    land(lab)
    return stays, other


@pytest.mark.parametrize("committed", [False, True])
def test_planned_offsets_of_a_deleted_topic_are_refused_or_recorded_as_lost(
    lab: SinkLab, kafka_broker: Broker, topics: tuple[str, str], committed: bool
) -> None:
    stays, other = topics
    for topic in topics:
        send(kafka_broker.bootstrap, topic, 0, 5)
    plan(lab, committed=committed, **{stays: 6, other: 5})
    delete(kafka_broker, other)
    message = lab.refused()
    assert message.startswith(f"topic {other}, partition 0, offsets 3 to 4: planned in the checkpoint {lab.checkpoint}")
    assert "set lost_offsets: continue" in message
    configure(lab, kafka_broker, stays, options="lost_offsets: fail\n")
    assert lab.refused() == message
    configure(lab, kafka_broker, stays, other, options="lost_offsets: continue\n")
    land(lab)
    assert lost(lab) == [(other, 3, 4)]
    assert Counter(text.split("/")[0] for text in lab.messages()) == {stays: 8, other: 3}
    configure(lab, kafka_broker, stays)
    send(kafka_broker.bootstrap, stays, 0, 1)
    land(lab)  # with lost_offsets: fail again
    assert lost(lab) == [(other, 3, 4)]
    assert len(lab.messages()) == 12


def test_a_topic_that_comes_back_or_is_new_loses_nothing_where_kafka_deleted_its_first_records(
    lab: SinkLab, kafka_broker: Broker, topics: tuple[str, str]
) -> None:
    """Batches are smaller than what Kafka has deleted."""
    stays, other = topics
    send(kafka_broker.bootstrap, other, 0, 30)
    land(lab)
    configure(lab, kafka_broker, stays, options="lost_offsets: continue\n")
    send(kafka_broker.bootstrap, stays, 0, 1)
    land(lab)
    send(kafka_broker.bootstrap, other, 0, 7)
    trim(kafka_broker, other, 25)
    new = f"{lab.topic}-new"
    kafka_broker.create_topic(new, 1)
    send(kafka_broker.bootstrap, new, 0, 35)
    trim(kafka_broker, new, 32)
    configure(lab, kafka_broker, stays, other, new, options="max_offsets_per_trigger: 10\n")
    land(lab)
    assert f"{new}/0: new; reading from the first record" in lab.log_text()
    assert Counter(text.split("/")[0] for text in lab.messages()) == {stays: 4, other: 40, new: 3}
    assert lost(lab) == []


def test_a_topic_that_is_recreated_while_the_sink_runs_without_it_is_refused(
    lab: SinkLab, kafka_broker: Broker, topics: tuple[str, str]
) -> None:
    stays, other = topics
    (lab.directory / "sink.yml").write_text(
        f"kafka: {{hosts: ['{kafka_broker.bootstrap}'], topics_pattern: '{lab.topic}-.*', metadata_max_age: 1s}}\n"
        f"lost_offsets: continue\ntable.path: {lab.lines}\ncheckpoint.path: {lab.checkpoint}\ntrigger.interval: 0s\n"
    )
    delete(kafka_broker, other)
    lab.start()
    send(kafka_broker.bootstrap, stays, 0, 1)
    await_true(lambda: len(lab.messages()) == 7, "the other topic lands", PATIENCE)
    kafka_broker.create_topic(other, 1)
    send(kafka_broker.bootstrap, other, 0, 5, BEGAN + 7)  # equal times would be the same records
    assert lab.wait() == 1, lab.log_text()
    assert f"the topic {other} was deleted and re-created" in lab.log_text()
    assert spark_sink(lab, "repair", "--from-kafka").returncode == 0
    land(lab)
    assert Counter(text.split("/")[0] for text in lab.messages()) == {stays: 4, other: 3 + 5}
