"""A month of a sink in minutes: `script/bench --month`. Commits and rounds of maintenance are the product's own. Data
files are links to one file per day: the cost of a batch except its commits is not measured, nor are fsyncs.

The days are in the past, by a simulated clock. Files of a batch get the simulated time afterwards (`_backdate`), and
retention times of the table are extended by the difference of the clocks (`_behind`).
"""

import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import NoReturn

import pyarrow as pa

from bench import sink_search
from bench.measure import peak_mb
from bench.runs import report
from bench.table import show
from log_shipper.config.yaml.load import load
from log_shipper.spark_sink.landing.batch_writer import BatchWriter
from log_shipper.spark_sink.landing.range_tasks import BatchLines, WrittenBatch
from log_shipper.spark_sink.landing.startup import open_writer
from log_shipper.spark_sink.landing.tasks import LocalTasks
from log_shipper.spark_sink.maintenance.maintain import Maintenance
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.rows.batches import FileSummary
from log_shipper.spark_sink.storage.data_files import DataFile, DataFileWriter
from log_shipper.spark_sink.storage.layout import retention_properties
from log_shipper.spark_sink.storage.tables import TxnId

FILES = 200  # log files per day, all replaced at midnight
FILES_OF_BATCH = 20
PARTITIONS = 10
DAY = 86400.0
CONFIG = """
kafka: {{hosts: [127.0.0.1:9092], topics: [logs]}}
table: {{path: {directory}/lines}}
checkpoint: {{path: {directory}/checkpoint}}
maintenance: {{retention: {{lines: 10d}}}}
fsync: false
"""
_TIMES = re.compile(rb'"(deletionTimestamp|modificationTime|timestamp)":\d+')


@dataclass(frozen=True, slots=True)
class Cost:
    cpu: float  # seconds
    memory_mb: float


@dataclass(slots=True)
class Day:
    """The figures of a day. `max_files`: in the table of lines, before a round; `disk`: bytes of all tables, including
    removed files that are kept; `log_files`, `log`: number and bytes of files in their `_delta_log`."""

    start: Cost
    commits: list[Cost] = field(default_factory=list)
    rounds: list[Cost] = field(default_factory=list)
    max_files: int = 0
    disk: int = 0
    log_files: int = 0
    log: int = 0
    count: Cost = field(default_factory=lambda: Cost(0.0, 0.0))


def maintain(config: SinkConfig, now: datetime) -> Cost:
    """Run a round at the simulated time. Raises RuntimeError if a step fails."""
    cost = _stopwatch()
    if Maintenance(config, dry_run=False, now=now).run():
        raise RuntimeError("a step of maintenance failed")
    return cost()


