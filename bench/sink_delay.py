"""The delay until a record is visible in the table: from its production to the commit of its data file.

The table is not queried meanwhile. The Kafka offsets of a file's rows are in its statistics, or in the file if its rows
are of several partitions; the records of a partition land in order.
"""

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from pyarrow import parquet

from bench.appends import Delays
from bench.sink_process import running
from bench.sink_records import partition_of, record

POLL_INTERVAL = 0.005
START = 120.0  # maximum seconds until the first record lands: Java starts and compiles
WARM = 20.0
GIVE_UP = 60.0


@dataclass(slots=True)
class Commits:
    """The commits of a table, each read once."""

    table: Path
    _next: int = 0

    def new(self) -> Iterator[str]:
        while (path := self.table / "_delta_log" / f"{self._next:020d}.json").exists():
            self._next += 1
            yield path.read_text()


def highest(commit: str, table: Path) -> dict[int, int]:
    """Return the highest Kafka offset by partition in the files of a commit. Reads a file only if its rows are of
    several partitions, as in a small batch."""
    offsets: dict[int, int] = {}
    for line in commit.splitlines():
        if (added := json.loads(line).get("add")) is None:
            continue
        for partition, offset in _ends(added, table):
            offsets[partition] = max(offsets.get(partition, 0), offset)
    return offsets


def _ends(added: Mapping[str, Any], table: Path) -> list[tuple[int, int]]:
    low, high = (json.loads(added["stats"])[name] for name in ("minValues", "maxValues"))
    if low["partition"] == high["partition"]:
        return [(high["partition"], high["kafka_offset"])]
    rows = parquet.ParquetFile(table / added["path"]).read(["partition", "kafka_offset"])
    ends = rows.group_by("partition").aggregate([("kafka_offset", "max")]).to_pylist()
    return [(row["partition"], row["kafka_offset_max"]) for row in ends]


@dataclass(slots=True)
class Stamps:
    """The production times of records by partition and offset, until they are visible. Thread-safe."""

    delays: list[float] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _produced: dict[tuple[int, int], float] = field(default_factory=dict)
    _visible: dict[int, tuple[int, float]] = field(default_factory=dict)

    def produced(self, partition: int, offset: int, moment: float) -> None:
        """Record the acknowledgement of a record; it may arrive after the record is visible."""
        with self._lock:
            last, seen = self._visible.get(partition, (-1, 0.0))
            if offset <= last:
                self.delays.append(seen - moment)
            else:
                self._produced[partition, offset] = moment

    def visible(self, ends: dict[int, int], moment: float) -> None:
        with self._lock:
            self._visible |= {partition: (offset, moment) for partition, offset in ends.items()}
            seen = [key for key in self._produced if key[1] <= ends.get(key[0], -1)]
            self.delays += [moment - self._produced.pop(key) for key in seen]

    @property
    def waiting(self) -> int:
        with self._lock:
            return len(self._produced)


def measure(
    command: Sequence[str], directory: Path, bootstrap: str, topic: str, rate: float, seconds: float
) -> tuple[float, Delays]:
    """Return the seconds from the job's start to its first row, and the delays of the records of `seconds` after a
    warm-up. Raises RuntimeError if records do not land."""
    commits, stamps = Commits(directory / "lines"), Stamps()
    began = time.monotonic()
    producer = _Producing(bootstrap, topic, rate, stamps)
    with running(command, directory) as job:
        producer.start()
        try:
            _watch(commits, stamps, job, START, until_first=True)
            start = time.monotonic() - began
            _watch(commits, stamps, job, WARM)
            stamps.delays.clear()
            _watch(commits, stamps, job, seconds)
        finally:
            producer.end()
        _watch(commits, stamps, job, GIVE_UP, until_none=True)
        if stamps.waiting:
            raise RuntimeError(f"{stamps.waiting} records did not land within {GIVE_UP:.0f} s")
    return start, Delays.of(stamps.delays)


def _watch(
    commits: Commits, stamps: Stamps, job: Any, seconds: float, until_first: bool = False, until_none: bool = False
) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        for commit in commits.new():
            now = time.time()  # before a file is read
            stamps.visible(highest(commit, commits.table), now)
        if (until_first and stamps.delays) or (until_none and not stamps.waiting):
            return
        job.child.check()
        time.sleep(POLL_INTERVAL)


class _Producing(threading.Thread):
    def __init__(self, bootstrap: str, topic: str, rate: float, stamps: Stamps) -> None:
        super().__init__(daemon=True)
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
        self._topic, self._rate, self._stamps = topic, rate, stamps
        self._ending = threading.Event()

    def run(self) -> None:
        began, number = time.monotonic(), 0
        while not self._ending.wait(max(0.0, began + number / self._rate - time.monotonic())):
            self._send(number)
            self._producer.poll(0)
            number += 1
        self._producer.flush(30)

    def _send(self, number: int) -> None:
        produced = time.time()

        def acknowledged(error: Any, message: Any) -> None:
            if error is None:
                self._stamps.produced(message.partition(), message.offset(), produced)

        file_id, value = record(number, datetime.now(UTC))
        self._producer.produce(
            self._topic, value, key=file_id, partition=partition_of(file_id), on_delivery=acknowledged
        )

    def end(self) -> None:
        self._ending.set()
        self.join()
