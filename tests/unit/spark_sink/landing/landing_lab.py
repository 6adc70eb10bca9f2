"""A sink without Kafka: real tables, real marks, a checkpoint as Spark writes one, and a process that can die."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

from deltalake import DeltaTable

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.kafka.bounds import Bounds, not_landed
from log_shipper.spark_sink.kafka.lost import LostRange
from log_shipper.spark_sink.kafka.offset_ranges import OffsetRange
from log_shipper.spark_sink.landing.batch_handler import BatchHandler
from log_shipper.spark_sink.landing.batch_writer import BatchResult, BatchWriter
from log_shipper.spark_sink.landing.startup import KafkaTopics, Startup
from log_shipper.spark_sink.landing.tasks import LocalTasks
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.rows.batches import KafkaRecords
from log_shipper.spark_sink.storage.checkpoint import Checkpoint
from log_shipper.spark_sink.storage.locations import location_of
from log_shipper.spark_sink.storage.power_cuts import mend_checkpoint
from log_shipper.spark_sink.storage.tables import Table
from tests.unit.spark_sink.conftest import sink_config

Headers = dict[str, str]
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


class Killed(Exception):
    """Stands for kill -9: nothing after it is done."""


@dataclass(slots=True)
class MortalWriter(BatchWriter):
    """A writer of batches whose process dies before or after one of its steps: "before rows", "after bad" ..."""

    dies: str = ""

    def _commit_lines(self, *given: Any) -> Any:
        return self._step("rows", lambda: BatchWriter._commit_lines(self, *given))

    def _commit_bad_records(self, *given: Any) -> int:
        return int(self._step("bad", lambda: BatchWriter._commit_bad_records(self, *given)))

    def _save_marks(self, *given: Any) -> None:
        self._step("marks", lambda: BatchWriter._save_marks(self, *given))

    def _step(self, name: str, action: Any) -> Any:
        if self.dies == f"before {name}":
            raise Killed
        done = action()
        if self.dies == f"after {name}":
            raise Killed
        return done


@dataclass(slots=True)
class KafkaStand:
    """Records by partition, and what of them has been deleted."""

    records: dict[tuple[str, int], list[bytes | None]] = field(default_factory=dict)
    headers: dict[tuple[str, int], dict[int, Headers]] = field(default_factory=dict)  # by offset
    sent: dict[tuple[str, int], list[float]] = field(default_factory=dict)  # when, seconds of the epoch
    deleted: dict[tuple[str, int], int] = field(default_factory=dict)
    made: dict[str, int] = field(default_factory=dict)  # how often a topic was re-created
    has_ids: bool = True

    def recreate(self, topic: str) -> None:
        """Delete the topic and create it again: its partitions are empty, and begin at 0."""
        self.made[topic] = self.made.get(topic, 0) + 1
        for partition in [partition for partition in self.records if partition[0] == topic]:
            self.records[partition], self.sent[partition] = [], []

    def ends(self) -> dict[tuple[str, int], int]:
        return {partition: len(values) for partition, values in self.records.items()}

    def ids(self, topics: set[str]) -> dict[str, str]:
        return {topic: f"{topic}, made {self.made.get(topic, 0)} times" if self.has_ids else "" for topic in topics}

    def earliest(self, partitions: list[tuple[str, int]]) -> dict[tuple[str, int], int]:
        if unknown := set(partitions) - self.records.keys():
            raise SinkError(f"Kafka does not have {unknown}")
        return {partition: self.deleted.get(partition, 0) for partition in partitions}


@dataclass(slots=True)
class StandReader:
    """Reads what is in the stand."""

    kafka: KafkaStand
    lost: list[LostRange] = field(default_factory=list)

    def read(self, wanted: OffsetRange) -> Iterator[KafkaRecords]:
        records, sent = self.kafka.records[wanted.place], self.kafka.sent[wanted.place]
        first = max(wanted.start, min(self.kafka.deleted.get(wanted.place, 0), wanted.end))
        if first > wanted.start:
            self.lost.append(LostRange(*wanted.place, wanted.start, first - 1))
        named = self.kafka.headers.get(wanted.place, {})
        offsets = range(first, wanted.end)
        yield KafkaRecords(
            *wanted.place,
            offsets,
            [round(sent[offset] * 1000) for offset in offsets],
            [b"k"] * len(offsets),
            [records[offset] for offset in offsets],
            [[(key, value.encode()) for key, value in named.get(offset, {}).items()] or None for offset in offsets],
        )


@dataclass(frozen=True, slots=True)
class OpenStand:
    kafka: KafkaStand

    def __call__(self) -> StandReader:
        return StandReader(self.kafka)


class LandingLab:
    """Sent lines, and the sink's run over them, batch by batch."""

    def __init__(self, directory: Path, **changes: Any) -> None:
        self.directory = directory
        self.config: SinkConfig = sink_config(directory, **changes)
        self.kafka = KafkaStand()
        self.now = NOON.timestamp()
        self.logged: list[str] = []
        self.progressed: list[None] = []  # one for each time that it was reported
        self.bounds: Bounds | None = None
        self.stopping = threading.Event()
        self.left_out: set[str] = set()  # topics that are not in the configuration
        self.limits: dict[tuple[str, int], int] = {}  # up to where a batch reads

    # What is sent.

    def send(self, *values: bytes | None, topic: str = "logs", partition: int = 0) -> None:
        self.kafka.records.setdefault((topic, partition), []).extend(values)
        self.kafka.sent.setdefault((topic, partition), []).extend([self.now] * len(values))

    def line(self, offset: int, file: str = "f", length: int = 10, host: str | None = "web-1", **others: Any) -> bytes:
        record = {
            "@timestamp": datetime.fromtimestamp(self.now, UTC).isoformat(),
            "message": f"{file}@{offset}",
            "log": {"offset": offset, "length": length, "file": {"path": f"/{file}", "id": file}},
            "host": {"name": host},
        }
        return json.dumps(record | others).encode()

    def send_lines(
        self, *offsets: int, file: str = "f", topic: str = "logs", partition: int = 0, **others: Any
    ) -> None:
        self.send(*(self.line(offset, file, **others) for offset in offsets), topic=topic, partition=partition)

    def send_texts(
        self, *offsets: int, file: str = "f", topic: str = "logs", partition: int = 0, length: int = 10
    ) -> None:
        """Send records whose value is the message alone."""
        for offset in offsets:
            headers = {"log.file.id": file, "log.file.path": f"/{file}", "host.name": "web-1"}
            headers |= {"log.offset": str(offset), "log.length": str(length)}
            headers["@timestamp"] = datetime.fromtimestamp(self.now, UTC).isoformat()
            self.send(f"{file}@{offset}".encode(), topic=topic, partition=partition)
            place = len(self.kafka.records[topic, partition]) - 1
            self.kafka.headers.setdefault((topic, partition), {})[place] = headers

    # The process.

    def start(self) -> None:
        """Start a process, which knows only what it has read."""
        path = Path(self.config.checkpoint.path)
        mend_checkpoint(str(path), self.logged.append)
        self.checkpoint = Checkpoint(str(path))
        ids = self.kafka.ids(set(self.topics()))
        first = self.kafka.earliest(list(self.partitions()))
        kafka = KafkaTopics(ids, first)
        startup = Startup(
            LocalTasks(),
            self.config,
            self.checkpoint,
            kafka,
            lambda: OpenStand(self.kafka),
            lambda: self.now,
            self.logged.append,
            lambda: self.progressed.append(None),
        )
        started = startup.run()
        writer = started.writer
        self.writer = MortalWriter(writer.tables, writer.ranges, writer.marks, writer.orphaned, clock=writer.clock)
        self.writer.stopwatch = writer.stopwatch
        if self.checkpoint.last_planned() < 0:
            self.writer.begin_at({} if started.continues or self.config.start == "table" else first)
        if not (path / "metadata").exists():  # Spark writes it when the query starts
            for directory in ("offsets", "commits"):
                (path / directory).mkdir(parents=True, exist_ok=True)
            (path / "metadata").write_text(json.dumps({"id": str(uuid4())}))
        self.batches: list[BatchResult] = []
        self.callback = BatchHandler(
            self.checkpoint, self.writer, self.stopping, self.batches.append, self.kafka, self.bounds
        )

    def partitions(self) -> dict[tuple[str, int], int]:
        """Return the partitions that the configuration names, and how far they are to be read."""
        ends = {partition: min(end, self.limits.get(partition, end)) for partition, end in self.kafka.ends().items()}
        return {partition: end for partition, end in ends.items() if partition[0] not in self.left_out}

    def topics(self) -> list[str]:
        return sorted({topic for topic, _ in self.partitions()}) or ["logs"]

    def land(self, dies: str = "") -> BatchResult:
        """One batch, of all that was sent and not read, up to the limits: the one that was begun before, if there is
        one."""
        self.writer.dies = dies
        number, committed = self.checkpoint.last_planned(), self.checkpoint.last_committed()
        path = Path(self.config.checkpoint.path)
        if number == committed:
            number += 1
            offsets: dict[str, dict[str, int]] = {}
            for (topic, partition), offset in sorted(self.partitions().items()):
                offsets.setdefault(topic, {})[str(partition)] = offset
            (path / "offsets" / str(number)).write_text(f"v1\n{{}}\n{json.dumps(offsets)}")
        self.callback(None, number)
        if dies == "before commit":
            raise Killed
        (path / "commits" / str(number)).write_text("v1\n{}")
        return self.batches[-1]

    def catch_up(self) -> None:
        """As the job does it before its stream begins."""
        ends = not_landed(self.writer.marks.ends, self.checkpoint.resume_offsets())
        if ends:
            self.callback.land_until(ends)

    # What is there.

    def lines(self, path: str | None = None) -> list[tuple[str, int]]:
        """File id and offset of each row, sorted; equal ones stand twice."""
        return sorted((row.file_id, row.offset) for row in self.rows(path))

    def rows(self, path: str | None = None, where: str = "true") -> list[SimpleNamespace]:
        """Return the rows of a table, those of lines if no other is named, in the order of their offsets."""
        snapshot = Table(location_of(self.config, path or self.config.table.path)).snapshot()
        query = f'SELECT * FROM stored WHERE {where} ORDER BY "offset", topic, partition, kafka_offset'
        return [SimpleNamespace(**row) for row in snapshot.select(query).to_pylist()]

    def delta(self, path: str | None = None) -> DeltaTable:
        """Return a table as another program opens it, those of lines if no other is named."""
        return DeltaTable(path or self.config.table.path)

    def reasons(self) -> Counter[str]:
        return Counter(row.reason for row in self.dead())

    def dead(self) -> list[SimpleNamespace]:
        snapshot = Table(location_of(self.config, self.config.dead_letter_path)).snapshot()
        query = "SELECT * FROM stored ORDER BY topic, partition, kafka_offset"
        return [SimpleNamespace(**row) for row in snapshot.select(query).to_pylist()]
