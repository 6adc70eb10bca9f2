"""The life of one sink as a process of its own, against a real broker: it waits, lands, is killed, kept, restored and
repaired, and loses its checkpoint.

A start of Spark takes some seconds, so these tests are steps: each continues with what the one before has left.
"""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from urllib.request import urlopen

import pytest
from deltalake import DeltaTable

from demo.broker import Broker
from demo.ports import free_ports
from demo.process import SINK_PROGRAM
from tests.e2e.running import await_true
from tests.e2e.sinking import BAD, PARTITIONS, PATIENCE, SinkLab, spark_sink, status
from tests.java import QUICK
from tests.tiers import GATE_SEED

pytestmark = pytest.mark.kafka

OF_JAVA = ("Picked up JAVA_TOOL_OPTIONS", "WARNING: Using incubator modules")  # as it starts, before there is a log


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, kafka_broker: Broker) -> Iterator[SinkLab]:
    lab = SinkLab(tmp_path_factory.mktemp("story"), kafka_broker, "story", GATE_SEED)
    yield lab
    lab.kill()


def test_it_waits_for_a_topic_that_does_not_exist_yet_and_lands_its_records(lab: SinkLab) -> None:
    (port,) = free_ports(1)
    lab.start("--available-now", "-E", "http.enabled=true", "-E", f"http.port={port}")
    await_true(lambda: "waiting for topic" in lab.log_text(), "the job says that it waits", PATIENCE)
    with urlopen(f"http://localhost:{port}/metrics") as answer:
        assert "spark_sink_topics_missing 1.0" in answer.read().decode()
    with urlopen(f"http://localhost:{port}/status") as answer:
        assert json.load(answer)["health"]["text"].startswith("Waiting for topic story.")
    lab.signal(signal.SIGSTOP)  # or it could find the topic, and the end of it, before there are records
    lab.make_topic()
    lab.send_lines(10)
    lab.signal(signal.SIGCONT)
    assert lab.wait() == 0, lab.log_text()
    lab.expect_all()
    assert '"landed_total":10' in lab.log_text()


def test_it_is_killed_in_a_batch(lab: SinkLab) -> None:
    lab.start()
    # It writes rows for a second or more. Of a batch that has ended by the time that it is looked at there is another
    # one, which is looked at sooner.
    for pause in (0.5, 0.5, 0.2, 0.2, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0):
        before = lab.started_batches()
        lab.send_lines(1000)
        lab.await_batch_after(before)
        time.sleep(pause)
        lab.signal(signal.SIGSTOP)
        if lab.started_batches() > lab.batches():
            break
        lab.signal(signal.SIGCONT)
    assert lab.started_batches() > lab.batches()
    lab.kill()


def test_started_again_it_runs_that_batch_again(lab: SinkLab) -> None:
    done = lab.batches()
    lab.start()
    await_true(lambda: lab.batches() > done, "the batch is committed", PATIENCE)


def test_each_record_has_landed_once(lab: SinkLab) -> None:
    lab.send_lines(100)
    lab.send_bad(*BAD)
    lab.await_all()
    assert Counter(reason for _, reason in lab.bad_values()) == {"not JSON": 1, "no value": 1, "no @timestamp": 1}


def test_it_starts_by_itself_after_a_power_cut(lab: SinkLab) -> None:
    """The newest files of Spark's checkpoint are empty, and the hint at the last checkpoint of the log is."""
    assert lab.terminate() == 0, lab.log_text()
    offsets, commits = (lab.checkpoint / name for name in ("offsets", "commits"))
    newest = max(int(path.name) for path in offsets.iterdir() if path.name.isdigit())
    (commits / str(newest)).write_bytes(b"")
    (offsets / str(newest + 1)).write_bytes(b"")
    (offsets / f".{newest + 1}.crc").write_bytes(b"")
    (lab.lines / "_delta_log" / "_last_checkpoint").write_bytes(b"")
    lab.send_lines(100)
    lab.start()
    lab.await_all()
    assert lab.log_text().count("deleted a file torn by a power cut") == 3


