"""Which tables are searched, and how little of them is read."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.records.schema import BAD_RECORDS, LINES, Column
from log_shipper.spark_sink.search.newest import newest_first, scan_of
from log_shipper.spark_sink.search.query import Query
from log_shipper.spark_sink.search.reading import piece_of, split
from log_shipper.spark_sink.search.tables import open_table
from log_shipper.spark_sink.storage.locations import Location
from tests.unit.spark_sink.search.search_lab import COLUMNS, JUDGE, NOON, Table, line, lines, run, search


def files_read(table: Table, query: Query, limit: int = 0) -> int:
    opened = open_table(Location(str(table.path)))
    scan = scan_of(query, JUDGE.selection(query, opened.schema, limit), JUDGE)
    scan.threads = 1
    hits = newest_first(scan, opened.files(query))
    for _ in range(limit or 1_000_000):
        if next(hits, None) is None:
            break
    hits.close()
    return len(scan.files_read)


@pytest.fixture
def ten_days(table: Table) -> Table:
    for day in range(10):
        ts = NOON - timedelta(days=day)
        table.land(
            [line(f"day {day}", ts=ts), line("noon", ts=ts)], [line("evening", ts=ts + timedelta(hours=6), host="db-1")]
        )
    return table


def test_only_files_are_read_that_may_have_hits(ten_days: Table) -> None:
    assert files_read(ten_days, Query()) == 20
    assert files_read(ten_days, Query(since=NOON)) == 2
    assert files_read(ten_days, Query(since=NOON + timedelta(hours=1))) == 1
    assert files_read(ten_days, Query(until=NOON - timedelta(days=8))) == 3
    assert files_read(ten_days, Query(hosts=("db-1",))) == 10
    assert files_read(ten_days, Query(hosts=("web-1", "app"))) == 10
    assert files_read(ten_days, Query(hosts=("web-*",))) == 20
    assert files_read(ten_days, Query(paths=("/var/log/app.log",))) == 20
    assert files_read(ten_days, Query(paths=("/var/log/b.log",))) == 0
    assert files_read(ten_days, Query(paths=("app.log",))) == 20


def test_older_files_are_not_opened_once_the_limit_is_reached(ten_days: Table) -> None:
    assert files_read(ten_days, Query(text="noon"), limit=1) == 2
    assert files_read(ten_days, Query(text="day 2"), limit=1) == 6


def test_a_large_file_is_read_by_its_row_groups(table: Table, tmp_path: Path) -> None:
    table.land(lines(1))
    (stored,) = table.path.rglob("*.parquet")
    rows = parquet.read_table(stored, partitioning=None)
    parquet.write_table(
        pa.concat_tables([rows, rows.set_column(0, "ts", [[NOON]]).cast(rows.schema)]), stored, row_group_size=1
    )
    (file,) = open_table(Location(str(table.path))).files(Query())
    pieces = split(piece_of(replace(file, size=2**30)))
    noon = round(NOON.timestamp()) * 1_000_000
    assert [(piece.oldest, piece.newest) for piece in pieces] == [(noon + 1_000_000,) * 2, (noon,) * 2]


def test_a_table_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SinkError, match=r"there is no table at .*none"):
        search(tmp_path / "none")


def test_a_damaged_file_is_named(table: Table) -> None:
    table.land(lines(1))
    (stored,) = table.path.rglob("*.parquet")
    stored.write_bytes(b"no parquet")
    with pytest.raises(SinkError, match=f"cannot read the data file .*{stored.name}"):
        search(table)


def test_a_file_of_before_a_column_has_null_there(tmp_path: Path) -> None:
    Table(tmp_path / "logs", LINES).land([line("old", 1)])
    Table(tmp_path / "logs", COLUMNS).land([line("new", 2, status=200)])
    assert [row["status"] for row in search(tmp_path / "logs", "--json").rows] == [200, None]
    assert search(tmp_path / "logs", "--where", "status IS NULL").messages == ["old"]


def test_a_table_without_dates_is_searched(tmp_path: Path) -> None:
    table = Table(tmp_path / "logs", partition="")
    table.land(lines(1), lines(2))
    assert search(table, "--since", "2026-11-21T12:00:02").messages == ["line 2"]
    assert search(table, "--json").rows[0]["date"] == "2026-11-21"


def test_files_without_statistics_are_searched_in_order(table: Table) -> None:
    table.land(lines(1, 5), lines(3))
    without = json.dumps({"numRecords": 2})
    for commit in (table.path / "_delta_log").glob("*1.json"):
        actions: list[dict[str, Any]] = [json.loads(text) for text in commit.read_text().splitlines()]
        for action in actions:
            if "add" in action:
                action["add"]["stats"] = without
        commit.write_text("\n".join(map(json.dumps, actions)))
    assert search(table).messages == ["line 5", "line 3", "line 1"]


def test_several_tables_are_one(tmp_path: Path) -> None:
    one, other = Table(tmp_path / "a", LINES), Table(tmp_path / "b")
    one.land(lines(1, 3))
    other.land(lines(2))
    paths = ["--table", str(one.path), "--table", str(other.path)]
    assert run(paths).messages == ["line 3", "line 2", "line 1"]
    assert run([*paths, "--where", "status IS NULL"]).messages == ["line 3", "line 2", "line 1"]


def test_columns_of_two_types_are_refused(tmp_path: Path) -> None:
    Table(tmp_path / "a", (*LINES, Column("status", "STRING", "")))
    Table(tmp_path / "b")
    with pytest.raises(SinkError, match=r"the column status of .*b is int32, but string"):
        run(["--table", str(tmp_path / "a"), "--table", str(tmp_path / "b")])


CONFIG = """\
kafka: {{hosts: [a:1], topics: [shop]}}
checkpoint.path: {root}/checkpoint
table.path: {root}/{table}
"""


@pytest.mark.parametrize(
    ("path", "tables", "hits"),
    [
        ("lines", ["lines", "lines_marks"], 1),
        ("by/%{[topic]}", ["by/shop", "by/old"], 2),
        ("by/%{[topic]}/%{[fields.env]:none}", ["by/shop/prod", "by/shop/none", "by/_x/none", "by_dead_letter"], 2),
        ("lines-%{[topic]}", ["lines-shop", "lines_marks"], 1),
        ("by/%{[topic]}.d", ["by/shop.d", "by/shop.d2"], 1),
    ],
)
def test_the_configuration_has_the_tables(path: str, tables: Sequence[str], hits: int, tmp_path: Path) -> None:
    for name in tables:
        Table(tmp_path / name).land([line(name)])
    config = tmp_path / "sink.yml"
    config.write_text(CONFIG.format(root=tmp_path, table=path))
    printed = run(["-c", str(config)])
    assert len(printed.lines) == hits
    assert "marks" not in printed.text


def test_a_table_that_is_created_while_following_is_followed(tmp_path: Path) -> None:
    Table(tmp_path / "by" / "shop").land([line("shop")])
    config = tmp_path / "sink.yml"
    config.write_text(CONFIG.format(root=tmp_path, table="by/%{[topic]}"))
    steps = [lambda: Table(tmp_path / "by" / "new").land([line("new", status=1)]), *[lambda: None] * 20]
    assert run(["-c", str(config), "-f"], steps).messages == ["shop", "new"]


def test_a_template_without_a_table_is_reported(tmp_path: Path) -> None:
    config = tmp_path / "sink.yml"
    config.write_text(CONFIG.format(root=tmp_path, table="by/%{[topic]}"))
    with pytest.raises(SinkError, match=r"there is no table below .*/by yet"):
        run(["-c", str(config)])


def test_a_table_of_another_kind_is_named_with_its_columns(tmp_path: Path) -> None:
    Table(tmp_path / "logs_dead_letter", BAD_RECORDS, partition="")
    with pytest.raises(
        SinkError,
        match=r"logs_dead_letter is not a table of lines: its column ts is missing or of another type; "
        r".* reason, topic",
    ):
        search(tmp_path / "logs_dead_letter")


def rewrite_first(table: Table, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the actions of the table's first commit."""
    commit = table.path / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(text) for text in commit.read_text().splitlines()]
    for action in actions:
        change(action)
    commit.write_text("\n".join(map(json.dumps, actions)))


