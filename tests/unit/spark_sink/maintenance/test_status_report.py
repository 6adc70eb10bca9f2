from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from log_shipper.spark_sink.maintenance.known import KnownTable
from log_shipper.spark_sink.maintenance.sizes import DateFiles, Sizes
from log_shipper.spark_sink.maintenance.status_report import (
    LandedEnd,
    PartitionStatus,
    Status,
    TableStatus,
    document,
    text,
)
from log_shipper.spark_sink.maintenance.streams import StreamStatus
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import Table

AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)

FULL = Status(
    read_at=AT,
    streams=(StreamStatus("stream", "/data/checkpoint", 17, AT),),
    partitions=(
        PartitionStatus("logs", 0, LandedEnd(1200, AT), 1500),
        PartitionStatus("logs", 1, None, 7),
        PartitionStatus("old", 0, LandedEnd(9, None), None),
    ),
    tables=(
        TableStatus(
            KnownTable("lines", Table(Location("/data/lines"))),
            Sizes(
                12,
                AT,
                True,
                (
                    DateFiles(date(2026, 11, 20), 3, 2, 2, 3 * 2**20, 1000),
                    DateFiles(date(2026, 11, 21), 1, 1, 1, 10, 200),
                ),
            ),
        ),
        TableStatus(KnownTable("view", Table(Location("/data/errors")), name="errors")),
    ),
    reasons=(("not JSON", 1234), ("no @timestamp", 1)),
    files=2000,
    errors=("Kafka does not answer",),
)
EMPTY = Status(AT, (StreamStatus("stream", "/data/checkpoint", None, None),), (), (), (), 0, ())


def test_the_document_has_everything() -> None:
    assert document(FULL) == {
        "at": "2026-11-21T09:30:00Z",
        "streams": [
            {"name": "stream", "checkpoint": "/data/checkpoint", "batch": 17, "committed": "2026-11-21T09:30:00Z"}
        ],
        "partitions": [
            {
                "topic": "logs",
                "partition": 0,
                "landed": 1200,
                "end": 1500,
                "lag": 300,
                "last_batch": "2026-11-21T09:30:00Z",
            },
            {"topic": "logs", "partition": 1, "landed": None, "end": 7, "lag": None, "last_batch": None},
            {"topic": "old", "partition": 0, "landed": 9, "end": None, "lag": None, "last_batch": None},
        ],
        "tables": [
            {
                "table": "lines",
                "path": "/data/lines",
                "there": True,
                "version": 12,
                "committed": "2026-11-21T09:30:00Z",
                "rows": 1200,
                "bytes": 3 * 2**20 + 10,
                "files": 4,
                "small_files": 3,
                "too_many_files": False,
                "dates": {"count": 2, "first": "2026-11-20", "last": "2026-11-21"},
            },
            {"table": "view errors", "path": "/data/errors", "there": False},
        ],
        "dead_letter": [{"reason": "not JSON", "rows": 1234}, {"reason": "no @timestamp", "rows": 1}],
        "state": {"files": 2000, "bytes_in_memory": 700_000},
        "errors": ["Kafka does not answer"],
    }


def test_for_people_it_is_a_table() -> None:
    assert (
        text(document(FULL))
        == """\
stream: batch 17, committed 2026-11-21 09:30:00Z (/data/checkpoint)

TOPIC  PARTITION  LANDED    END  LAG            LAST BATCH
logs           0   1,200  1,500  300  2026-11-21 09:30:00Z
logs           1       -      7    -                     -
old            0       9      -    -                     -

TABLE        PATH          VERSION   ROWS     SIZE  FILES  SMALL  DATES
lines        /data/lines        12  1,200  3.0 MiB      4      3  2, 2026-11-20 to 2026-11-21
view errors  /data/errors        -      -        -      -      -  does not exist yet

 ROWS  BAD BECAUSE
1,234  not JSON
    1  no @timestamp

remembered files: 2,000, 683.6 KiB of memory

error: Kafka does not answer
"""
    )


@pytest.mark.parametrize(("files", "too_many"), [(20_000, False), (20_001, True)])
def test_a_table_of_very_many_files_comes_with_advice(files: int, too_many: bool) -> None:
    known = KnownTable("lines", Table(Location("/data/lines")), name="web")
    days = (DateFiles(date(2026, 11, 21), files, files, files, 1, 1),)
    report = document(replace(FULL, tables=(TableStatus(known, Sizes(1, AT, True, days)),)))
    assert report["tables"][0]["too_many_files"] is too_many
    assert ("\nlines web: 20,001 files slow down queries and starts: run" in text(report)) is too_many


def test_before_the_first_run_there_is_no_batch() -> None:
    assert "stream: no batch yet (/data/checkpoint)" in text(document(EMPTY))


@pytest.mark.parametrize(("landed", "end", "lag"), [(5, 9, 4), (9, 9, 0), (12, 9, 0), (None, 9, None), (5, None, None)])
def test_lag_needs_both_ends(landed: int | None, end: int | None, lag: int | None) -> None:
    assert PartitionStatus("logs", 0, None if landed is None else LandedEnd(landed, AT), end).lag == lag
