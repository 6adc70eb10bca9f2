"""A round over all tables of a sink, alone and beside what else writes to them."""

import io
import json
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from log_shipper.spark_sink import logs
from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.maintenance.known import known_tables
from log_shipper.spark_sink.maintenance.maintain import Maintenance
from log_shipper.spark_sink.maintenance.sizes import MANY_FILES
from log_shipper.spark_sink.options.maintenance import MaintenanceConfig, RetentionConfig, VacuumConfig
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.parts import CheckpointConfig
from log_shipper.spark_sink.options.tables import TableConfig
from log_shipper.spark_sink.options.views import ViewConfig
from log_shipper.spark_sink.storage.tables import Table
from tests.unit.spark_sink.conftest import sink_config
from tests.unit.spark_sink.maintenance.tables import (
    NOW,
    age,
    append_files,
    append_marks,
    data_files,
    demand_feature,
    file_mark,
    make_lines,
    make_marks,
    messages,
    partition_mark,
    rows_of,
)

WEEK = 7 * 86400.0


class Sink:
    """Tables of lines, marks and one view; no dead letter yet."""

    def __init__(self, directory: Path) -> None:
        self.config = sink_config(
            directory,
            maintenance=MaintenanceConfig(retention=RetentionConfig(lines=WEEK, views=WEEK)),
            views=(ViewConfig(name="all", sql="SELECT * FROM lines", mode="complete"),),
        )
        self.lines = make_lines(directory / "lines", {"2026-11-01": 2, "2026-11-15": 3, "2026-11-21": 3})
        self.view = make_lines(directory / "lines_all", {"2026-11-01": 2})
        self.marks = make_marks(directory / "lines_marks")
        for landing in (1, 2, 3):
            append_marks(self.marks.path, [file_mark("a", landing, landing * 10), partition_mark(0, landing, landing)])
        self.out = io.StringIO()
        self.landed = 0

    def maintain(self, dry_run: bool = False, config: SinkConfig | None = None, many_files: int = MANY_FILES) -> int:
        logs.set_up(text=False, out=self.out)
        return Maintenance(config or self.config, dry_run, NOW, many_files=many_files).run()

    def logged(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.out.getvalue().splitlines()]

    def heard(self, message: str) -> bool:
        return any(message in str(line["message"]) for line in self.logged())

    def versions(self) -> list[int]:
        return [known.table.version() for known in known_tables(self.config)]


@pytest.fixture
def sink(tmp_path: Path) -> Sink:
    return Sink(tmp_path)


def files_of(table: Table, day: str) -> int:
    dates: list[date] = table.snapshot().files().column("partition.date").to_pylist()
    return dates.count(date.fromisoformat(day))


def test_a_round_deletes_what_is_old_joins_what_is_closed_and_folds_the_marks(sink: Sink) -> None:
    age(sink.lines, 8)
    assert sink.maintain() == 0
    assert [files_of(sink.lines, day) for day in ("2026-11-01", "2026-11-15", "2026-11-21")] == [0, 1, 3]
    assert len(messages(sink.lines)) == 12
    assert len(rows_of(sink.marks, "SELECT kind FROM stored")) == 2
    assert sink.heard("dead letter: ")
    assert sink.heard("does not exist yet")
    assert sink.heard("lines: deleted 4 rows (date < DATE'2026-11-14')")
    assert sink.heard("lines: compacted 3 files of 2026-11-15 into 1")
    assert sink.heard("marks: folded 6 marks into 2, 0 quiet files forgotten")
    (compacted,) = [line for line in sink.logged() if line.get("date")]
    assert {"table", "seconds", "files_before", "files", "bytes_before", "bytes"} <= compacted.keys()
    totals = [str(line["message"]) for line in sink.logged() if "small_files" in line]
    assert re.match(r"lines: 8 files, [\d.]+ KiB became 4 files, [\d.]+ KiB, 4 of them small$", totals[0])
    assert sink.heard("maintained: 3 tables, 0 failures")
    before = sink.versions()
    sink.out.truncate(0)
    assert sink.maintain() == 0
    assert sink.versions() == before


def test_an_open_date_of_very_many_files_is_compacted_with_all_of_its_rows(sink: Sink) -> None:
    optimize = replace(sink.config.maintenance.optimize, open_min_files=3)
    config = replace(sink.config, maintenance=MaintenanceConfig(optimize=optimize, vacuum=VacuumConfig(mode="off")))
    before = messages(sink.lines)
    assert sink.maintain(config=config) == 0
    assert files_of(sink.lines, "2026-11-21") == 1
    assert messages(sink.lines) == before
    assert sink.heard("lines: compacted 3 files of 2026-11-21 into 1")


