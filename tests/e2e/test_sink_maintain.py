"""`spark-sink maintain` and `status`, as processes of their own beside the running sink."""

import json
import os
import subprocess
import sys
from typing import Any

from demo.broker import Broker
from tests.e2e.running import await_true
from tests.e2e.sinking import PARTITIONS, PATIENCE, SinkLab
from tests.java import QUICK


def spark_sink(lab: SinkLab, command: str, *options: str) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-m", "spark_sink", command, "-c", str(lab.directory / "sink.yml"), *options]
    return subprocess.run(arguments, capture_output=True, text=True, env=os.environ | QUICK, timeout=PATIENCE)


def status(lab: SinkLab, code: int = 0) -> dict[str, Any]:
    done = spark_sink(lab, "status", "--json")
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_while_the_sink_runs_its_tables_are_kept_and_each_line_lands_once(lab: SinkLab, kafka_broker: Broker) -> None:
    kafka_broker.create_topic(lab.topic, PARTITIONS)
    found = status(lab)
    assert [table["there"] for table in found["tables"]] == [False, False, False]
    lab.send_lines(10)
    lab.start()
    lab.send_bad(b"no json")
    for _ in range(4):
        begun = lab.begun()
        lab.send_lines(100)
        lab.await_batch_after(begun)
    with subprocess.Popen(
        [sys.executable, "-m", "spark_sink", "maintain", "-c", str(lab.directory / "sink.yml"),
         "-E", "maintenance.optimize.closed_after=0", "-E", "maintenance.vacuum.mode=full"],
        stderr=subprocess.PIPE, text=True, env=os.environ | QUICK,
    ) as maintaining:  # fmt: skip
        while maintaining.poll() is None:
            begun = lab.begun()
            lab.send_lines(50)
            lab.await_batch_after(begun)
        assert maintaining.stderr is not None
        said = maintaining.stderr.read()
    assert maintaining.returncode == 0, said
    assert "folded" in said
    await_true(lambda: lab.counts() == (lab.sent["good"], 1), "all is landed", PATIENCE)
    assert lab.terminate() == 0, lab.said()
    assert lab.messages() == sorted(f"line {number}" for number in range(lab.sent["good"]))

    found = status(lab)
    assert sum(each["lag"] for each in found["partitions"]) == 0
    assert sum(each["landed"] for each in found["partitions"]) == lab.sent["good"] + 1
    assert [table["rows"] for table in found["tables"][:2]] == [lab.sent["good"], 1]
    assert [each["rows"] for each in found["dead_letter"]] == [1]
    human = spark_sink(lab, "status").stdout
    assert f"{lab.topic} " in human
    assert "lines " in human


def test_when_kafka_is_away_status_says_so_and_shows_the_rest(lab: SinkLab) -> None:
    config = lab.directory / "sink.yml"
    done = spark_sink(lab, "status", "--json", "-E", "kafka.hosts=127.0.0.1:1")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert "Kafka does not answer" in found["errors"][0]
    assert found["tables"][0]["path"] in config.read_text()
