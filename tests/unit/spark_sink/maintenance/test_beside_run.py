"""`maintain` beside what `run` does, in real tables: what a batch in flight needs is kept, what a killed one left is
deleted, and neither of the two fails because of the other."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from log_shipper.spark_sink.kafka.offset_ranges import OffsetRange, ranges_between
from log_shipper.spark_sink.landing.range_tasks import RangeTasks
from log_shipper.spark_sink.landing.tasks import SparkTasks
from log_shipper.spark_sink.maintenance.maintain import Maintenance
from log_shipper.spark_sink.options.maintenance import MaintenanceConfig, OptimizeConfig, RetentionConfig
from log_shipper.spark_sink.platform.spark_errors import SPARK_ERRORS
from log_shipper.spark_sink.rows.batches import KafkaRecords
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import Table
from tests.unit.spark_sink.landing.landing_lab import NOON, KafkaStand, Killed, LandingLab, StandReader
from tests.unit.spark_sink.maintenance.tables import age, data_files

WEEK = 7 * 86400.0
OLD = "2026-11-01T00:00:00Z"


@pytest.fixture
def lab(tmp_path: Path) -> LandingLab:
    """A sink that has landed a batch with a line and a bad record. Its files are not compacted."""
    lab = LandingLab(tmp_path, maintenance=MaintenanceConfig(optimize=OptimizeConfig(enabled=False)))
    lab.start()
    lab.send_lines(0)
    lab.send(b"no JSON")
    lab.land()
    return lab


def maintain(lab: LandingLab) -> int:
    return Maintenance(lab.config, False, NOON).run()


def tables(lab: LandingLab) -> tuple[Table, Table]:
    return Table(Location(lab.config.table.path)), Table(Location(lab.config.dead_letter_path))


def age_all(lab: LandingLab, days: float) -> None:
    """Let all of the sink be so many days older, its checkpoint included."""
    for table in (*tables(lab), Table(Location(lab.config.state_path))):
        age(table, days)
    for file in Path(lab.config.checkpoint.path).rglob("*"):
        then = file.stat().st_mtime - days * 86400
        os.utime(file, (then, then))


def test_what_a_killed_batch_wrote_is_deleted_after_the_retention(lab: LandingLab) -> None:
    lab.send_lines(10)
    lab.send(b"no JSON either")
    with pytest.raises(Killed):
        lab.land(dies="before rows")
    lab.start()
    lab.land()
    assert [len(data_files(table)) for table in tables(lab)] == [3, 3]
    age_all(lab, 8)
    assert maintain(lab) == 0
    assert [len(data_files(table)) for table in tables(lab)] == [2, 2]
    assert (lab.lines(), sum(lab.reasons().values())) == ([("f", 0), ("f", 10)], 2)


@dataclass(slots=True)
class MortalReader(StandReader):
    """A reader whose process is killed when it has read a run of records."""

    def read(self, wanted: OffsetRange) -> Iterator[KafkaRecords]:
        yield from StandReader.read(self, wanted)
        os._exit(9)


@dataclass(frozen=True, slots=True)
class OpenMortal:
    kafka: KafkaStand

    def __call__(self) -> MortalReader:
        return MortalReader(self.kafka)


@pytest.mark.spark
def test_what_a_killed_task_wrote_is_deleted_after_the_retention(spark: SparkSession, lab: LandingLab) -> None:
    lab.send_lines(10)
    ranges = ranges_between(lab.writer.marks.ends, lab.kafka.ends())
    tasks = RangeTasks(
        SparkTasks(spark), lambda: OpenMortal(lab.kafka), lab.writer.ranges.rows, lab.writer.ranges.tables
    )
    with pytest.raises(SPARK_ERRORS, match="worker"):
        tasks.write(ranges)
    lines, _ = tables(lab)
    assert len(data_files(lines)) == 2
    age_all(lab, 8)
    assert maintain(lab) == 0
    assert len(data_files(lines)) == 1
    lab.land()
    assert lab.lines() == [("f", 0), ("f", 10)]


def test_a_batch_that_takes_longer_than_the_retention_loses_no_file(
    lab: LandingLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.send_lines(10)
    lab.send(b"no JSON either")
    with pytest.raises(Killed):  # here the process of `run` is suspended
        lab.land(dies="before rows")
    names = [data_files(table) for table in tables(lab)]
    age_all(lab, 20)
    assert maintain(lab) == 0
    assert [data_files(table) for table in tables(lab)] == names
    (warning,) = [record for record in caplog.records if "is not committed" in record.message]
    assert "start it; the files are deleted after the batch has landed" in warning.message


@contextmanager
def landing(
    lab: LandingLab, send: Callable[[int], None], pause: AbstractContextManager[object] | None = None
) -> Iterator[list[str]]:
    """Batches, one after the other without a pause, until the block ends. Yields what failed. None lands while
    somebody else holds `pause`."""
    enough = threading.Event()
    failures: list[str] = []
    turn = pause or nullcontext()

    def land() -> None:
        number = 1
        while not enough.is_set() and not failures:
            send(number)
            number += 1
            try:
                with turn:
                    lab.land()
            except Exception as error:  # noqa: BLE001 - the outermost frame of a thread
                failures.append(repr(error))

    thread = threading.Thread(target=land)
    thread.start()
    try:
        yield failures
    finally:
        enough.set()
        thread.join()


@pytest.mark.slow("rounds of maintenance beside batches that never pause")
def test_old_lines_and_bad_records_that_keep_landing_are_no_conflict(lab: LandingLab) -> None:
    kept = RetentionConfig(lines=WEEK, dead_letter=WEEK)
    lab.config = replace(lab.config, maintenance=MaintenanceConfig(retention=kept))

    def send(number: int) -> None:
        lab.send_lines(10 * number)
        others: dict[str, Any] = {"@timestamp": OLD}
        lab.send_lines(10 * number, file="old", **others)
        lab.send(b"no JSON")

    pause = threading.Lock()
    with landing(lab, send, pause) as failures:
        for _ in range(2):
            with pause:  # a batch beside this UPDATE would be a conflict, but no program does that
                bad = DeltaTable(lab.config.dead_letter_path)
                bad.update({"at": f"TIMESTAMP '{OLD}'"}, predicate="kafka_offset = 1")
            assert maintain(lab) == 0
    assert failures == []
    assert maintain(lab) == 0
    sent = lab.kafka.ends()["logs", 0] - 2
    assert lab.lines() == sorted(("f", 10 * number) for number in range(sent // 3 + 1))
    assert sum(lab.reasons().values()) == sent // 3
