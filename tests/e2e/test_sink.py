"""The sink as a process of its own, against a real broker: killed, stopped, refused."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from config.sink import CheckpointConfig, KafkaSource, SinkConfig, TableConfig
from demo.broker import Broker
from spark_sink.session import open_session

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    # Py4J leaves the closing of its sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

PATIENCE = 180  # seconds, on a busy machine; an ordinary start takes ten
PARTITIONS = 3


def eventually(what: str, true: Callable[[], bool], patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not true():
        assert time.monotonic() < deadline, f"waited {patience:.0f} s for: {what}"
        time.sleep(0.05)


class SinkLab:
    """One topic, one table, and the sink's process between them."""

    def __init__(self, directory: Path, broker: Broker, topic: str, spark: SparkSession) -> None:
        self.directory = directory
        self.topic = topic
        self.lines = directory / "lines"
        self.checkpoint = directory / "checkpoint"
        self.log = directory / "sink.log"
        self._spark = spark
        self._producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
        self._process: subprocess.Popen[bytes] | None = None
        self.sent: Counter[str] = Counter()
        (directory / "sink.yml").write_text(
            f"kafka: {{hosts: ['{broker.bootstrap}'], topics: [{topic}]}}\n"
            f"table.path: {self.lines}\ncheckpoint.path: {self.checkpoint}\n"
            "max_offsets_per_trigger: 1200\ntrigger.interval: 0s\n"
        )

    def send_lines(self, count: int) -> None:
        for _ in range(count):
            text = f"line {self.sent['good']}"
            record = {"@timestamp": "2026-11-21T09:30:00Z", "message": text, "log": {"offset": self.sent["good"]}}
            self.send(json.dumps(record).encode())
            self.sent["good"] += 1
        self._producer.flush(30)

    def send(self, value: bytes | None) -> None:
        self._producer.produce(self.topic, value, key=b"file", partition=random.randrange(PARTITIONS))

    def send_bad(self, *values: bytes | None) -> None:
        for value in values:
            self.send(value)
        self.sent["bad"] += len(values)
        self._producer.flush(30)

    def start(self, *options: str) -> None:
        command = [sys.executable, "-m", "spark_sink", "run", "-c", str(self.directory / "sink.yml"), *options]
        # The process lives for seconds: what the second compiler would win, it costs several times over.
        environment = os.environ | {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait(PATIENCE)

    def terminate(self) -> int:
        assert self._process is not None
        self._process.terminate()
        return self.wait()

    def kill(self) -> None:
        """kill -9 of Python and JVM together."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def said(self) -> str:
        return self.log.read_text()

    def batches(self) -> int:
        return len(list(self.checkpoint.glob("commits/[0-9]*")))

    def begun(self) -> int:
        return len(list(self.checkpoint.glob("offsets/[0-9]*")))

    def counts(self) -> tuple[int, int]:
        return self._rows(self.lines).count(), self._rows(Path(f"{self.lines}_dead_letter")).count()

    def messages(self) -> list[str]:
        return sorted(row.message for row in self._rows(self.lines).select("message").collect())

    def bad_values(self) -> list[tuple[bytes | None, str]]:
        rows = self._rows(Path(f"{self.lines}_dead_letter")).select("value", "reason").collect()
        return [(None if row.value is None else bytes(row.value), row.reason) for row in rows]

    def _rows(self, path: Path):  # type: ignore[no-untyped-def]  # Spark's class has two homes
        return self._spark.read.format("delta").load(str(path))


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """Reads what the processes have written."""
    directory = str(tmp_path_factory.mktemp("spark"))
    source = KafkaSource(hosts=("none:9092",), topics=("none",))
    return open_session(
        SinkConfig(kafka=source, table=TableConfig(path=directory), checkpoint=CheckpointConfig(path=directory))
    )


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with Broker(tmp_path_factory.mktemp("broker"), heap="256m") as broker:
        yield broker


@pytest.fixture
def lab(tmp_path: Path, broker: Broker, spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SinkLab]:
    lab = SinkLab(tmp_path, broker, request.node.name, spark)
    yield lab
    lab.kill()


def test_each_record_lands_once_though_the_job_is_killed_and_stopped(lab: SinkLab, broker: Broker) -> None:
    broker.create_topic(lab.topic, PARTITIONS)
    seed = random.randrange(1_000_000)
    print("seed", seed)  # noqa: T201 - shown when the test fails
    chance = random.Random(seed)
    for _ in range(2):
        lab.send_lines(1500)
        lab.send_bad(b"no JSON", None, b'{"message":"no time"}')
        begun = lab.begun()
        lab.start()
        eventually("a batch begins", lambda before=begun: lab.begun() > before)  # type: ignore[misc]  # bound on purpose
        time.sleep(chance.uniform(0, 4))  # somewhere in this batch or the next ones
        lab.kill()
    lab.start()
    lab.send_lines(500)
    eventually("all is landed", lambda: lab.batches() == lab.begun() and lab.counts() == (3500, 6))
    assert lab.terminate() == 0, lab.said()
    assert lab.messages() == sorted(f"line {number}" for number in range(3500))
    assert Counter(reason for _, reason in lab.bad_values()) == {"not JSON": 2, "no value": 2, "no @timestamp": 2}

    lab.checkpoint.rename(lab.directory / "lost")
    lab.start("--available-now")
    assert lab.wait() == 1
    last = json.loads(lab.said().splitlines()[-1])
    assert "has rows of" in last["message"]
    assert "bring the checkpoint back" in last["message"]
    assert lab.counts() == (3500, 6)


def test_the_job_waits_for_a_topic_that_is_not_there_yet_and_lands_what_comes(lab: SinkLab, broker: Broker) -> None:
    lab.start("--available-now")
    eventually("the job says that it waits", lambda: "waiting for topic" in lab.said())
    broker.create_topic(lab.topic, PARTITIONS)
    lab.send_lines(10)
    assert lab.wait() == 0, lab.said()
    assert lab.messages() == sorted(f"line {number}" for number in range(10))
    assert '"landed_total": 10' in lab.said()