@pytest.mark.slow("two JVMs at once; maintenance/test_maintain.py runs beside a stream, too")
def test_maintain_keeps_the_tables_of_a_running_sink(lab: SinkLab) -> None:
    options = ["-E", "maintenance.optimize.closed_after=0", "-E", "maintenance.vacuum.mode=full"]
    command = [*SINK_PROGRAM, "maintain", "-c", str(lab.directory / "sink.yml"), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | QUICK) as maintaining:
        while maintaining.poll() is None:
            lab.send_lines(50)
            time.sleep(1)
        assert maintaining.stderr is not None
        errors = maintaining.stderr.read()
    assert maintaining.returncode == 0, errors
    assert "folded" in errors
    lab.await_all()


@pytest.mark.slow("a minute until the first round; maintenance/test_rounds.py proves the rest")
def test_it_keeps_its_tables_by_itself(lab: SinkLab) -> None:
    assert lab.terminate() == 0, lab.log_text()
    lab.start("-E", "maintenance.interval=1m", "-E", "maintenance.optimize.open_min_files=2")

    def is_maintained() -> bool:
        lab.send_lines(10)
        return '"message":"maintained: ' in lab.log_text()

    await_true(is_maintained, "a round of maintenance has ended", 60 + PATIENCE)
    lab.await_all()


def test_on_sigterm_it_finishes_the_running_batch(lab: SinkLab) -> None:
    before = lab.started_batches()
    lab.send_lines(5000)  # for several batches: Spark has planned the next one when it ends
    lab.await_batch_after(before)
    assert lab.terminate() == 0, lab.log_text()
    lines = [line for line in lab.log_text().splitlines() if not line.startswith(OF_JAVA)]
    *logged, last = map(json.loads, lines)
    assert {line["log.level"] for line in logged} <= {"info", "warning"}
    assert last["message"].startswith("stopped: ")
    await_true(lambda: not lab.processes(), "Java and the workers of Python end", PATIENCE)


def test_status_shows_lag_tables_and_bad_records(lab: SinkLab) -> None:
    rows, bad = lab.counts()
    report = status(lab)
    assert sum(partition["landed"] for partition in report["partitions"]) == rows + bad
    assert sum(partition["lag"] for partition in report["partitions"]) == lab.sent["good"] - rows
    assert [table["rows"] for table in report["tables"][:2]] == [rows, bad]
    assert Counter({reason["reason"]: reason["rows"] for reason in report["dead_letter"]}).total() == 3


def test_everything_that_it_needs_is_reached(lab: SinkLab) -> None:
    tried = spark_sink(lab, "test", "output")
    assert tried.returncode == 0, tried.stdout + tried.stderr
    kafka, table, *_ = tried.stdout.splitlines()
    assert kafka.endswith(f"... OK (topic {lab.topic}: {PARTITIONS} partitions)")
    assert table == f"table.path {lab.lines}... OK (version {DeltaTable(lab.lines).version()})"


@pytest.mark.slow("a start of Spark each; landing/test_kills.py and maintenance/test_repair.py prove what is done")
def test_a_restored_table_is_refused(lab: SinkLab) -> None:
    rows, _ = lab.counts()
    DeltaTable(str(lab.lines)).restore(2)
    assert lab.counts()[0] < rows
    message = lab.refused()
    assert f"the table {lab.lines} was restored to an earlier version" in message
    assert "spark-sink repair --from-kafka" in message


@pytest.mark.slow("a start of Spark each; landing/test_kills.py and maintenance/test_repair.py prove what is done")
def test_repair_lands_what_the_restored_table_lacks_and_nothing_twice(lab: SinkLab) -> None:
    done = spark_sink(lab, "repair", "--from-kafka")
    assert done.returncode == 0, done.stderr
    assert "missing records" in done.stderr.splitlines()[-1]
    assert len(set(lab.messages())) == len(lab.messages())


@pytest.mark.slow("a start of Spark each; landing/test_kills.py and maintenance/test_repair.py prove what is done")
def test_after_the_repair_it_resumes(lab: SinkLab) -> None:
    lab.send_lines(100)
    lab.land()


@pytest.mark.slow("a start of Spark each; landing/test_kills.py and maintenance/test_repair.py prove what is done")
def test_without_its_checkpoint_it_resumes_where_the_table_ends(lab: SinkLab) -> None:
    lab.checkpoint.rename(lab.directory / "lost")
    lab.send_lines(100)
    lab.send_bad(b"no JSON")
    lab.land()
