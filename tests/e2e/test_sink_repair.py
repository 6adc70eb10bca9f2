"""`spark-sink repair --from-kafka`, as a process of its own against a real broker."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter

import pytest
from pyspark.sql import SparkSession

from demo.broker import Broker
from tests.e2e.running import await_true
from tests.e2e.sinking import PARTITIONS, PATIENCE, SinkLab
from tests.java import QUICK

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


def begin_repair(lab: SinkLab, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "spark_sink", "repair", "-c", str(lab.directory / "sink.yml"), "--from-kafka"]
    environment = os.environ | QUICK
    return subprocess.Popen(
        [*command, *options], stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )


def repair(lab: SinkLab, *options: str) -> str:
    """What it said last."""
    with begin_repair(lab, *options) as repairing:
        said = repairing.communicate(timeout=PATIENCE)[1]
    assert repairing.returncode == 0, said
    return str(json.loads(said.splitlines()[-1])["message"])


def killed_repair(lab: SinkLab) -> None:
    """kill -9 when a part of it has landed."""
    with begin_repair(lab, "-E", "max_offsets_per_trigger=100") as repairing:
        assert repairing.stderr is not None
        try:
            assert any("offsets read again" in line for line in repairing.stderr), "it ended before"
        finally:
            os.killpg(repairing.pid, signal.SIGKILL)


def refused(lab: SinkLab) -> str:
    lab.start("--available-now")
    assert lab.wait() == 1, lab.said()
    return str(json.loads(lab.said().splitlines()[-1])["message"])


def land_twice(lab: SinkLab) -> None:
    """300 lines and two bad records, then as many again, in two batches at least."""
    lab.start()
    for _ in range(2):
        lab.send_lines(300)
        lab.send_bad(b"no JSON", b"{}")
        expected = (lab.sent["good"], lab.sent["bad"])
        await_true(lambda expected=expected: landed(lab) == expected, "all is landed", PATIENCE)  # type: ignore[misc]
    assert lab.terminate() == 0, lab.said()


def landed(lab: SinkLab) -> tuple[int, int]:
    first = "_delta_log/00000000000000000000.json"
    there = all((table / first).exists() for table in (lab.lines, lab.directory / "lines_dead_letter"))
    return lab.counts() if there else (0, 0)


def expect_all(lab: SinkLab) -> None:
    assert lab.counts() == (lab.sent["good"], lab.sent["bad"])
    assert lab.messages() == sorted(f"line {number}" for number in range(lab.sent["good"]))


def test_after_a_restore_what_is_missing_is_landed_again_and_nothing_twice(
    lab: SinkLab, kafka_broker: Broker, spark: SparkSession
) -> None:
    kafka_broker.create_topic(lab.topic, PARTITIONS)
    land_twice(lab)
    for table in (lab.lines, f"{lab.lines}_dead_letter"):
        spark.sql(f"RESTORE TABLE delta.`{table}` TO VERSION AS OF 1")
    rows, bad = lab.counts()
    assert 0 < rows < 600
    assert 0 < bad < 4

    said = refused(lab)
    assert f"the table {lab.lines} was restored to an earlier version" in said
    assert "spark-sink repair --from-kafka" in said
    assert repair(lab, "--dry-run").startswith(f"{604 - rows - bad} records are in no table")
    assert lab.counts() == (rows, bad)

    killed_repair(lab)
    said = refused(lab)
    assert "did not come to its end" in said
    assert "spark-sink repair --from-kafka" in said

    assert "records were missing and have landed" in repair(lab)
    expect_all(lab)
    lab.send_lines(100)
    lab.start("--available-now")
    assert lab.wait() == 0, lab.said()
    expect_all(lab)
    assert Counter(reason for _, reason in lab.bad_values()) == {"not JSON": 2, "no @timestamp": 2}


def land(lab: SinkLab, *options: str) -> None:
    lab.start("--available-now", *options)
    assert lab.wait() == 0, lab.said()
    expect_all(lab)


def test_of_a_topic_that_was_made_anew_every_record_lands_however_long_it_is(lab: SinkLab) -> None:
    """Nothing but its time in Kafka tells one of these records from that of the same offset before."""
    lab.make_topic()
    lab.send_lines(60)
    land(lab)

    lab.make_topic_anew()
    lab.send_lines(300)
    lab.send_bad(b"no JSON")
    assert f"topic {lab.topic} was made anew" in refused(lab)
    repair(lab)
    land(lab)

    lab.make_topic_anew()
    lab.send_lines(30)
    assert f"topic {lab.topic} was made anew" in refused(lab)
    repair(lab)
    expect_all(lab)
    lab.send_lines(30)
    assert "Move that checkpoint away and set start: table" in refused(lab)
    lab.checkpoint.rename(lab.directory / "old")
    land(lab, "-E", "start=table")
