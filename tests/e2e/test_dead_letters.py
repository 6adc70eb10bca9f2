"""Events that the output refuses: kept, shown, and sent again. The real process against a real broker."""

import json
import subprocess
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from demo.broker import Broker
from demo.process import SHIPPER_PROGRAM
from log_shipper.registry.load import read
from log_shipper.shipper.pipeline.publisher import RETRY_INTERVAL
from tests.e2e.running import REPOSITORY, Agent, Topic, await_true, expect_soon, frozen
from tests.e2e.test_shipper_topics import messages

pytestmark = pytest.mark.kafka

SOON = 3.0  # seconds: the reading thread hears a signal within one, on a machine that is not busy


def dead_letter(agent: Agent, *arguments: str, code: int = 0) -> str:
    command = [*SHIPPER_PROGRAM, "dead-letter", *arguments, "-c", str(agent.data.parent / "shipper.yml")]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr + done.stdout
    return done.stdout + done.stderr


def ship_three(agent: Agent) -> None:
    """Ship three events, of which two have no topic."""
    agent.append('{"message": "a", "app": "web"}', '{"message": "b", "n": 1}', '{"message": "c", "app": "no/topic"}')
    assert agent.once() == 3


def test_letters_are_listed_shown_and_sent_again(agent: Agent, kafka_broker: Broker, topic_name: str) -> None:
    for name in ("web", "other"):
        kafka_broker.create_topic(f"{topic_name}-{name}", 2)
    agent.send_to(parsers=[{"ndjson": {"target": ""}}], topic=f"{topic_name}-%{{[app]}}")
    ship_three(agent)
    first, second = dead_letter(agent, "list").splitlines()
    assert "the event has no field app" in first
    assert str(agent.path) in first
    shown = json.loads(dead_letter(agent, "show", second.split()[0]))
    assert (shown["message"], shown["event"]["app"]) == ("c", "no/topic")
    assert "1 letter was resent\n1 letter was left" in dead_letter(
        agent, "resend", first.split()[0], "--topic", f"{topic_name}-other"
    )
    assert dead_letter(agent, "list").splitlines() == [second]
    assert "1 letter was rejected again: see 'dead-letter list'" in dead_letter(agent, "resend", code=3)
    agent.send_to(topic=f"{topic_name}-other")
    assert dead_letter(agent, "resend") == "1 letter was resent\n"
    assert "no dead letters" in dead_letter(agent, "list")
    assert messages(kafka_broker, f"{topic_name}-other", 2) == ["b", "c"]
    assert dead_letter(agent, "resend") == "0 letters were resent\n"
    with_all = Topic(kafka_broker, f"{topic_name}-other")
    with_all.await_records(2)
    assert sorted(record.value.get("n", 0) for record in with_all.records) == [0, 1]
    with_all.close()


def test_letters_go_to_a_topic_where_one_is_configured(agent: Agent, kafka_broker: Broker, topic_name: str) -> None:
    letters = f"{topic_name}-letters"
    for name in (f"{topic_name}-web", letters):
        kafka_broker.create_topic(name, 2)
    agent.settings = {"dead_letter.kafka.topic": letters}
    agent.send_to(parsers=[{"ndjson": {"target": ""}}], topic=f"{topic_name}-%{{[app]}}")
    ship_three(agent)
    assert messages_of_letters(kafka_broker, letters) == ["b", "c"]
    assert not (agent.data / "dead_letter.ndjson").exists()
    assert f"saved to topic {letters}: the event has no field app" in agent.log


def messages_of_letters(broker: Broker, name: str) -> list[str]:
    topic = LetterTopic(broker, name)
    topic.await_records(2)
    topic.close()
    return [record.value["message"] for record in topic.records]


