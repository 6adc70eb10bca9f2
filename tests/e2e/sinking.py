"""The sink as a process of its own, its tables, and what was sent to its topic."""

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Producer
from deltalake import DeltaTable

from demo.broker import Broker
from demo.process import SINK_PROGRAM
from tests.e2e.running import await_true
from tests.java import QUICK

PATIENCE = 180  # seconds, on a busy machine; an ordinary start takes ten
PARTITIONS = 3
BAD = (b"no JSON", None, b'{"message":"no time"}')  # for three reasons
BEGAN = round(time.time() * 1000) - 60_000  # recent, or Kafka's retention deletes the records


def send(host: str, topic: str, partition: int, count: int, began: int = BEGAN) -> None:
    """Send lines, one a second; `began`: the first one's time in Kafka, milliseconds of the epoch."""
    producer = Producer({"bootstrap.servers": host})
    for number in range(count):
        producer.produce(
            topic, line(f"{topic}/{partition}/{number}"), partition=partition, timestamp=began + 1000 * number
        )
    assert producer.flush(PATIENCE) == 0


def line(text: str) -> bytes:
    return json.dumps({"@timestamp": "2026-11-21T09:30:00Z", "message": text}).encode()


def _runs_in(session: int, process: int) -> bool:
    with suppress(ProcessLookupError, psutil.NoSuchProcess):
        return os.getsid(process) == session and psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    return False


class SinkProcess:
    """`spark-sink run` with the configuration `options` (YAML), its tables and checkpoint in `directory`."""

    def __init__(self, directory: Path, broker: Broker, topic: str, options: str) -> None:
        self.directory = directory
        self.topic = topic
        self.lines = directory / "lines"
        self.checkpoint = directory / "checkpoint"
        self.log = directory / "sink.log"
        self.environment: dict[str, str] = {}  # beside that of the tests
        self._process: subprocess.Popen[bytes] | None = None
        (directory / "sink.yml").write_text(
            f"kafka: {{hosts: ['{broker.bootstrap}'], topics: [{topic}], metadata_max_age: 1s}}\n"
            f"table.path: {self.lines}\ncheckpoint.path: {self.checkpoint}\ntrigger.interval: 0s\n{options}"
        )

    def start(self, *options: str) -> None:
        command = [*SINK_PROGRAM, "run", "-c", str(self.directory / "sink.yml"), *options]
        environment = os.environ | QUICK | self.environment
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)

    @property
    def code(self) -> int | None:
        """None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def wait(self) -> int:
        assert self._process is not None
        return self._process.wait(PATIENCE)

    def children(self) -> list[psutil.Process]:
        """Return the processes that it has started, and those that these have."""
        assert self._process is not None
        return psutil.Process(self._process.pid).children(recursive=True)

    def ask_to_end(self) -> None:
        assert self._process is not None
        self._process.terminate()

    def terminate(self) -> int:
        self.ask_to_end()
        return self.wait()

    def kill(self) -> None:
        """Kill (`kill -9`) Python and JVM together."""
        if self._process is not None and self._process.poll() is None:
            self.signal(signal.SIGKILL)
            self._process.wait()

    def signal(self, number: int) -> None:
        assert self._process is not None
        os.killpg(self._process.pid, number)

    def processes(self) -> list[int]:
        """Return the processes of its session that run still: Java, and Python's workers."""
        assert self._process is not None
        return [process for process in psutil.pids() if _runs_in(self._process.pid, process)]

    def log_text(self) -> str:
        return self.log.read_text()

    def batches(self) -> int:
        return self._next_batch("commits")

    def started_batches(self) -> int:
        return self._next_batch("offsets")

    def _next_batch(self, directory: str) -> int:
        """Return the number behind the highest: Spark keeps a hundred files."""
        return max((int(file.name) + 1 for file in self.checkpoint.glob(f"{directory}/[0-9]*")), default=0)

    def await_batch_after(self, before: int) -> None:
        def begins() -> bool:
            ended = self.code is not None  # read first: it may begin one and end
            landed = self.started_batches() > before
            assert landed or not ended, self.log_text()
            return landed

        await_true(begins, "a batch begins", PATIENCE)


