"""What is staged is committed once under its name, and a commit costs no more than its own file."""

from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # py4j ships no types
from pyspark.sql import DataFrame, SparkSession

from spark_sink.delta import NO_BATCH, TxnId, forget_logs
from spark_sink.errors import Refused
from spark_sink.landing.staged import stage
from spark_sink.records.schema import Column
from spark_sink.storage.layout import Layout, prepare
from spark_sink.storage.tables import Table

pytestmark = pytest.mark.spark


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Table:
    table = Table(spark, str(tmp_path / "table"))
    prepare(table.snapshot(), Layout((Column("n", "BIGINT", ""),), ""))
    return table


def rows(table: Table, *numbers: int) -> DataFrame:
    return table.spark.sql("SELECT explode(:numbers) AS n", args={"numbers": list(numbers)}).selectExpr(
        "CAST(n AS BIGINT) AS n"
    )


def landed(table: Table) -> list[int]:
    return sorted(row.n for row in table.read().collect())


def jobs(spark: SparkSession) -> int:
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def test_a_commit_replays_no_log(table: Table) -> None:
    for batch in range(3):
        staged = stage(table, rows(table, batch))
        before = jobs(table.spark)
        assert staged.commit(TxnId("q", batch)) == batch + 1
        assert jobs(table.spark) == before
    assert (table.last_batch("q"), table.last_batch("another")) == (2, NO_BATCH)
    assert landed(table) == [0, 1, 2]


def test_no_reader_sees_what_is_not_committed_and_what_is_discarded_is_deleted(table: Table) -> None:
    staged = stage(table, rows(table, 1, 2))
    assert (staged.count, landed(table)) == (2, [])
    assert sorted(row.n for row in staged.rows().collect()) == [1, 2]
    files = set(Path(table.path).rglob("*.parquet"))
    staged.discard()
    assert files
    assert not set(Path(table.path).rglob("*.parquet"))


def test_a_name_that_is_taken_is_refused(table: Table) -> None:
    stage(table, rows(table, 1)).commit(TxnId("q", 5))
    for batch in (4, 5):
        with pytest.raises(Refused, match="has batch 5 of this checkpoint already"):
            stage(table, rows(table, 2)).commit(TxnId("q", batch))
    assert landed(table) == [1]


def test_two_that_commit_one_batch_at_the_same_time_do_not_both_land(table: Table) -> None:
    one, other = stage(table, rows(table, 1)), stage(table, rows(table, 2))
    one.commit(TxnId("q", 0))
    with pytest.raises(Py4JJavaError, match="ConcurrentTransaction"):
        other.commit(TxnId("q", 0))
    assert landed(table) == [1]


def test_concurrent_commits_of_other_queries_are_no_conflict(table: Table) -> None:
    one, other = stage(table, rows(table, 1)), stage(table, rows(table, 2))
    one.commit(TxnId("p", 0))
    other.commit(TxnId("q", 0))
    assert landed(table) == [1, 2]


def test_without_the_checksum_of_a_version_its_log_has_the_batch(table: Table) -> None:
    """Another program may have written the version: not all of them leave one."""
    stage(table, rows(table, 1)).commit(TxnId("q", 7))
    for checksum in Path(table.path, "_delta_log").glob("*.crc"):
        checksum.unlink()
    forget_logs(table.spark)
    assert table.last_batch("q") == 7
    with pytest.raises(Refused):
        stage(table, rows(table, 2)).commit(TxnId("q", 7))
