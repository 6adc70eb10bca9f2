"""Each call into Delta's own Java does what the sink relies on. Another release of Delta has to pass these first."""

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # py4j ships no types
from pyspark.sql import DataFrame, SparkSession

from log_shipper.spark_sink.delta import DataFiles, DeltaLog, Transaction, forget_logs
from log_shipper.spark_sink.storage.tables import NO_BATCH, TxnId

pytestmark = pytest.mark.spark

DAY = 86_400.0
PROPERTIES = (
    "'delta.deletedFileRetentionDuration' = 'interval 9 days', 'delta.logRetentionDuration' = 'interval 12 days'"
)


def numbers(spark: SparkSession, *values: int) -> DataFrame:
    rows = ", ".join(f"({value}, DATE'2026-11-2{value % 10}')" for value in values)
    return spark.sql(f"SELECT CAST(n AS BIGINT) AS n, date FROM VALUES {rows} AS v (n, date)").coalesce(1)


def append(log: DeltaLog, *values: int, txn: TxnId | None = None) -> None:
    names = {} if txn is None else {"txnAppId": txn.query_id, "txnVersion": str(txn.batch)}
    numbers(log.spark, *values).write.format("delta").mode("append").options(**names).save(log.path)


@pytest.fixture(scope="module")
def template(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Version 0 has no rows; 1 has the numbers 1 and 2, as batch 7 of the query q; 2 has 3 too, without a name."""
    path = tmp_path_factory.mktemp("contract") / "table"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (n BIGINT, date DATE) USING DELTA PARTITIONED BY (date) "
        f"TBLPROPERTIES ({PROPERTIES})"
    )
    log = DeltaLog(spark, str(path))
    append(log, 1, 2, txn=TxnId("q", 7))
    append(log, 3)
    return path


@pytest.fixture
def table(template: Path, tmp_path: Path) -> Path:
    """A copy, to be written to. Delta has not read it yet."""
    return Path(shutil.copytree(template, tmp_path / "table"))


@pytest.fixture
def log(spark: SparkSession, table: Path) -> DeltaLog:
    return DeltaLog(spark, str(table))


def content(log: DeltaLog) -> list[int]:
    return sorted(row.n for row in log.spark.read.format("delta").load(log.path).collect())


def commit(log: DeltaLog, version: int) -> list[dict[str, dict[str, object]]]:
    """The actions of a commit, as Delta's protocol has them: a JSON object with one member each."""
    return [json.loads(line) for line in commit_file(log, version).read_text().splitlines()]


def commit_file(log: DeltaLog, version: int) -> Path:
    return Path(log.path, "_delta_log", f"{version:020}.json")


def lose_checksums(log: DeltaLog) -> None:
    """As of a version that another program wrote."""
    for path in Path(log.path, "_delta_log").glob("*.crc"):
        path.unlink()


def test_a_snapshot_is_the_newest_version_as_the_log_has_it(log: DeltaLog) -> None:
    snapshot = log.snapshot()
    assert (snapshot.exists, snapshot.version) == (True, 2)
    assert snapshot.committed.tzinfo is UTC
    assert abs(snapshot.committed.timestamp() - commit_file(log, 2).stat().st_mtime) < 1
    assert snapshot.partition_columns == ["date"]
    by_another_process = commit_file(log, 3)
    by_another_process.write_text(json.dumps({"commitInfo": {"timestamp": 0, "operation": "SET TBLPROPERTIES"}}))
    assert (snapshot.version, log.snapshot().version) == (2, 3)


def test_the_files_of_a_snapshot_are_rows_with_path_size_partition_and_statistics(log: DeltaLog) -> None:
    files = {row["partitionValues"]["date"]: row for row in log.snapshot().files().collect()}
    assert files.keys() == {"2026-11-21", "2026-11-22", "2026-11-23"}
    for row in files.values():
        assert row["size"] == Path(log.path, row["path"]).stat().st_size
        assert json.loads(row["stats"])["numRecords"] == 1


@pytest.mark.parametrize("checksums", [True, False])
def test_the_batches_of_a_query_are_known_with_and_without_checksums(log: DeltaLog, *, checksums: bool) -> None:
    if not checksums:
        lose_checksums(log)
    snapshot = log.snapshot()
    assert (snapshot.last_batch("q"), snapshot.last_batch("another")) == (7, NO_BATCH)
    assert snapshot.has_batches
    assert snapshot.file_count == (3 if checksums else None)


def test_a_table_without_batches_has_none(spark: SparkSession, tmp_path: Path) -> None:
    log = DeltaLog(spark, str(tmp_path / "table"))
    assert not log.snapshot().exists
    spark.sql(f"CREATE TABLE delta.`{log.path}` (n BIGINT, date DATE) USING DELTA")
    assert (log.snapshot().has_batches, log.snapshot().last_batch("q")) == (False, NO_BATCH)
    assert (log.snapshot().file_count, log.snapshot().partition_columns) == (0, [])


def test_the_retentions_of_a_table_are_in_seconds(log: DeltaLog) -> None:
    assert (log.removed_files_kept(), log.log_kept()) == (9 * DAY, 12 * DAY)


def test_the_version_at_a_time_is_the_last_one_committed_by_then(log: DeltaLog) -> None:
    noon = datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()
    for version in range(3):
        os.utime(commit_file(log, version), (noon + version * 60, noon + version * 60))
    asked = (noon - 1, noon, noon + 59, noon + 60, noon + 3600)
    assert [log.version_at(seconds) for seconds in asked] == [None, 0, 0, 1, 2]


def test_a_vacuum_that_is_recorded_is_where_the_next_lite_one_begins(log: DeltaLog) -> None:
    log.note_vacuumed(1)
    recorded = json.loads(Path(log.path, "_delta_log", "_last_vacuum_info").read_text())
    assert recorded == {"latestCommitVersionOutsideOfRetentionWindow": 1}


def test_a_checkpoint_is_of_the_newest_version(log: DeltaLog) -> None:
    log.checkpoint()
    assert json.loads(Path(log.path, "_delta_log", "_last_checkpoint").read_text())["version"] == 2
    assert log.snapshot().last_batch("q") == 7


def rewritten(log: DeltaLog, transaction: Transaction) -> tuple[DataFiles, DataFiles]:
    """All files of the table, and what takes their place."""
    old = transaction.read_all()
    return old, transaction.write(transaction.rows(old).coalesce(1))


def test_a_replacement_changes_no_data_and_lets_appends_pass(log: DeltaLog) -> None:
    transaction = log.start_transaction()
    old, new = rewritten(log, transaction)
    assert (len(old), len(new)) == (3, 3)
    assert content(log) == [1, 2, 3]
    append(log, 9)
    transaction.replace(old, new)
    assert content(log) == [1, 2, 3, 9]
    changed = [action for entry in commit(log, 4) for name, action in entry.items() if name in ("add", "remove")]
    assert len(changed) == 3 + len(new)
    assert not any(action["dataChange"] for action in changed)


def test_a_replacement_fails_when_another_process_has_replaced_the_same_files(log: DeltaLog) -> None:
    one, other = log.start_transaction(), log.start_transaction()
    files, others_files = rewritten(log, one), rewritten(log, other)
    other.replace(*others_files)
    with pytest.raises(Py4JJavaError, match="DELTA_CONCURRENT_DELETE"):
        one.replace(*files)
    assert content(log) == [1, 2, 3]


def test_a_log_that_was_forgotten_is_read_again(log: DeltaLog, template: Path) -> None:
    """Delta trusts what it has in memory as long as the log's newest files are the same."""
    before = log.snapshot()
    assert log.snapshot().java.equals(before.java)
    forget_logs(log.spark)
    assert not log.snapshot().java.equals(before.java)
