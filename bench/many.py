"""Many or short-lived files, `script/bench --many`: the cost of a decision per file must not grow with their number.

few-descriptors   files that wait to be opened, because the process may open only 1,024
most-descriptors  the same with the system's maximum of descriptors, up to 65,536
renamed           open files that are all renamed: cost of the idle agent, and delay of a line in another file
removed           open files that are all removed while the broker is down
short-lived       300 one-line files per second that are soon deleted, at first without a broker
"""

import json
import resource
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from bench.churn import differences
from bench.crowd import idle, write_files
from bench.data import line
from bench.measure import Child
from bench.runs import broker, report
from bench.table import show
from demo.broker import Broker
from demo.process import SHIPPER_PROGRAM

SHAPES = ("few-descriptors", "most-descriptors", "renamed", "removed", "short-lived")
LINES = 2  # of each file
MAX_DESCRIPTORS = 65_536
FEW_DESCRIPTORS = 1024
TOPIC = "many"
PARTITIONS = 4
QUIET = 20.0  # seconds without a line that end a run
TIMEOUT = 900.0
SETTLE = 5.0
IDLE = 10.0  # seconds of measuring the idle agent
APPENDS = 40
AWAY = 40.0  # seconds without a broker
SHORT_LIVED = 300  # files per second
LIFE = 0.3  # seconds of a file
AFTERWARDS = 20.0  # seconds of short-lived files with a broker