def test_letters_wait_for_a_broker_that_hangs_and_a_signal_is_heard(
    agent: Agent, kafka_broker: Broker, topic_name: str
) -> None:
    letters = f"{topic_name}-letters"
    kafka_broker.create_topic(letters, 2)
    agent.settings = {
        "dead_letter.kafka.topic": letters,
        "queue.mem.bytes": "8MiB",
        "shipper.shutdown_timeout": "100ms",
    }
    agent.send_to(topic="%{[app]}")
    agent.append("first")
    agent.start()
    agent.await_log(f"saved to topic {letters}")
    before = resident(agent.process.pid)
    messages = [f"{number} {'x' * 500}" for number in range(30_000)]
    refusal = "no acknowledgement from Kafka yet. "

    def stop() -> float:
        seen = agent.log.count(refusal)
        if agent.process.poll() is not None:
            agent.start()
            await_true(lambda: agent.log.count(refusal) > seen, "it waits again")
        time.sleep(RETRY_INTERVAL + 0.3)  # into the next try
        assert resident(agent.process.pid) - before < 48 * 1024**2
        began = time.monotonic()
        assert agent.stop() == 0
        return time.monotonic() - began

    with frozen(kafka_broker):
        agent.append(*messages)
        agent.await_log(refusal)
        expect_soon(SOON, stop)
    assert "stopped with unacknowledged events" in agent.log
    (state,) = read(agent.data / "registry").values()
    assert state.position == len("first\n")
    agent.settings["shipper.shutdown_timeout"] = "30s"
    agent.send_to(topic="%{[app]}")
    assert agent.once() == 3
    with closing(LetterTopic(kafka_broker, letters)) as topic:
        topic.read_to_end()  # the broker has taken some twice: what it was sent while it hung
        assert {record.value["message"] for record in topic.records} == {"first", *messages}
    assert not (agent.data / "dead_letter.ndjson").exists()


def resident(pid: int) -> int:
    """Return how many bytes of memory the process has."""
    return psutil.Process(pid).memory_info().rss


class LetterTopic(Topic):
    """A topic whose records are letters, which have the file id where they have it."""

    def _add(self, record: object) -> None:
        self.records.append(record)  # type: ignore[arg-type]


def test_a_topic_for_letters_needs_the_brokers_of_output_kafka(tmp_path: Path) -> None:
    config = tmp_path / "shipper.yml"
    config.write_text(
        f"shipper.inputs: [{{type: filestream, id: a, paths: [{tmp_path}/*.log]}}]\n"
        "output.console: {}\ndead_letter.kafka.topic: letters\n"
    )
    command = [*SHIPPER_PROGRAM, "test", "config", "-c", str(config)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "dead_letter.kafka: needs the brokers of output.kafka; remove it" in done.stderr + done.stdout


LARGE = "0123456789" * 2000


def ship_large(agent: Agent, topic: str, oversized: str) -> int:
    """Ship three events, of which the second is larger than a record may be."""
    agent.send_to(topic=topic, max_message_bytes=10_000, oversized=oversized)
    agent.append("before", LARGE, "after")
    return agent.once()


def test_a_large_event_is_cut_split_or_a_dead_letter(agent: Agent, kafka_broker: Broker, topic_name: str) -> None:
    topic = f"{topic_name}-large"
    kafka_broker.create_topic(topic, 1)
    assert ship_large(agent, topic, "cut") == 0
    first, cut, last = messages(kafka_broker, topic, 3)
    assert (first, last) == ("before", "after")
    assert LARGE.startswith(cut)
    assert 9000 < len(cut) < 10_000

    assert ship_large(agent, topic, "split") == 0
    before, *parts, after = messages(kafka_broker, topic, 8)[3:]
    assert (before, "".join(parts), after) == ("before", LARGE, "after")
    assert len(parts) == 3

    assert ship_large(agent, topic, "dead_letter") == 3
    assert messages(kafka_broker, topic, 10)[8:] == ["before", "after"]
    assert "max_message_bytes has room for" in dead_letter(agent, "list")
    agent.send_to(topic=topic, max_message_bytes=100_000)
    assert dead_letter(agent, "resend") == "1 letter was resent\n"
    assert messages(kafka_broker, topic, 11)[10:] == [LARGE]