def maintain_apart(config: SinkConfig, now: datetime) -> Cost:
    """Maintain in a separate process, as `run` does."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(maintain, config, now).result()


def _no_reader() -> NoReturn:
    raise AssertionError("the bench does not read Kafka")


@dataclass(slots=True)
class Month:
    """A sink with its tables, day after day. `every`: seconds from batch to batch; `rounds`: of maintenance per day;
    `last_round`: runs the round whose memory is measured."""

    config: SinkConfig
    first: date
    every: float
    rounds: int = 24
    last_round: Callable[[SinkConfig, datetime], Cost] = maintain_apart
    now: float = field(init=False)
    _batch: int = field(default=0, init=False)
    _offsets: dict[str, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.now = datetime.combine(self.first, datetime.min.time(), UTC).timestamp()

    def day(self) -> Day:
        """Simulate a day, which begins with a start of the sink."""
        cost = _stopwatch()
        writer = open_writer(LocalTasks(), self.config, _no_reader, lambda: self.now, report)
        writer.tables.prepare()
        day, lines = Day(cost()), writer.tables.log(self.config.table.path)
        self._keep(writer)
        master = self._master(writer)
        self._offsets.clear()
        for number in range(1, self.rounds + 1):
            for batch in self._batches(master):
                cost = _stopwatch()
                writer.commit(batch, self._ends(), TxnId("month", self._batch))
                day.commits.append(cost())
            self._backdate()
            day.max_files = max(day.max_files, lines.count_size().files)
            day.rounds.append(self._round(self.last_round if number == self.rounds else maintain))
        self._measure(day, writer)
        return day

    def _batches(self, master: DataFile) -> Iterator[WrittenBatch]:
        """Yield the batches up to the next round, each with one file."""
        table = Path(self.config.table.path)
        for _ in range(int(DAY / self.rounds / self.every)):
            self._batch += 1
            path = f"{master.path.rpartition('/')[0]}/part-{self._batch:08}.parquet"
            os.link(table / master.path, table / path)
            today = date.fromisoformat(master.partition["date"] or "")
            summaries = {summary.file: summary for summary in self._summaries(today)}
            yield WrittenBatch({self.config.table.path: BatchLines([replace(master, path=path)], summaries)})
            self.now += self.every

    def _summaries(self, today: date) -> Iterator[FileSummary]:
        for number in range(FILES_OF_BATCH):
            file_id = f"{today}-{(self._batch * FILES_OF_BATCH + number) % FILES}"
            offset = self._offsets[file_id] = self._offsets.get(file_id, -1) + 1
            yield FileSummary("web-1", file_id, 1, 1, offset, offset, today, today)

    def _ends(self) -> dict[tuple[str, int], int]:
        return {("logs", number): self._batch * 100 for number in range(PARTITIONS)}

    def _master(self, writer: BatchWriter) -> DataFile:
        """Write the file that the day's files are links to."""
        staged = writer.tables.staged(self.config.table.path, [])
        seconds = pa.array([round((self.now + number) * 1e6) for number in range(FILES_OF_BATCH)])
        ts = seconds.cast(pa.timestamp("us", "UTC"))
        rows = sink_search.rows(pa.array(range(FILES_OF_BATCH)), FILES_OF_BATCH).select(staged.layout.schema.names)
        for name, values in {"ts": ts, "kafka_ts": ts, "date": ts.cast(pa.date32())}.items():
            rows = rows.set_column(rows.schema.get_field_index(name), name, values)
        with DataFileWriter(staged.location, staged.layout) as files:
            files.write(rows.cast(staged.layout.schema))
            return files.close()[0]

    def _round(self, run: Callable[[SinkConfig, datetime], Cost]) -> Cost:
        kept = replace(self.config.maintenance.vacuum, retain=self.config.maintenance.vacuum.retain + self._behind())
        config = replace(self.config, maintenance=replace(self.config.maintenance, vacuum=kept))
        cost = run(config, datetime.fromtimestamp(self.now, UTC))
        self._backdate(commits=True)
        return cost

    def _behind(self) -> float:
        return max(0.0, time.time() - self.now)

    def _keep(self, writer: BatchWriter) -> None:
        """Extend the retention times of the tables for the simulated clock."""
        properties = retention_properties(self.config.maintenance.vacuum.retain + self._behind())
        for path in self._tables():
            log = writer.tables.log(str(path))
            log.refresh()
            log.table.alter.set_table_properties(properties)

    def _backdate(self, commits: bool = False) -> None:
        """Set the simulated time on files written since the last call; with `commits`, also inside the log."""
        for path in _files(self._tables()):
            if path.stat().st_mtime > self.now + 1:
                if commits and path.name.endswith(".json") and path.parent.name == "_delta_log":
                    path.write_bytes(_TIMES.sub(rb'"\1":%d' % round(self.now * 1000), path.read_bytes()))
                os.utime(path, (self.now, self.now))

    def _measure(self, day: Day, writer: BatchWriter) -> None:
        for path in _files(self._tables()):
            size = path.stat().st_size
            day.disk += size
            if "_delta_log" in path.parts:
                day.log_files, day.log = day.log_files + 1, day.log + size
        cost = _stopwatch()
        writer.tables.table(self.config.table.path).snapshot().select("SELECT count(*), max(ts) FROM stored")
        day.count = cost()

    def _tables(self) -> Sequence[Path]:
        return tuple(map(Path, (self.config.table.path, self.config.dead_letter_path, self.config.state_path)))


def _files(tables: Sequence[Path]) -> Iterator[Path]:
    for table in tables:
        for directory, _, names in os.walk(table):
            yield from (Path(directory, name) for name in names)


def _stopwatch() -> Callable[[], Cost]:
    """Start to measure, and return a function that returns the cost so far."""
    began = time.process_time()
    return lambda: Cost(time.process_time() - began, peak_mb())


def table(directory: Path, days: int, every: float) -> str:
    """Simulate `days`, and return their figures."""
    file = directory / "sink.yml"
    file.write_text(CONFIG.format(directory=directory))
    config = load([file], SinkConfig)
    logging.disable(logging.INFO)
    month = Month(config, datetime.now(UTC).date() - timedelta(days=days + 1), every)
    rows = []
    for number in range(1, days + 1):
        rows.append((str(number), *_cells(month.day())))
        report(" | ".join(rows[-1]))
    return show((f"a batch every {every:g} s, day", *_HEAD), rows)


_HEAD = (
    "max files",
    "disk MB",
    "files in the logs",
    "logs MB",
    "commits of a batch, CPU ms",
    "p99 of commits, CPU ms",
    "start CPU ms",
    "round CPU s",
    "max round CPU s",
    "round MB",
    "count CPU ms",
)


def _cells(day: Day) -> Iterator[str]:
    commits, rounds = sorted(commit.cpu * 1e3 for commit in day.commits), [spent.cpu for spent in day.rounds]
    yield from (f"{day.max_files:,}", f"{day.disk / 1e6:.0f}", f"{day.log_files:,}", f"{day.log / 1e6:.0f}")
    yield from (f"{median(commits):.0f}", f"{commits[len(commits) * 99 // 100]:.0f}", f"{day.start.cpu * 1e3:.0f}")
    yield from (f"{median(rounds):.2f}", f"{max(rounds):.1f}", f"{day.rounds[-1].memory_mb:.0f}")
    yield f"{day.count.cpu * 1e3:.0f}"
