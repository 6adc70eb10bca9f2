"""A batch is landed once, wherever an earlier run of it was cut off. Real Delta tables, no Kafka."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_sink.checkpoint import Checkpoint
from spark_sink.errors import Refused, SinkError
from spark_sink.guard import check
from spark_sink.schema import BAD_RECORDS, LINES, names
from spark_sink.sink import Landed, Sink
from spark_sink.tables import NEVER, Table

pytestmark = pytest.mark.spark

GOOD = b'{"@timestamp":"2026-11-21T09:30:00Z","message":"m"}'


class Killed(Exception):
    """Stands for kill -9: nothing after it is done."""


@dataclass(frozen=True, slots=True)
class MortalTable(Table):
    """A real table, whose process dies before or after the append."""

    dies: list[str] = field(default_factory=list)

    def append(self, rows: DataFrame, writer: str, batch: int) -> None:
        if self.dies == ["before"]:
            raise Killed
        Table.append(self, rows, writer, batch)
        if self.dies == ["after"]:
            raise Killed


class Lab:
    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self.spark = spark
        self.lines = MortalTable(spark, str(directory / "lines"))
        self.dead_letter = MortalTable(spark, str(directory / "dead"))
        self.lines.create(LINES, "lines", "date")
        self.dead_letter.create(BAD_RECORDS, "bad")
        self.sink = Sink(self.lines, self.dead_letter, "query")

    def records(self, *values: bytes) -> DataFrame:
        rows = [(b"k", value, "logs", 0, offset, datetime(2026, 11, 21)) for offset, value in enumerate(values)]
        columns = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP"
        return self.spark.createDataFrame(rows, columns)

    def rows(self) -> tuple[int, int]:
        return self._read(self.lines).count(), self._read(self.dead_letter).count()

    def _read(self, table: Table) -> DataFrame:
        return self.spark.read.format("delta").load(table.path)


@pytest.fixture
def lab(spark: SparkSession, tmp_path: Path) -> Lab:
    return Lab(spark, tmp_path)


def test_the_tables_are_made_with_a_comment_on_every_column(lab: Lab) -> None:
    for table, columns in ((lab.lines, LINES), (lab.dead_letter, BAD_RECORDS)):
        found = lab.spark.read.format("delta").load(table.path).schema
        assert found.names == names(columns)
        assert [each.metadata["comment"] for each in found] == [column.comment for column in columns]
    detail = lab.spark.sql(f"DESCRIBE DETAIL delta.`{lab.lines.path}`").first()
    assert detail is not None
    assert (detail.partitionColumns, detail.description) == (["date"], "lines")


def test_a_batch_that_runs_twice_lands_once(lab: Lab) -> None:
    records = lab.records(GOOD, GOOD, b"bad")
    assert lab.sink.write_batch(records, 0) == Landed(0, rows=2, bad=1)
    assert lab.sink.write_batch(records, 0) == Landed(0, rows=0, bad=0, repeated=True)
    assert lab.rows() == (2, 1)
    assert lab.sink.write_batch(lab.records(GOOD), 1) == Landed(1, rows=1, bad=0)
    assert lab.rows() == (3, 1)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("step", ["lines", "dead_letter"])
def test_a_batch_that_is_killed_at_a_step_lands_once_when_it_runs_again(lab: Lab, step: str, moment: str) -> None:
    records = lab.records(GOOD, b"bad", GOOD)
    dying = getattr(lab, step)
    dying.dies.append(moment)
    with pytest.raises(Killed):
        lab.sink.write_batch(records, 0)
    dying.dies.clear()
    lab.sink.write_batch(records, 0)
    assert lab.rows() == (2, 1)


def test_a_batch_of_bad_records_only_counts_as_landed(lab: Lab) -> None:
    assert lab.sink.write_batch(lab.records(b"bad"), 4) == Landed(4, rows=0, bad=1)
    assert lab.rows() == (0, 1)


def test_a_table_knows_its_writers_last_batch_and_its_topics(lab: Lab) -> None:
    assert (lab.lines.last_batch("query"), lab.lines.holds(["logs"])) == (NEVER, False)
    lab.sink.write_batch(lab.records(GOOD), 7)
    assert (lab.lines.last_batch("query"), lab.lines.last_batch("other")) == (7, NEVER)
    assert lab.lines.holds(["other", "logs"])
    assert not lab.lines.holds(["other"])


def test_a_directory_that_holds_something_else_is_refused_in_words(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SinkError, match=f"cannot make the table {tmp_path}/file"):
        Table(spark, f"{tmp_path}/file/table").create(LINES, "lines")


def checkpoint(lab: Lab, directory: Path, query_id: str, batches: int) -> Checkpoint:
    (directory / "offsets").mkdir(parents=True)
    (directory / "metadata").write_text(f'{{"id":"{query_id}"}}')
    for batch in range(batches):
        (directory / "offsets" / str(batch)).write_text("v1")
    return Checkpoint(lab.spark, str(directory))


def test_a_new_checkpoint_is_refused_when_the_table_has_rows_of_its_topics(lab: Lab, tmp_path: Path) -> None:
    new = Checkpoint(lab.spark, str(tmp_path / "new"))
    check(new, (lab.lines, lab.dead_letter), ["logs"])
    lab.sink.write_batch(lab.records(b"bad"), 0)
    check(new, (lab.lines, lab.dead_letter), ["other"])
    with pytest.raises(Refused, match=r"dead has rows of logs already.*bring the checkpoint back.*new table\.path"):
        check(new, (lab.lines, lab.dead_letter), ["logs"])


def test_a_checkpoint_that_was_set_back_is_refused(lab: Lab, tmp_path: Path) -> None:
    lab.sink.write_batch(lab.records(GOOD), 3)
    check(checkpoint(lab, tmp_path / "whole", "query", batches=4), (lab.lines,), ["logs"])
    with pytest.raises(Refused, match=r"has batch 3 of this checkpoint, but .* knows no batch after 1"):
        check(checkpoint(lab, tmp_path / "old", "query", batches=2), (lab.lines,), ["logs"])


def test_a_checkpoint_tells_its_query_and_its_last_batch(lab: Lab, tmp_path: Path) -> None:
    none = Checkpoint(lab.spark, str(tmp_path / "none"))
    assert (none.query_id(), none.last_planned()) == (None, -1)
    some = checkpoint(lab, tmp_path / "some", "abc", batches=12)
    assert (some.query_id(), some.last_planned()) == ("abc", 11)


def test_a_damaged_checkpoint_is_named(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text("{}")
    with pytest.raises(SinkError, match=f"cannot read the checkpoint {tmp_path}: its file metadata is damaged"):
        Checkpoint(lab.spark, str(tmp_path)).query_id()
