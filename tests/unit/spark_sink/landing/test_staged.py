"""What is staged is committed once under its name, as it is or without some of its rows."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from log_shipper.spark_sink.errors import Refused
from log_shipper.spark_sink.landing.places import PLACE, Places
from log_shipper.spark_sink.landing.staged import Staged, stage
from log_shipper.spark_sink.landing.tasks import LocalTasks
from log_shipper.spark_sink.records.schema import Column
from log_shipper.spark_sink.rows.schema import arrow_schema
from log_shipper.spark_sink.storage.commits import CommitLog
from log_shipper.spark_sink.storage.creation import prepare
from log_shipper.spark_sink.storage.data_files import FileLayout
from log_shipper.spark_sink.storage.layout import Layout
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import NO_BATCH, Table, TxnId

DAYS = (date(2026, 11, 21), date(2026, 11, 22))
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
COLUMNS = (
    Column("topic", "STRING", ""),
    Column("partition", "INT", ""),
    Column("kafka_offset", "BIGINT", ""),
    Column("kafka_ts", "TIMESTAMP", ""),
    Column("date", "DATE", ""),
)


class StagedLab:
    """A table, and rows of one partition of a topic."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "table"
        self.log = prepare(Location(str(self.path)), Layout(COLUMNS, "", partition_by="date"))
        self.layout = FileLayout(arrow_schema(COLUMNS), "date", ("kafka_offset",))

    def stage(self, *offsets: int) -> Staged:
        place = {"topic": "t", "partition": 0, "kafka_ts": NOON}
        rows = [{**place, "kafka_offset": n, "date": DAYS[n % 2]} for n in offsets]
        return stage(self.log.location, self.layout, pa.Table.from_pylist(rows, self.layout.schema))

    def landed(self) -> list[int]:
        rows = Table(self.log.location).snapshot().select("SELECT * FROM stored").to_pylist()
        assert all(row["date"] == DAYS[row["kafka_offset"] % 2] for row in rows)
        return sorted(row["kafka_offset"] for row in rows)

    def places(self, *offsets: int, time: datetime | None = NOON) -> Places:
        rows = [{"topic": "t", "partition": 0, "kafka_ts": time, "kafka_offset": offset} for offset in offsets]
        return Places.from_rows(
            [pa.Table.from_pylist(rows, pa.schema([self.layout.schema.field(name) for name in PLACE]))]
        )

    def files(self) -> int:
        return len(list(self.path.rglob("*.parquet")))


@pytest.fixture
def lab(tmp_path: Path) -> StagedLab:
    return StagedLab(tmp_path)


def test_batches_are_committed_one_after_the_other(lab: StagedLab) -> None:
    assert [lab.log.append(lab.stage(batch).files, TxnId("q", batch)) for batch in range(3)] == [1, 2, 3]
    assert (lab.log.last_batch("another"), lab.landed()) == (NO_BATCH, [0, 1, 2])


def test_no_reader_sees_what_is_not_committed_and_what_is_discarded_is_deleted(lab: StagedLab) -> None:
    staged = lab.stage(1, 2)
    assert (staged.count, lab.landed(), lab.files()) == (2, [], 2)
    assert sorted(staged.rows(["kafka_offset"])[0].to_pylist()) == [1, 2]
    staged.discard()
    assert lab.files() == 0


def test_rows_at_some_places_are_left_out_and_the_others_written_once_more(lab: StagedLab) -> None:
    offsets = [0, 1, 62, 63, 64, 125, 126, 1_000_000]
    staged = lab.stage(*offsets)
    remaining = staged.without(lab.places(0, 63, 126, 77), LocalTasks())
    assert remaining.count == 5
    lab.log.append(remaining.files, None)
    assert lab.landed() == [1, 62, 64, 125, 1_000_000]
    assert lab.files() == 2, "the first files are deleted"


def test_a_place_of_another_time_is_another_record(lab: StagedLab) -> None:
    """A topic that was re-created has the same offsets again."""
    staged = lab.stage(1, 2)
    assert staged.without(lab.places(1, 2, time=NOON - timedelta(microseconds=1)), LocalTasks()).count == 2
    assert staged.without(lab.places(1, 2, time=None), LocalTasks()).count == 2


def test_of_rows_that_are_all_left_out_nothing_remains(lab: StagedLab) -> None:
    staged = lab.stage(1, 2)
    assert staged.without(lab.places(1, 2), LocalTasks()).files == ()
    assert lab.files() == 0


def test_without_rows_to_leave_out_the_files_stay(lab: StagedLab) -> None:
    staged = lab.stage(1, 2)
    assert staged.without(lab.places(9), LocalTasks()) == staged
    assert staged.without(Places.from_rows(), LocalTasks()) == staged


def test_a_name_that_is_taken_is_refused(lab: StagedLab) -> None:
    lab.log.append(lab.stage(1).files, TxnId("q", 5))
    for batch in (4, 5):
        with pytest.raises(Refused, match="already has batch 5 of this checkpoint"):
            lab.log.append(lab.stage(2).files, TxnId("q", batch))
    assert lab.landed() == [1]


def test_two_that_commit_one_batch_at_the_same_time_do_not_both_land(lab: StagedLab) -> None:
    table = lab.log.location.open()
    assert table is not None
    other = CommitLog(lab.log.location, table)
    lab.log.append(lab.stage(1).files, TxnId("q", 0))
    with pytest.raises(Refused, match="already has batch 0 of this checkpoint"):
        other.append(lab.stage(2).files, TxnId("q", 0))
    assert lab.landed() == [1]
