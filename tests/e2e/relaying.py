"""Agents that read one topic, as members of a group, and write another."""

import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any, Protocol

import orjson
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from demo.process import SHIPPER_PROGRAM
from tests.e2e.running import PATIENCE, REPOSITORY, await_true

PARTITIONS = 6


class Bootstrap(Protocol):
    """A Kafka, of one broker or of several."""

    @property
    def bootstrap(self) -> str: ...


class Relay:
    """One `shipper run` that relays `source` to `target`; `log` is what it logged."""

    def __init__(self, directory: Path, broker: Bootstrap, source: str, target: str) -> None:
        directory.mkdir(parents=True)
        self.options: dict[str, Any] = {"rebalance.timeout": "6s"}
        self.output: dict[str, Any] = {}
        self.other_inputs: list[dict[str, Any]] = []
        self.settings: dict[str, Any] = {}
        self._directory = directory
        self._bootstrap = broker.bootstrap
        self._source, self._target = source, target
        self._stderr = directory / "stderr.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *arguments: str, without_input: bool = False) -> None:
        """`without_input`: only `other_inputs` are read, until `reload`."""
        file = self._configure([] if without_input else [self._input()])
        command = [*SHIPPER_PROGRAM, "run", "-c", str(file), *arguments]
        with self._stderr.open("ab") as stderr:
            self._process = subprocess.Popen(command, cwd=REPOSITORY, stderr=stderr, stdout=stderr)

    def reload(self) -> None:
        """Have the agent read the options as they are now."""
        self._configure([self._input()])
        self.process.send_signal(signal.SIGHUP)

    def _input(self) -> dict[str, Any]:
        given = {"type": "kafka", "hosts": [self._bootstrap], "topics": [self._source], "group_id": self._target}
        return given | self.options

    def _configure(self, inputs: list[dict[str, Any]]) -> Path:
        written = {"hosts": [self._bootstrap], "topic": self._target, "backoff.max": "2s"}
        config = {
            "shipper.inputs": [*inputs, *self.other_inputs],
            "path.data": str(self._directory / "data"),
            "output.kafka": {**written, **self.output},
            **self.settings,
        }
        file = self._directory / "shipper.yml"
        file.write_bytes(orjson.dumps(config))
        file.chmod(0o600)
        return file

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    @property
    def log(self) -> str:
        return self._stderr.read_text()

    def await_log(self, text: str, timeout: float = PATIENCE) -> None:
        await_true(lambda: text in self.log, lambda: f"{text!r} in the log:\n{self.log[-2000:]}", timeout)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()


class Numbers:
    """Writes numbered records to a topic, and counts what of them is in another one, where they may be joined. Two of
    three are `indented`, if they are to be."""

    def __init__(self, broker: Bootstrap, source: str, target: str, isolation: str = "read_committed") -> None:
        self.written = 0
        self.indented = False
        self.seen: Counter[int] = Counter()
        self.records: dict[tuple[str, int], dict[str, Any]] = {}
        self.source = source
        self._settings = {
            "bootstrap.servers": broker.bootstrap,
            "linger.ms": 5,
            "log_level": 0,
            "enable.idempotence": True,  # what it sent again itself is not to be taken for a repeat
        }
        self.renew_producer()
        settings = {"bootstrap.servers": broker.bootstrap, "group.id": f"{target}-reader", "log_level": 0}
        self._consumer = Consumer({**settings, "isolation.level": isolation, "enable.auto.commit": False})
        self._consumer.assign([TopicPartition(target, number, 0) for number in range(PARTITIONS)])

    def renew_producer(self) -> None:
        """One that has written to a topic remembers it after it is deleted."""
        self._producer = Producer(self._settings)

    def write(self, count: int) -> None:
        numbers = range(self.written, self.written + count)
        for number in numbers:
            value = f" {number}" if self.indented and number % 3 else f"{number}"
            self._producer.produce(self.source, value, f"key-{number % 100}", on_delivery=_must_arrive)
            if not number % 1000:
                self._producer.poll(0)
        self._producer.flush(PATIENCE)
        self.written = numbers.stop

    def read(self, timeout: float = 0.1) -> int:
        """Return how many records came."""
        messages = self._consumer.consume(10_000, timeout)
        for message in messages:
            if (error := message.error()) is not None:
                if not error.retriable():
                    raise KafkaException(error)
                continue
            record = orjson.loads(message.value() or b"")
            self.seen.update(numbers_in(record))
            name = record["log"]["file"]["id"], record["log"]["offset"]
            before = self.records.setdefault(name, record)
            assert before["message"] == record["message"], "one name, two contents"
        return len(messages)

    def await_all(self, timeout: float = 2 * PATIENCE) -> None:
        def all_there() -> bool:
            self.read()
            return len(self.seen) >= self.written

        await_true(all_there, f"{self.written} different records", timeout)

    def read_for(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.read()

    @property
    def landed(self) -> Counter[int]:
        """Return the numbers in records of different names: those that a sink lands."""
        return Counter(number for record in self.records.values() for number in numbers_in(record))

    @property
    def repeated(self) -> int:
        return sum(self.seen.values()) - len(self.seen)

    def close(self) -> None:
        self._consumer.close()


def numbers_in(record: dict[str, Any]) -> list[int]:
    return [int(line) for line in record["message"].split("\n")]


def _must_arrive(error: Any, message: Any) -> None:
    if error is not None:
        raise KafkaException(error)
