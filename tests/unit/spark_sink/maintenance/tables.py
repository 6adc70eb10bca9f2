"""Tables as the sink leaves them: many small files, a commit each."""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, Schema

from log_shipper.spark_sink.landing.marks import MARKS
from log_shipper.spark_sink.storage.commits import CommitLog
from log_shipper.spark_sink.storage.creation import prepare
from log_shipper.spark_sink.storage.data_files import DataFile, DataFileWriter, FileLayout
from log_shipper.spark_sink.storage.layout import Layout
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import Table

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LINES = pa.schema([("date", pa.date32()), ("message", pa.string())])


def at(days_ago: float) -> datetime:
    return NOW - timedelta(days=days_ago)


def make_lines(path: Path, files: dict[str, int], dated: bool = True) -> Table:
    """So many files of two rows each under each date, by one commit after the one that makes the table."""
    DeltaTable.create(str(path), Schema.from_arrow(LINES), partition_by=["date"] if dated else None)
    table = Table(Location(str(path)))
    if files:
        _append(table, files)
    return table


def append_files(table: Table, day: str, count: int) -> None:
    _append(table, {day: count})


def _append(table: Table, files: Mapping[str, int]) -> None:
    opened = DeltaTable(table.path)
    dated = opened.metadata().partition_columns == ["date"]
    layout = FileLayout(LINES, "date" if dated else "", ("date", "message"))
    rows = (
        [{"date": date.fromisoformat(day), "message": str(number)} for number in (2 * file, 2 * file + 1)]
        for day, count in files.items()
        for file in range(count)
    )
    commit(opened, layout, rows)


def commit(table: DeltaTable, layout: FileLayout, files: Iterable[Sequence[Mapping[str, object]]]) -> None:
    """One commit, with one file for each list of rows, which are of one date."""
    location, written = Location(table.table_uri), list[DataFile]()
    for rows in files:
        with DataFileWriter(location, layout) as writer:
            writer.write(pa.Table.from_pylist(list(rows), schema=layout.schema))
            written += writer.close()
    CommitLog(location, table).append(written, None)


def make_marks(path: Path) -> Table:
    table = Table(Location(str(path)))
    prepare(Location(str(path)), Layout(MARKS, "marks"))
    return table


def append_marks(path: str, rows: Sequence[dict[str, object]]) -> None:
    """One append, as a batch of the job does it."""
    opened = DeltaTable(path)
    commit(opened, FileLayout(pa.schema(opened.schema().to_arrow())), [rows])


def file_mark(file_id: str, landing: int, offset: int, days_ago: float = 0.0) -> dict[str, object]:
    day = at(days_ago).date()
    return {
        "kind": "file",
        "landing": landing,
        "at": at(days_ago),
        "table": "lines",
        "host": "web-1",
        "file_id": file_id,
        "offset": offset,
        "first_date": day,
        "last_date": day,
    }


def partition_mark(partition: int, landing: int, end: int, days_ago: float = 0.0) -> dict[str, object]:
    return {
        "kind": "partition",
        "landing": landing,
        "at": at(days_ago),
        "topic": "logs",
        "partition": partition,
        "end_offset": end,
    }


def age(table: Table, days: float) -> None:
    """Make the table's history days older, in its log and in its files' times."""
    earlier = round(days * 86400 * 1000)
    for log in Path(table.path, "_delta_log").glob("*.json"):
        written = re.sub(
            r'"(deletionTimestamp|modificationTime|timestamp)":(\d+)',
            lambda match: f'"{match[1]}":{int(match[2]) - earlier}',
            log.read_text(),
        )
        log.write_text(written)
    for file in Path(table.path).rglob("*"):
        if file.is_file():
            then = file.stat().st_mtime - days * 86400
            os.utime(file, (then, then))


def data_files(table: Table) -> set[str]:
    return {
        str(path.relative_to(table.path))
        for path in Path(table.path).rglob("*.parquet")
        if "_delta_log" not in path.parts
    }


def messages(table: Table) -> list[str]:
    return sorted(rows_of(table, "SELECT message FROM stored"))


def rows_of(table: Table, query: str) -> list[Any]:
    """Return the rows of an answer, or the values of a single column."""
    answer = table.snapshot().select(query)
    return (
        answer.column(0).to_pylist() if answer.num_columns == 1 else [tuple(row.values()) for row in answer.to_pylist()]
    )


def demand_feature(table: Table, feature: str) -> None:
    """Let the table demand a feature of its writers."""
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [feature]}
    log = Path(table.path, "_delta_log", f"{table.version() + 1:020}.json")
    log.write_text(json.dumps({"protocol": protocol}))
