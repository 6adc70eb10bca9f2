"""Topics and partitions that come and go while the sink runs, or between two runs."""

import json

import pytest
from confluent_kafka.cimpl import NewPartitions

from demo.broker import Broker
from tests.e2e.running import await_true
from tests.e2e.sinking import PATIENCE, SinkLab, send

pytestmark = pytest.mark.kafka


@pytest.mark.slow("waits for what Kafka's clients find by themselves")
def test_new_topics_that_match_and_new_partitions_are_found_while_the_sink_runs(
    lab: SinkLab, kafka_broker: Broker
) -> None:
    (lab.directory / "sink.yml").write_text(
        f"kafka: {{hosts: ['{kafka_broker.bootstrap}'], topics_pattern: '{lab.topic}-.'}}\n"
        f"table.path: {lab.lines}\ncheckpoint.path: {lab.checkpoint}\ntrigger.interval: 0s\n"
    )
    lab.start()
    await_true(
        lambda: f"waiting for a topic that matches '{lab.topic}-.'" in lab.log_text(),
        "the sink says that it waits",
        PATIENCE,
    )
    one, two = f"{lab.topic}-1", f"{lab.topic}-2"
    kafka_broker.create_topic(f"{lab.topic}-no", 1)  # only a part of its name matches
    send(kafka_broker.bootstrap, f"{lab.topic}-no", 0, 1)
    kafka_broker.create_topic(one, 1)
    send(kafka_broker.bootstrap, one, 0, 2)
    await_true(lambda: "appeared" in lab.log_text() and lab.batches() > 0, "the first topic lands", PATIENCE)
    kafka_broker.create_topic(two, 1)
    send(kafka_broker.bootstrap, two, 0, 2)
    admin = kafka_broker.admin()
    admin.create_partitions([NewPartitions(one, 2)])[one].result(30)
    send(kafka_broker.bootstrap, one, 1, 2)
    await_true(lambda: ends(lab) == {one: {"0": 2, "1": 2}, two: {"0": 2}}, "both are found", PATIENCE)
    assert lab.terminate() == 0, lab.log_text()
    assert lab.messages() == sorted(
        f"{partition}/{number}" for partition in (f"{one}/0", f"{one}/1", f"{two}/0") for number in (0, 1)
    )


@pytest.mark.slow("three starts of Spark; landing/test_come_back.py proves what is done")
def test_a_topic_that_was_left_out_and_is_back_lands_each_record_once(lab: SinkLab, kafka_broker: Broker) -> None:
    """Records without a file id: only their place in Kafka shows that they have landed."""
    stays, back = f"{lab.topic}-stays", f"{lab.topic}-back"
    expected = []
    for number, read in enumerate(([stays, back], [stays], [stays, back])):
        for topic in (stays, back):
            if not number:
                kafka_broker.create_topic(topic, 1)
            send(kafka_broker.bootstrap, topic, 0, 3)
            expected += [f"{topic}/0/{number}" for number in range(3)]
        (lab.directory / "sink.yml").write_text(
            f"kafka: {{hosts: ['{kafka_broker.bootstrap}'], topics: [{', '.join(read)}]}}\n"
            f"table.path: {lab.lines}\ncheckpoint.path: {lab.checkpoint}\nlost_offsets: continue\n"
        )
        lab.start("--available-now")
        assert lab.wait() == 0, lab.log_text()
    assert f"{back}/0: missing from the checkpoint" in lab.log_text()
    assert ends(lab) == {stays: {"0": 9}, back: {"0": 9}}
    assert lab.messages() == sorted(expected)


def ends(lab: SinkLab) -> dict[str, dict[str, int]]:
    """Return the offsets of the last finished batch, from the last line of Spark's offset log."""
    done = max((int(file.name) for file in lab.checkpoint.glob("commits/[0-9]*")), default=None)
    text = (lab.checkpoint / "offsets" / str(done)).read_text() if done is not None else "{}"
    return json.loads(text.splitlines()[-1])  # type: ignore[no-any-return]  # JSON