CONFIG = """\
shipper.inputs:
  - {{type: filestream, id: many, paths: ["{directory}/logs/*/*.log"]}}
{output}
path.data: {directory}/data
logging.format: text
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """`note`: further figures."""

    lines: int
    missing: int
    repeated: int
    seconds: float
    cpu: float
    memory_mb: float
    note: str = ""

    def row(self, name: str) -> tuple[str, ...]:
        return (
            name,
            f"{self.lines:,}",
            f"{self.missing:,} / {self.repeated:,}",
            f"{self.seconds:.1f}",
            f"{self.cpu:.1f}",
            f"{self.memory_mb:.0f}",
            self.note,
        )


def table(directory: Path, names: list[str], files: int, opened: int) -> str:
    """Return the table with `files` waiting ones, and `opened` renamed or removed ones. Raises RuntimeError."""
    rows = []
    for name in names:
        scratch = directory / name
        scratch.mkdir()
        figures = _measure(name, scratch, files, opened)
        rows.append(figures.row(name))
        report("  ".join(rows[-1]))
        shutil.rmtree(scratch)
    head = ("shape", "lines", "missing / repeated", "seconds", "CPU s", "max MB", "")
    return show(head, rows)


def _measure(name: str, directory: Path, files: int, opened: int) -> Figures:
    match name:
        case "few-descriptors":
            return _waiting(directory, files, FEW_DESCRIPTORS)
        case "most-descriptors":
            return _waiting(directory, files, MAX_DESCRIPTORS)
        case "renamed":
            return _renamed(directory, opened)
        case "removed":
            return _removed(directory, opened)
        case _:
            return _short_lived(directory)


def _waiting(directory: Path, files: int, descriptors: int) -> Figures:
    write_files(directory / "logs", files, LINES)
    output = _FileOutput(directory)
    with _agent(directory, output.config, descriptors) as child:
        began = time.monotonic()
        ended = _await(output.count, files * LINES, child)
        cpu = child.cpu_seconds()
        cost = child.end()
    missing, repeated = differences(output.messages(), files * LINES)
    limit = min(descriptors, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    return Figures(
        files * LINES, missing, repeated, ended - began, cpu, cost.memory_mb, f"{files:,} files, {limit:,} descriptors"
    )


def _renamed(directory: Path, files: int) -> Figures:
    paths = write_files(directory / "logs", files, LINES)
    other = directory / "logs" / "0000" / "other.log"
    other.write_text(f"{line(files * LINES)}\n")
    output = _FileOutput(directory)
    with _agent(directory, output.config) as child:
        began = time.monotonic()
        ended = _await(output.count, files * LINES + 1, child)
        cores, delays = [], []
        for _ in range(2):
            cores.append(idle(child, IDLE).core * 100)
            delays.append(_delay(other, output))
            for path in paths:
                path.rename(path.with_suffix(".renamed"))
            paths = []
        cpu = child.cpu_seconds()
        cost = child.end()
    missing, repeated = differences(output.messages(), files * LINES + 1)
    note = (
        f"{files:,} files, idle: {cores[0]:.1f} % of a core, renamed: {cores[1]:.1f} %; "
        f"delay {delays[0]:.1f} ms, renamed: {delays[1]:.1f} ms"
    )
    return Figures(files * LINES + 1, missing, repeated - 2 * APPENDS, ended - began, cpu, cost.memory_mb, note)


def _delay(path: Path, output: "_FileOutput") -> float:
    """Return the mean delay of single lines, in ms."""
    total = 0.0
    for _ in range(APPENDS):
        time.sleep(0.05)
        before, began = output.size(), time.monotonic()
        with path.open("a") as file:
            file.write(f"{line(0)}\n")
        while output.size() == before and time.monotonic() - began < 10:
            time.sleep(0.0005)
        total += time.monotonic() - began
    return total / APPENDS * 1000


def _removed(directory: Path, files: int) -> Figures:
    paths = write_files(directory / "logs", files, LINES)
    count = files * LINES
    with _Topic(directory) as topic, _agent(directory, topic.config) as child:
        time.sleep(max(SETTLE, files / 1000))
        for path in paths:
            path.unlink()
        time.sleep(SETTLE)
        topic.start()
        began = time.monotonic()
        ended = _await(topic.count, count, child)
        cpu = child.cpu_seconds()
        cost = child.end()
        missing, repeated = differences(topic.messages, count)
    return Figures(count, missing, repeated, ended - began, cpu, cost.memory_mb, f"{files:,} files")


def _short_lived(directory: Path) -> Figures:
    logs = directory / "logs" / "0000"
    logs.mkdir(parents=True)
    with _Topic(directory) as topic, _agent(directory, topic.config) as child:
        time.sleep(1.0)
        written = _come_and_go(logs, 0, AWAY)
        topic.start()
        began = time.monotonic()
        written = _come_and_go(logs, written, AFTERWARDS)
        after = topic.count()
        ended = _await(topic.count, written, child)
        cpu = child.cpu_seconds()
        cost = child.end()
        missing, repeated = differences(topic.messages, written)
    note = f"{after:,} lines delivered {AFTERWARDS:.0f} s after the start of the broker"
    return Figures(written, missing, repeated, ended - began, cpu, cost.memory_mb, note)


def _come_and_go(logs: Path, first: int, seconds: float) -> int:
    """Write files of one line, and delete each after LIFE seconds; return the number of the next line."""
    began, number = time.monotonic(), first
    alive: deque[tuple[float, Path]] = deque()
    while (now := time.monotonic() - began) < seconds:
        while number - first < now * SHORT_LIVED:
            path = logs / f"{number}.log"
            path.write_text(f"{line(number)}\n")
            alive.append((now, path))
            number += 1
        while alive and alive[0][0] < now - LIFE:
            alive.popleft()[1].unlink()
        time.sleep(0.005)
    time.sleep(LIFE)
    for _, path in alive:
        path.unlink()
    return number


class _FileOutput:
    def __init__(self, directory: Path) -> None:
        self.config = f"output.file: {{path: {directory}/out, filename: events, rotate_every_kb: 10000000}}"
        self._path = directory / "out" / "events"
        self._counted = self._read_to = 0

    def size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0

    def count(self) -> int:
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._read_to)
                data = file.read()
            self._read_to += len(data)
            self._counted += data.count(b"\n")
        return self._counted

    def messages(self) -> Iterator[str]:
        with self._path.open("rb") as file:
            for event in file:
                yield json.loads(event)["message"]


class _Topic:
    """A topic of a broker that is down at first; `count` reads new records."""

    def __init__(self, directory: Path) -> None:
        self._broker: Broker = broker(directory)
        self.config = f'output.kafka: {{hosts: ["{self._broker.bootstrap}"], topic: {TOPIC}}}'
        self.messages: list[str] = []
        self._consumer: Consumer | None = None

    def __enter__(self) -> "_Topic":
        return self

    def __exit__(self, *reason: object) -> None:
        if self._consumer is not None:
            self._consumer.close()
        self._broker.stop()

    def start(self) -> None:
        self._broker.start()
        self._broker.create_topic(TOPIC, PARTITIONS)
        settings = {"bootstrap.servers": self._broker.bootstrap, "group.id": "many", "enable.auto.commit": False}
        self._consumer = Consumer(settings)
        self._consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(PARTITIONS)])

    def count(self) -> int:
        assert self._consumer is not None
        while records := self._consumer.consume(10_000, 0.1):
            values = [record.value() for record in records if record.error() is None]
            self.messages += [json.loads(value)["message"] for value in values if value]
        return len(self.messages)


@contextmanager
def _agent(directory: Path, output: str, descriptors: int = MAX_DESCRIPTORS) -> Iterator[Child]:
    config = directory / "shipper.yml"
    config.write_text(CONFIG.format(directory=directory, output=output))
    config.chmod(0o600)
    limit = min(descriptors, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    command = ["prlimit", f"--nofile={limit}:{limit}", *SHIPPER_PROGRAM, "run", "-c", str(config)]
    child = Child(command, directory / "output.log")
    try:
        yield child
    finally:
        child.kill()


def _await(count: Callable[[], int], wanted: int, child: Child) -> float:
    """Wait for `wanted` lines or until QUIET; return the time of the last arrival."""
    began = last = time.monotonic()
    seen = 0
    while (now := time.monotonic()) - began < TIMEOUT and (not seen or now - last < QUIET):
        child.check()
        if (arrived := count()) != seen:
            seen, last = arrived, now
        if seen >= wanted:
            break
        time.sleep(0.1)
    return last
