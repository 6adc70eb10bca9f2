"""The shipper's daily work: the real process, real files, a real broker."""

import os
import time
from pathlib import Path

import pytest

from demo.broker import Broker
from tests.e2e.running import Agent, LiveWriter, Topic, lines_of

pytestmark = pytest.mark.kafka


def test_a_record_has_the_members_of_the_contract_in_their_order_and_the_file_id_as_key(
    agent: Agent, topic: Topic
) -> None:
    agent.append("first", 'Zoë\tsaid "hi"')
    assert agent.once() == 0

    topic.expect(agent.path)

    record = topic.records[1]
    value, status = record.value, agent.path.stat()
    assert list(value) == ["@timestamp", "message", "log", "input", "host", "agent", "ecs"]
    assert value["log"] == {
        "offset": 6,
        "length": 15,
        "file": {
            "path": str(agent.path),
            "inode": str(status.st_ino),
            "device_id": str(status.st_dev),
            "id": record.key,
        },
    }
    assert list(value["log"]["file"]) == ["path", "inode", "device_id", "id"]
    assert value["message"] == 'Zoë\tsaid "hi"'
    assert value["input"] == {"type": "filestream", "id": "app"}
    assert list(value["agent"]) == ["type", "version", "id", "name"]
    assert value["ecs"] == {"version": "8.17.0"}


def test_a_live_file_is_followed_through_rotations_by_rename(agent: Agent, topic: Topic) -> None:
    agent.start()
    rotated = []
    for number in range(3):
        with LiveWriter(agent.path):
            time.sleep(0.7)
            rotated.append(agent.logs / f"app.{number}.log")
            agent.path.rename(rotated[-1])
            time.sleep(0.3)  # a program still writes to the renamed file until it is signalled to open the new one
    agent.append("the last file has one line")

    for path in (*rotated, agent.path):
        topic.expect(path)
    assert len(topic.lives) == 4
    assert {record.partition for record in topic.records if record.key == topic.records[0].key} == {
        topic.records[0].partition
    }
    assert agent.stop() == 0


def test_a_line_is_shipped_only_when_its_end_is_written_and_then_as_one(agent: Agent, topic: Topic) -> None:
    agent.start()
    agent.append("whole")
    with agent.path.open("a") as file:
        file.write("half a line")
        file.flush()
        time.sleep(0.5)
        topic.read()
        file.write(", and the rest\n")

    topic.expect(agent.path)
    assert agent.stop() == 0


def test_lines_of_a_stack_trace_are_joined_by_content_and_the_last_ones_by_time(agent: Agent, topic: Topic) -> None:
    agent.configure(parsers=[{"multiline": {"pattern": r"^\S", "negate": True, "match": "after", "timeout": "1s"}}])
    trace = "java.io.IOException: gone\n\tat a.B.c(B.java:1)\n\tat a.B.main(B.java:2)"
    agent.start()
    agent.append("plain", *trace.split("\n"), "plain again", *trace.split("\n"))

    topic.await_records(4)

    assert [record.value["message"] for record in topic.records] == ["plain", trace, "plain again", trace]
    assert [record.value["log"].get("flags") for record in topic.records] == [None, ["multiline"], None, ["multiline"]]
    assert agent.stop() == 0


def test_a_message_that_was_ended_by_time_ends_there_again_after_a_kill(
    agent: Agent, topic: Topic, kafka_broker: Broker
) -> None:
    agent.configure(parsers=[{"multiline": {"pattern": r"^\S", "negate": True, "match": "after", "timeout": "300ms"}}])
    agent.append("start of a trace", "\tat one")
    agent.start()
    topic.await_records(1)

    agent.kill()  # its position may not be saved yet: the flush is every second, and the cut was saved before
    agent.append("\tat two", "next message")
    agent.start()
    topic.await_message("next message")

    (life,) = topic.lives.values()  # fails where one offset has two texts
    assert [value["message"] for value in life.values()] == ["start of a trace\n\tat one", "\tat two", "next message"]
    assert agent.stop() == 0


def test_a_truncated_file_is_a_new_life_from_its_start(agent: Agent, topic: Topic) -> None:
    agent.append("before the truncation", "and one more")
    agent.start()
    topic.expect(agent.path)

    os.truncate(agent.path, 0)
    agent.append("after it")
    topic.await_message("after it")

    first, second = topic.lives.values()
    assert [value["message"] for value in first.values()] == ["before the truncation", "and one more"]
    assert [value["message"] for value in second.values()] == ["after it"]
    assert "was truncated or rewritten" in agent.log
    assert agent.stop() == 0


def test_a_restart_resumes_where_the_last_run_was_acknowledged(agent: Agent, topic: Topic) -> None:
    agent.append("one", "two")
    assert agent.once() == 0
    agent.append("three")
    assert agent.once() == 0

    topic.expect(agent.path)
    assert len(topic.records) == 3


def test_a_file_that_only_appears_later_is_found(agent: Agent, topic: Topic) -> None:
    late = agent.logs / "deep" / "late.log"
    agent.configure([str(agent.logs / "*" / "*.log")])
    agent.start()
    agent.await_log("matches no file")

    late.parent.mkdir()
    agent.append("here it is", path=late)

    topic.expect(late)
    assert agent.stop() == 0


def test_lines_model_counts_raw_bytes(tmp_path: Path) -> None:
    assert lines_of("ä\r\n\nb\nopen".encode()) == [(0, 4, "ä"), (5, 2, "b")]