def demand(feature: str) -> Callable[[dict[str, Any]], None]:
    def change(action: dict[str, Any]) -> None:
        if "protocol" in action:
            versions = {"minReaderVersion": 3, "minWriterVersion": 7}
            action["protocol"] = {**versions, "readerFeatures": [feature], "writerFeatures": [feature]}
        if "metaData" in action and feature == "variantType":
            for name in ("doc", "fields"):
                kinds = f'"name":"{name}","type":"string"', f'"name":"{name}","type":"variant"'
                action["metaData"]["schemaString"] = action["metaData"]["schemaString"].replace(*kinds)

    return change


@pytest.mark.parametrize("feature", ["variantType", "deletionVectors"])
def test_a_feature_that_search_does_not_read_is_refused(table: Table, feature: str) -> None:
    """With deletion vectors it would show deleted rows."""
    rewrite_first(table, demand(feature))
    with pytest.raises(SinkError, match=f"has {feature}, which search does not support"):
        search(table)


def test_times_of_spark_are_read_as_they_are(table: Table) -> None:
    """Spark writes INT96 by default, as OPTIMIZE does, and its bounds are rounded down to milliseconds."""
    far = NOON.replace(year=2999, microsecond=999)
    table.land([line("far", ts=far)])
    (stored,) = table.path.rglob("*.parquet")
    rows = parquet.read_table(stored, partitioning=None)
    parquet.write_table(rows, stored, use_deprecated_int96_timestamps=True)
    (commit,) = (table.path / "_delta_log").glob("*1.json")
    commit.write_text(commit.read_text().replace("2999-11-21T12:00:00.001Z", "2999-11-21T12:00:00.000Z"))
    assert search(table, "--json", "--since", far.isoformat()).rows[0]["ts"] == "2999-11-21T12:00:00.000999Z"