class SinkLab(SinkProcess):
    """One topic, one table, and the sink's process between them. The tables are read without Java."""

    def __init__(self, directory: Path, broker: Broker, topic: str, seed: int) -> None:
        super().__init__(directory, broker, topic, "max_offsets_per_trigger: 1200\n")
        self._dice = random.Random(seed)
        self._broker = broker
        self._producer = self._new_producer()
        self.sent: Counter[str] = Counter()

    def _new_producer(self) -> Producer:
        return Producer({"bootstrap.servers": self._broker.bootstrap, "linger.ms": 5})

    def make_topic(self) -> None:
        self._broker.create_topic(self.topic, PARTITIONS)

    def recreate_topic(self) -> None:
        self._broker.delete_topic(self.topic)
        self.make_topic()
        self._producer = self._new_producer()  # the old one remembers the old topic

    def send_lines(self, count: int) -> None:
        for _ in range(count):
            text = f"line {self.sent['good']}"
            record = {"@timestamp": "2026-11-21T09:30:00Z", "message": text, "log": {"offset": self.sent["good"]}}
            self.send(json.dumps(record).encode())
            self.sent["good"] += 1
        assert self._producer.flush(PATIENCE) == 0

    def send(self, value: bytes | None) -> None:
        self._producer.produce(self.topic, value, key=b"file", partition=self._dice.randrange(PARTITIONS))

    def send_bad(self, *values: bytes | None) -> None:
        for value in values:
            self.send(value)
        self.sent["bad"] += len(values)
        assert self._producer.flush(PATIENCE) == 0

    def counts(self) -> tuple[int, int]:
        return len(self._rows(self.lines, "message")), len(self._rows(self.dead_letter, "reason"))

    @property
    def dead_letter(self) -> Path:
        return Path(f"{self.lines}_dead_letter")

    def messages(self) -> list[str]:
        return sorted(row["message"] for row in self._rows(self.lines, "message"))

    def landed(self) -> list[tuple[str, int, int, str]]:
        """File id, offset, raw length and text of each row."""
        columns = ("file_id", "offset", "length", "message")
        return sorted(tuple(row[name] for name in columns) for row in self._rows(self.lines, *columns))

    def bad_values(self) -> list[tuple[bytes | None, str]]:
        return [(row["value"], row["reason"]) for row in self._rows(self.dead_letter, "value", "reason")]

    def expect_all(self) -> None:
        assert self.counts() == (self.sent["good"], self.sent["bad"])
        assert self.messages() == sorted(f"line {number}" for number in range(self.sent["good"]))

    def await_all(self) -> None:
        """Wait until a running sink has landed all that was sent."""

        def all_landed() -> bool:
            assert self.code is None, self.log_text()
            return self.counts() == (self.sent["good"], self.sent["bad"])

        await_true(all_landed, "all is landed", PATIENCE)
        self.expect_all()

    def land(self, *options: str) -> None:
        """Land what is in the topic now, by a process of its own."""
        self.start("--available-now", *options)
        assert self.wait() == 0, self.log_text()
        self.expect_all()

    def refused(self, *options: str) -> str:
        """Return the last message of a start that must fail."""
        self.start("--available-now", *options)
        assert self.wait() == 1, self.log_text()
        return str(json.loads(self.log_text().splitlines()[-1])["message"])

    def _rows(self, path: Path, *columns: str) -> list[dict[str, Any]]:
        """Return no rows until the sink has created the table."""
        if not DeltaTable.is_deltatable(str(path)):
            return []
        rows: list[dict[str, Any]] = (
            DeltaTable(str(path)).to_pyarrow_dataset().to_table(columns=list(columns)).to_pylist()
        )
        return rows


def spark_sink(lab: SinkLab, *command: str) -> subprocess.CompletedProcess[str]:
    arguments = [*SINK_PROGRAM, *command, "-c", str(lab.directory / "sink.yml")]
    return subprocess.run(arguments, capture_output=True, text=True, env=os.environ | QUICK, timeout=PATIENCE)


def status(lab: SinkLab, code: int = 0, *options: str) -> dict[str, Any]:
    done = spark_sink(lab, "status", "--json", *options)
    assert done.returncode == code, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document
