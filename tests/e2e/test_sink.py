"""The sink as a process of its own, against a real broker: what is not a step of test_sink_story.py."""

import json
import random
import time

import pytest

from tests.e2e.sinking import BAD, SinkLab, spark_sink, status

pytestmark = pytest.mark.kafka


def test_what_a_batch_refuses_is_the_last_line(lab: SinkLab) -> None:
    lab.make_topic()
    lab.send_lines(3)
    table = f"{lab.directory}/tables/%{{[message]}}"
    message = lab.refused("-E", f"table.path={table}", "-E", "table.max_tables=2")
    assert "table.max_tables (2) tables" in message
    assert "Traceback" not in message
    assert "Traceback" in json.loads(lab.log_text().splitlines()[-1])["error.stack_trace"]


@pytest.mark.slow("six starts of Spark, killed at random")
def test_each_record_lands_once_however_often_the_job_is_killed(lab: SinkLab, seed: int) -> None:
    lab.make_topic()
    dice = random.Random(seed)
    for _ in range(4):
        lab.send_lines(1500)
        lab.send_bad(*BAD)
        before = lab.started_batches()
        lab.start()
        lab.await_batch_after(before)
        time.sleep(dice.uniform(0, 4))  # somewhere in this batch or the next ones
        lab.kill()
    lab.send_lines(500)
    before = lab.started_batches()
    lab.start()
    lab.await_batch_after(before)
    assert lab.terminate() == 0, lab.log_text()  # which ends in the middle of a batch, or behind it
    lab.land()


def test_status_of_missing_tables_and_without_kafka(lab: SinkLab) -> None:
    report = status(lab, 1, "-E", "kafka.hosts=127.0.0.1:1")
    assert "Kafka is not responding" in report["errors"][0]
    assert report["tables"][0]["path"] == str(lab.lines)
    lab.make_topic()
    assert [table["there"] for table in status(lab)["tables"]] == [False, False, False]
    human = spark_sink(lab, "status").stdout
    assert f"{lab.topic} " in human
    assert "lines " in human
