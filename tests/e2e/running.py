"""The real process and the real topic: what the tests in this directory are written with."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from demo.broker import Broker
from demo.process import SHIPPER_PROGRAM
from log_shipper.runtime.http import UnixSocket
from log_shipper.runtime.monitor.client import Refused, get

REPOSITORY = Path(__file__).parents[2]
PATIENCE = 60.0  # seconds that a slow machine may take for what takes one here


def await_true(what: Callable[[], bool], why: str | Callable[[], str], timeout: float = PATIENCE) -> None:
    """Wait until `what` is true. `why`: what is awaited; a function if that shows a log, which is read at the end."""
    deadline = time.monotonic() + timeout
    while not what():
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {timeout} s: {why() if callable(why) else why}")
        time.sleep(0.02)


def expect_soon(seconds: float, attempt: Callable[[], float], attempts: int = 3) -> None:
    """Make an attempt, which returns how long something took; others where that was longer than `seconds`: a machine
    may stand still for a moment, but not each time."""
    took = [attempt()]
    while min(took) >= seconds and len(took) < attempts:
        took.append(attempt())
    assert min(took) < seconds, f"not once within {seconds} s: {took}"


@dataclass(frozen=True, slots=True)
class Record:
    key: str
    raw: bytes
    partition: int

    @property
    def value(self) -> dict[str, Any]:
        return orjson.loads(self.raw)  # type: ignore[no-any-return]


class Topic:
    """All records of a topic from its first one on, in the order of each partition.

    `lives`: by file id and offset, in the order of their first arrival. A repeat must be equal to the first.
    """

    def __init__(self, broker: Broker, name: str) -> None:
        self.name = name
        self.records: list[Record] = []
        self.lives: dict[str, dict[int, dict[str, Any]]] = {}
        settings = {"bootstrap.servers": broker.bootstrap, "group.id": name, "log_level": 0}
        self._consumer = Consumer({**settings, "enable.partition.eof": True})
        # To the other one, a partition ends before the first transaction that is open, or whose commit the coordinator
        # has promised and not yet written there.
        self._uncommitted = Consumer({**settings, "isolation.level": "read_uncommitted"})
        partitions = broker.admin().list_topics(name, timeout=PATIENCE).topics[name].partitions
        self._ends = dict.fromkeys(partitions, -1)  # where each partition ended when it was read up to there last
        self._consumer.assign([TopicPartition(name, number, 0) for number in partitions])

    def read(self, timeout: float = 0.1) -> None:
        for message in self._consumer.consume(10_000, timeout):
            if (error := message.error()) is None:
                key, value, partition = message.key(), message.value(), message.partition()
                assert key is not None
                assert value is not None
                assert partition is not None
                self._add(Record(key.decode(), value, partition))
            elif error.code() == KafkaError._PARTITION_EOF:
                self._ends[message.partition() or 0] = message.offset() or 0
            elif not error.retriable():
                raise KafkaException(error)

    def read_to_end(self, timeout: float = PATIENCE, never_ends: Callable[[], bool] = lambda: False) -> None:
        """Read all that is in the topic now; where a transaction is open, wait for its end, unless it `never_ends`."""
        ends: dict[int, int] = {}

        def are_known() -> bool:
            for number in self._ends.keys() - ends.keys():
                with suppress(KafkaException):  # after an outage, until the client knows the topic again
                    ends[number] = self._uncommitted.get_watermark_offsets(TopicPartition(self.name, number), 5)[1]
            return ends.keys() == self._ends.keys()

        def are_read() -> bool:
            self.read()
            return never_ends() or all(self._ends[number] >= end for number, end in ends.items())

        await_true(are_known, f"the ends of {self.name}", timeout)
        await_true(are_read, f"{self.name} is read to its end", timeout)

    def _add(self, record: Record) -> None:
        self.records.append(record)
        value = record.value
        assert record.key == value["log"]["file"]["id"]
        before = self.lives.setdefault(record.key, {}).setdefault(value["log"]["offset"], value)
        assert (before["message"], before["log"]) == (value["message"], value["log"]), "one offset, two records"

    @property
    def repeated(self) -> int:
        """How many records came a second time, of those that were read."""
        return len(self.records) - sum(map(len, self.lives.values()))

    def close(self) -> None:
        self._consumer.close()
        self._uncommitted.close()

    def await_records(self, count: int, timeout: float = PATIENCE) -> None:
        def enough() -> bool:
            self.read()
            return len(self.records) >= count

        await_true(enough, f"{count} records in {self.name}", timeout)

    def await_message(self, text: str, timeout: float = PATIENCE) -> None:
        def arrived() -> bool:
            self.read()
            return any(record.value["message"] == text for record in self.records)

        await_true(arrived, f"{text!r} in {self.name}", timeout)

    def life_of(self, inode: int) -> dict[int, dict[str, Any]]:
        """Return the one life of the file with this inode; {} if nothing of it has arrived."""
        lives = [
            life for life in self.lives.values() if next(iter(life.values()))["log"]["file"]["inode"] == str(inode)
        ]
        assert len(lives) <= 1, "one file has two ids"
        return lives[0] if lives else {}

    def expect(self, path: Path, timeout: float = PATIENCE, *, in_order: bool = True) -> None:
        """Wait until all lines of the file are there: none missing, offsets and lengths as on disk, and in order."""
        inode, expected = path.stat().st_ino, lines_of(path.read_bytes())
        deadline = time.monotonic() + timeout
        while len(self.life_of(inode)) < len(expected) and time.monotonic() < deadline:
            self.read()
        got = [(o, v["log"]["length"], v["message"]) for o, v in self.life_of(inode).items()]
        if not in_order:
            got.sort()
        assert got == expected, (
            f"{len(got)} of {len(expected)} lines of {path}, first difference {difference(got, expected)}"
        )


def difference(got: list[Any], expected: list[Any]) -> Any:
    return next((pair for pair in zip(got, expected, strict=False) if pair[0] != pair[1]), "at the end")


def lines_of(content: bytes) -> list[tuple[int, int, str]]:
    """Return offset, raw length and text of each line that is not empty: the naive model of what is delivered."""
    lines, offset = [], 0
    for line in content.split(b"\n")[:-1]:
        if text := line.decode("utf-8", "replace").removesuffix("\r"):
            lines.append((offset, len(line) + 1, text))
        offset += len(line) + 1
    return lines


class Agent:
    """One `shipper run` and its files: `logs` is what it reads, `data` its path.data, `log` what it logged."""

    def __init__(self, directory: Path, bootstrap: str, topic: str) -> None:
        self.logs = directory / "logs"
        self.logs.mkdir(parents=True)
        self.data = directory / "data"
        self.topic = topic
        self.settings: dict[str, Any] = {}  # beside the input and the output
        self.kafka: dict[str, Any] = {}  # options of output.kafka, beside its hosts and topic
        self.path = self.logs / "app.log"
        self._bootstrap = bootstrap
        self._file = directory / "shipper.yml"
        self._stderr = directory / "stderr.log"
        self._process: subprocess.Popen[bytes] | None = None
        self.configure()

    def send_to(self, *, parsers: list[Any] | None = None, **kafka: Any) -> None:
        """Have events name their topics, by these options."""
        self.kafka = {"topic": "", "backoff.max": "1s", **kafka}
        self.configure(parsers=parsers or [])

    def configure(self, paths: list[str] | None = None, **input_options: Any) -> None:
        files = {"type": "filestream", "id": "app", "paths": paths or [str(self.logs / "*.log")]}
        files |= {"prospector.scanner.check_interval": "1s", **input_options}
        config = {"shipper.inputs": [files], "path.data": str(self.data), **self.settings, **self._output()}
        self._file.write_bytes(orjson.dumps(config))
        self._file.chmod(0o600)

    def _output(self) -> dict[str, Any]:
        return {"output.kafka": {"hosts": [self._bootstrap], "topic": self.topic, "backoff.max": "2s", **self.kafka}}

    def append(self, *lines: str, path: Path | None = None) -> None:
        with (path or self.path).open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def start(self, *arguments: str, before: tuple[str, ...] = ()) -> None:
        command = [*before, *SHIPPER_PROGRAM, "run", "-c", str(self._file), *arguments]
        with self._stderr.open("ab") as stderr:
            self._process = subprocess.Popen(command, cwd=REPOSITORY, stderr=stderr, stdout=stderr)

    def once(self, *arguments: str, before: tuple[str, ...] = ()) -> int:
        """Run with --once; return the exit code."""
        self.start("--once", *arguments, before=before)
        return self.wait()

    def check_output(self) -> int:
        """Run `shipper test output`; return the exit code. What it prints is in `log`."""
        command = [*SHIPPER_PROGRAM, "test", "output", "-c", str(self._file)]
        with self._stderr.open("ab") as stderr:
            return subprocess.run(command, cwd=REPOSITORY, stderr=stderr, stdout=stderr, check=False).returncode

    @property
    def config(self) -> Path:
        return self._file

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    @property
    def log(self) -> str:
        return self._stderr.read_text(errors="replace") if self._stderr.exists() else ""

    def await_log(self, text: str, timeout: float = PATIENCE) -> None:
        await_true(lambda: text in self.log, lambda: f"{text!r} in the log:\n{self.log[-2000:]}", timeout)

    def await_events(self) -> None:
        """Wait until there are events that the output has not taken."""

        def are_there() -> bool:
            with suppress(OSError, Refused):  # it does not serve yet
                stats = orjson.loads(get(UnixSocket(self.data / "shipper.sock"), "/stats", PATIENCE))
                return stats["libbeat"]["pipeline"]["events"]["active"] > 0  # type: ignore[no-any-return]  # JSON
            return False

        await_true(are_there, lambda: f"events that wait; logged:\n{self.log[-2000:]}")

    def wait(self, timeout: float = PATIENCE) -> int:
        return self.process.wait(timeout)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        print(f"the agent's log ends:\n{self.log[-3000:]}")  # noqa: T201 - pytest shows it for tests that failed
        if self._process is not None and self._process.poll() is None:
            self.kill()


class LiveWriter:
    """A program that logs: whole and half lines, some empty, some not ASCII, at a steady rate until it is stopped."""

    def __init__(self, path: Path, rate: int = 3000) -> None:
        self._file = path.open("ab", buffering=0)
        self._rate = rate
        self._written = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "LiveWriter":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._file.close()

    def _run(self) -> None:
        while not self._stopping.wait(0.01):
            block = b"".join(self._line() for _ in range(self._rate // 100))
            middle = len(block) // 2
            for half in (block[:middle], block[middle:]):
                os.write(self._file.fileno(), half)

    def _line(self) -> bytes:
        self._written += 1
        if self._written % 97 == 0:
            return b"\n"
        ending = "\r\n" if self._written % 89 == 0 else "\n"
        return f"{self._written:08d} Łukasz ordered {'x' * (self._written % 200)}{ending}".encode()


@contextmanager
def frozen(broker: Broker) -> Iterator[None]:
    """Freeze the broker: it does not answer, and its connections stay open."""
    broker.freeze()
    try:
        yield
    finally:
        broker.thaw()


@contextmanager
def stopped(broker: Broker) -> Iterator[None]:
    broker.stop()
    try:
        yield
    finally:
        broker.start()


@contextmanager
def unless_kafka_lost_an_end(broker: Broker) -> Iterator[Callable[[], bool]]:
    """Skip the test if it fails and the broker has left a transaction open for good, which it does now and then where
    it was killed in the instant of a commit (docs/explained/exactly-once.md). The block gets a function
    that returns True if it has."""
    before = broker.log_file.stat().st_size

    def is_lost() -> bool:
        return b"likely deleted already and hence can be skipped" in broker.log_file.read_bytes()[before:]

    try:
        yield is_lost
    except AssertionError:
        if is_lost():
            pytest.skip("the broker has lost the end of a transaction, as its log says")
        raise


@contextmanager
def live_log(agent: Agent, topic: Topic, rate: int = 3000) -> Iterator[None]:
    """Ship what a program logs during the block; then await every line in the topic, and stop the agent."""
    with LiveWriter(agent.path, rate):
        agent.start()
        topic.await_records(1)
        yield
    topic.expect(agent.path)
    assert agent.stop() == 0