def test_a_table_that_still_has_very_many_files_is_warned_of(sink: Sink) -> None:
    assert sink.maintain(config=without_vacuum(sink.config), many_files=3) == 0
    warnings = [line["message"] for line in sink.logged() if line["log.level"] == "warning"]
    assert [text for text in warnings if "files slow" in str(text)] == [
        "lines: 4 files slow down queries and starts: run spark-sink maintain more often; if that does not help, "
        "lower maintenance.optimize.open_min_files"
    ]


def test_a_view_that_each_batch_rewrites_is_only_vacuumed(sink: Sink) -> None:
    before = data_files(sink.view), messages(sink.view)
    assert sink.maintain() == 0
    assert (data_files(sink.view), messages(sink.view)) == before
    assert sink.heard("view all: deleted 0 unneeded files")


def test_a_dry_run_changes_nothing_and_reports_what_it_would_do(sink: Sink) -> None:
    before = sink.versions()
    assert sink.maintain(dry_run=True) == 0
    assert sink.versions() == before
    assert sink.heard("lines: would delete 4 rows in 2 files")
    assert sink.heard("lines: would compact 3 small files of 2026-11-15")
    assert sink.heard("marks: would fold 6 marks into 2")
    assert sink.heard("lines: would delete 0 unneeded files")
    assert sink.heard("dry run: nothing was changed")


def test_what_fails_in_one_table_is_reported_and_the_others_are_done(sink: Sink) -> None:
    append_files(sink.lines, "2026-11-15", 1)
    for file in Path(sink.lines.path, "date=2026-11-15").glob("*.parquet"):
        file.unlink()
    assert sink.maintain(config=without_vacuum(sink.config)) == 1
    (failure,) = [line for line in sink.logged() if line["log.level"] == "error" and "table" not in line][:1]
    assert str(failure["message"]).startswith(f"optimize of lines, {sink.lines.path}: ")
    assert sink.heard("marks: folded")
    assert sink.heard("maintained: 3 tables, 1 failures")


def test_a_checkpoint_that_cannot_be_listed_is_reported_and_the_tables_are_done(sink: Sink) -> None:
    elsewhere = replace(without_vacuum(sink.config), checkpoint=CheckpointConfig(path="s3x://nowhere/checkpoint"))
    assert sink.maintain(config=elsewhere) == 1
    (failure,) = [line for line in sink.logged() if line["log.level"] == "error" and "table" not in line][:1]
    assert str(failure["message"]).startswith(
        "the checkpoints beside s3x://nowhere/checkpoint: cannot list the checkpoint s3x://nowhere/checkpoint: Unk"
    )
    assert sink.heard("maintained: 3 tables, 1 failures")


def test_before_the_first_run_there_is_nothing_to_do(tmp_path: Path) -> None:
    out = io.StringIO()
    logs.set_up(text=True, out=out)
    assert Maintenance(sink_config(tmp_path), False, NOW).run() == 0
    assert "no batch has been committed" in out.getvalue()
    assert list(tmp_path.iterdir()) == []


def test_a_stream_that_is_silent_for_a_day_is_worth_a_warning(sink: Sink) -> None:
    commits = Path(sink.config.checkpoint.path, "commits")
    commits.mkdir(parents=True)
    (commits / "41").write_text("v1\n{}")
    (commits / ".42.tmp").write_text("")
    config = without_vacuum(sink.config)
    assert sink.maintain(dry_run=True, config=config) == 0
    assert not any(line["log.level"] == "warning" for line in sink.logged())
    os.utime(commits / "41", (NOW.timestamp() - 1.5 * 86400,) * 2)
    assert sink.maintain(dry_run=True, config=config) == 0
    (warning,) = [line for line in sink.logged() if line["log.level"] == "warning"]
    assert "its last batch, 41," in str(warning["message"])
    assert "1.5 days ago" in str(warning["message"])


@pytest.mark.parametrize(("mode", "retain", "days"), [("lite", 6, 9), ("lite", 30, 33), ("full", 30, 30)])
def test_a_table_that_remembers_less_than_the_configuration_asks_for_is_warned_of_with_the_statement_that_mends_it(
    sink: Sink, mode: Literal["lite", "full"], retain: int, days: int
) -> None:
    vacuum = VacuumConfig(mode=mode, retain=retain * 86400.0)
    longer = replace(sink.config, maintenance=MaintenanceConfig(vacuum=vacuum))

    def warnings() -> list[str]:
        """By all runs so far."""
        assert sink.maintain(dry_run=True, config=longer) == 0
        warned = [str(line["message"]) for line in sink.logged() if line["log.level"] == "warning"]
        return [message for message in warned if f"ALTER TABLE delta.`{sink.lines.path}`" in message]

    (warning,) = warnings()
    name, value = "delta.deletedFileRetentionDuration", f"interval {days} days"
    assert "the table remembers removed files for 7 days only" in warning
    assert warning.endswith(f" SET TBLPROPERTIES ('{name}' = '{value}')")
    DeltaTable(sink.lines.path).alter.set_table_properties({name: value})
    assert warnings() == [warning]


