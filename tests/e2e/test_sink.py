"""The sink as a process of its own, against a real broker: killed, stopped, refused."""

import json
import random
import time
from collections import Counter
from urllib.request import urlopen

import pytest

from demo.broker import Broker
from demo.ports import free_ports
from tests.e2e.running import await_true
from tests.e2e.sinking import PARTITIONS, PATIENCE, SinkLab

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def test_each_record_lands_once_though_the_job_is_killed_and_stopped(lab: SinkLab, kafka_broker: Broker) -> None:
    kafka_broker.create_topic(lab.topic, PARTITIONS)
    seed = random.randrange(1_000_000)
    print("seed", seed)  # noqa: T201 - shown when the test fails
    chance = random.Random(seed)
    for _ in range(2):
        lab.send_lines(1500)
        lab.send_bad(b"no JSON", None, b'{"message":"no time"}')
        begun = lab.begun()
        lab.start()
        lab.await_batch_after(begun)
        time.sleep(chance.uniform(0, 4))  # somewhere in this batch or the next ones
        lab.kill()
    lab.send_lines(500)
    begun = lab.begun()
    lab.start()
    lab.await_batch_after(begun)
    assert lab.terminate() == 0, lab.said()  # which ends in the middle of a batch, or behind it
    lab.start("--available-now")
    assert lab.wait() == 0, lab.said()
    assert lab.counts() == (3500, 6)
    assert lab.messages() == sorted(f"line {number}" for number in range(3500))
    assert Counter(reason for _, reason in lab.bad_values()) == {"not JSON": 2, "no value": 2, "no @timestamp": 2}

    lab.checkpoint.rename(lab.directory / "lost")
    lab.start("--available-now")
    assert lab.wait() == 1
    last = json.loads(lab.said().splitlines()[-1])
    assert "has rows of" in last["message"]
    assert "bring the checkpoint back" in last["message"]
    assert "start: table" in last["message"]
    assert lab.counts() == (3500, 6)

    lab.send_lines(100)
    lab.send_bad(b"no JSON")
    lab.start("--available-now", "-E", "start=table")
    assert lab.wait() == 0, lab.said()
    assert lab.counts() == (3600, 7)
    assert lab.messages() == sorted(f"line {number}" for number in range(3600))


def test_the_job_waits_for_a_topic_that_is_not_there_yet_and_lands_what_comes(
    lab: SinkLab, kafka_broker: Broker
) -> None:
    (port,) = free_ports(1)
    lab.start("--available-now", "-E", "http.enabled=true", "-E", f"http.port={port}")
    await_true(lambda: "waiting for topic" in lab.said(), "the job says that it waits", PATIENCE)
    with urlopen(f"http://localhost:{port}/metrics") as answer:
        assert "spark_sink_topics_missing 1.0" in answer.read().decode()
    kafka_broker.create_topic(lab.topic, PARTITIONS)
    lab.send_lines(10)
    assert lab.wait() == 0, lab.said()
    assert lab.messages() == sorted(f"line {number}" for number in range(10))
    assert '"landed_total": 10' in lab.said()


def test_what_a_batch_refuses_is_the_last_line(lab: SinkLab, kafka_broker: Broker) -> None:
    kafka_broker.create_topic(lab.topic, PARTITIONS)
    lab.send_lines(3)
    table = f"{lab.directory}/tables/%{{[message]}}"
    lab.start("--available-now", "-E", f"table.path={table}", "-E", "table.max_tables=2")
    assert lab.wait() == 1
    last = json.loads(lab.said().splitlines()[-1])
    assert "table.max_tables (2) tables" in last["message"]
    assert "Traceback" not in last["message"]
    assert "Traceback" in last["error.stack_trace"]