def test_a_table_with_a_feature_that_prevents_compaction_is_warned_of_and_is_no_failure(sink: Sink) -> None:
    config = replace(without_vacuum(sink.config), views=(ViewConfig(name="all", sql="SELECT * FROM lines"),))
    config = replace(config, maintenance=replace(config.maintenance, retention=RetentionConfig()))
    demand_feature(sink.view, "clustering")
    before = data_files(sink.view)
    assert sink.maintain(config=config) == 0
    (warning,) = [str(line["message"]) for line in sink.logged() if line["log.level"] == "warning"]
    assert "view all: the table " in warning
    assert "the table feature clustering: the sink cannot compact such a table" in warning
    assert data_files(sink.view) == before


def test_a_view_without_dates_keeps_its_rows_and_is_no_failure(sink: Sink) -> None:
    config = replace(without_vacuum(sink.config), views=(ViewConfig(name="bare", sql="SELECT message FROM lines"),))
    path = f"{sink.lines.path}_bare"
    write_deltalake(path, pa.table({"message": ["old"]}))
    assert sink.maintain(config=config) == 0
    assert sink.heard("view bare: no column `date`")
    assert DeltaTable(path).to_pyarrow_table().num_rows == 1


def test_with_a_template_the_tables_are_those_that_rows_landed_in(sink: Sink, tmp_path: Path) -> None:
    config = replace(sink.config, table=TableConfig(path=str(tmp_path / "%{[topic]}")), views=())
    config = replace(config, state=replace(config.state, path=sink.marks.path))
    append_marks(sink.marks.path, [{"kind": "table", "landing": 4, "table": config.dead_letter_path, "version": 1}])
    lines = [known.table.path for known in known_tables(config) if known.role == "lines"]
    assert lines == ["lines"]  # as the marks of this test have it
    newest = max(Path(sink.marks.path, "_delta_log").glob("*.json"))
    newest.write_bytes(newest.read_bytes()[:-1])
    assert sink.maintain(config=config) == 0
    assert sink.heard(f"deleted a file torn by a power cut: {newest}")


@contextmanager
def appending(sink: Sink) -> Iterator[list[str]]:
    """Batches like the stream's, one after the other, until the block ends. Yields what failed."""
    enough = threading.Event()
    failures: list[str] = []

    def batches() -> None:
        landing = 100
        while not enough.is_set():
            landing += 1
            try:
                append_files(sink.lines, "2026-11-15", 1)
                append_marks(sink.marks.path, [file_mark("a", landing, landing), partition_mark(0, landing, landing)])
            except SinkError as error:
                failures.append(str(error))
        sink.landed = landing

    thread = threading.Thread(target=batches)
    thread.start()
    try:
        yield failures
    finally:
        enough.set()
        thread.join()


@pytest.mark.slow("two rounds of maintenance beside appends that never pause")
def test_beside_the_stream_no_row_is_lost_and_no_append_fails(sink: Sink) -> None:
    with appending(sink) as failures:
        results = [sink.maintain(), sink.maintain()]
    assert (failures, results) == ([], [0, 0])
    batches = sink.landed - 100
    assert batches > 2
    assert len(rows_of(sink.lines, "SELECT date FROM stored WHERE date = DATE '2026-11-15'")) == 6 + 2 * batches
    sink.maintain(config=without_vacuum(sink.config))
    ends = rows_of(sink.marks, 'SELECT kind, "offset", end_offset FROM stored ORDER BY kind')
    assert ends == [("file", sink.landed, None), ("partition", None, sink.landed)]


@pytest.mark.slow("runs two whole rounds beside each other")
def test_two_at_a_time_do_no_harm(sink: Sink) -> None:
    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(sink.maintain())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [0, 0]
    assert len(messages(sink.lines)) == 12
    assert rows_of(sink.marks, "SELECT \"offset\" FROM stored WHERE kind = 'file'") == [30]


def without_vacuum(config: SinkConfig) -> SinkConfig:
    """Most of what a round costs is to look for files to delete; of the tests here few are about those."""
    return replace(config, maintenance=replace(config.maintenance, vacuum=VacuumConfig(mode="off")))
