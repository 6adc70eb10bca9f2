"""Delta's own Java classes behind typed methods; no other module calls them.

Rows land without them (`storage.commits`). But Delta's public interface needs a query to report the version of a table
or the batches in it, and cannot replace files while others append. So the sink uses what Delta itself uses. None of it
is public, and a release of Delta may change any of it: `check_version` refuses every release but the one this module
was tested with, and a class or method that is missing all the same is reported by name. Used, all of delta-spark 4.0.1:

    io.delta.VERSION
    DeltaLog              forTable, update, unsafeVolatileSnapshot, startTransaction, createDataFrame, checkpoint,
                          history, tombstoneRetentionMillis, deltaRetentionMillis, clearCache
    Snapshot              version, timestamp, metadata, schema, checksumOpt, transactions, allFiles
    OptimisticTransaction snapshot, writeFiles, filterFiles, commit
    AddFile               removeWithTimestamp, copy
    DeltaOperations.Write, DeltaHistoryManager.getActiveCommitAtTime, LastVacuumInfo.persistLastVacuumInfo

Errors that Delta raises pass through; the caller knows what it was doing and translates them.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]  # py4j ships no types
from pyspark.sql import DataFrame, SparkSession

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.platform import delta_jar
from log_shipper.spark_sink.platform.jvm import java_class, scala_list, scala_none
from log_shipper.spark_sink.platform.spark_errors import SPARK_ERRORS

P = ParamSpec("P")
T = TypeVar("T")

NO_BATCH = -1  # below every batch number
DELTA = delta_jar.RELEASES["4.0"]
NEEDED = DELTA.rpartition(":")[2]
PACKAGE = "org.apache.spark.sql.delta"

# How Py4J reports a method or class that is missing, and how Java does where one class of Delta's misses another.
_NO_METHOD = re.compile(r"Method .* does not exist|does not exist in the JVM")
_NO_CLASS = re.compile(r"NoSuchMethodError|NoSuchFieldError|AbstractMethodError|NoClassDefFoundError")


@dataclass(frozen=True, slots=True)
class TxnId:
    """The name of a batch's commit in a table's log: Delta's txnAppId is the query's id, and its txnVersion is the
    number of the batch, which rises."""

    query_id: str
    batch: int


def installed_version(spark: SparkSession) -> str | None:
    """Return the release of the delta-spark jar on the class path; None without one."""
    try:
        return str(java_class(spark, "io.delta.package").VERSION())
    except (Py4JError, TypeError):  # an unknown class is a package to Py4J, and a package cannot be called
        return None


def check_version(spark: SparkSession, needed: str = NEEDED) -> None:
    """Raise SinkError where Spark has another release of Delta than `needed`, or none.

    With another one the first commit could fail, or succeed without doing what this module relies on.
    """
    installed = installed_version(spark)
    if installed != needed:
        state = "there is no delta-spark on Spark's class path" if installed is None else f"delta-spark is {installed}"
        raise SinkError(f"{state}, and the sink needs {needed}. {_advice(needed)}")


def _advice(needed: str) -> str:
    package = f"{DELTA.rpartition(':')[0]}:{needed}"
    return (
        f"Under spark-submit use --packages {package} and remove every other Delta jar from the cluster's class path "
        "(docs/cluster.md). Elsewhere take other Delta jars out of spark.jars, spark.jars.packages and "
        "spark.driver.extraClassPath"
    )


def _translated(method: Callable[P, T]) -> Callable[P, T]:
    """Let the method raise SinkError where Delta lacks a class or method: which one, and what to install."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except (Py4JError, TypeError) as error:
            if (name := _missing(error)) is None:
                raise
            raise SinkError(f"this release of Delta lacks what the sink calls ({name}). {_advice(NEEDED)}") from error

    return call


def _missing(error: Exception) -> str | None:
    """Return which class or method the error says is missing; None for every other error."""
    if isinstance(error, TypeError):  # to Py4J an unknown class is a package, which cannot be called
        return str(error) if "JavaPackage" in str(error) else None
    match = (_NO_CLASS if isinstance(error, Py4JJavaError) else _NO_METHOD).search(str(error))
    return match.group() if match else None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One version of a table, as Delta read it. Answers come from memory unless a docstring names a cost."""

    spark: SparkSession
    java: Any

    @property
    @_translated
    def version(self) -> int:
        """The version of the newest commit; every commit is one more. Below 0 without a table."""
        return int(self.java.version())

    @property
    def exists(self) -> bool:
        return self.version >= 0

    @property
    @_translated
    def committed(self) -> datetime:
        return datetime.fromtimestamp(int(self.java.timestamp()) / 1000, UTC)

    @property
    @_translated
    def partition_columns(self) -> list[str]:
        return [str(name) for name in scala_list(self.java.metadata().partitionColumns())]

    @property
    @_translated
    def file_count(self) -> int | None:
        """The number of data files; None for a version that another program wrote without a checksum: only a replay of
        the log could count them."""
        checksum = self.java.checksumOpt()
        return int(checksum.get().numFiles()) if checksum.isDefined() else None

    @_translated
    def files(self) -> DataFrame:
        """Return the actions that added the data files (path, size, partitionValues, stats ...), as rows that Spark
        reads."""
        return DataFrame(self.java.allFiles().toDF(), self.spark)

    @_translated
    def last_batch(self, query_id: str) -> int:
        """Return the highest batch of this query that the table has, NO_BATCH without one.

        The checksum file of a version has the last batch of every query. Without it, Spark has to replay the log, which
        costs more than a small batch.
        """
        if not self.exists:
            return NO_BATCH
        checksum = self.java.checksumOpt()
        if checksum.isDefined() and (named := checksum.get().setTransactions()).isDefined():
            batches = (int(txn.version()) for txn in scala_list(named.get()) if txn.appId() == query_id)
            return max(batches, default=NO_BATCH)
        batch = self.java.transactions().get(query_id)
        return int(batch.get()) if batch.isDefined() else NO_BATCH

    @property
    @_translated
    def has_batches(self) -> bool:
        """True if any query has committed a batch. May replay the log."""
        return not self.java.transactions().isEmpty()


@dataclass(frozen=True, slots=True)
class DeltaLog:
    """The log of the table at a path. Delta keeps the logs in memory as they were when they were last read."""

    spark: SparkSession
    path: str

    @_translated
    def snapshot(self) -> Snapshot:
        """Return the newest version of the table. Each call lists the directory of the log."""
        return Snapshot(self.spark, self._updated().unsafeVolatileSnapshot())

    @_translated
    def start_transaction(self) -> "Transaction":
        """Return a transaction that reads the newest version."""
        none = scala_none(self.spark)
        return Transaction(self.spark, self._java.startTransaction(none, none))

    @_translated
    def removed_files_kept(self) -> float:
        """Return the seconds for which the table remembers removed files (delta.deletedFileRetentionDuration)."""
        metadata = self._updated().unsafeVolatileSnapshot().metadata()
        return float(_delta(self.spark, "DeltaLog").tombstoneRetentionMillis(metadata)) / 1000

    @_translated
    def log_kept(self) -> float:
        """Return the seconds that the log goes back, its last day not counted (delta.logRetentionDuration)."""
        log = self._updated()
        return float(log.deltaRetentionMillis(log.unsafeVolatileSnapshot().metadata())) / 1000

    @_translated
    def version_at(self, seconds: float) -> int | None:
        """Return the last version of that time (seconds of the epoch), None where the log does not go back so far."""
        history, none = self._updated().history(), scala_none(self.spark)
        try:
            moment = java_class(self.spark, "java.sql.Timestamp")(int(seconds * 1000))
            return int(history.getActiveCommitAtTime(moment, none, True, False, False).version())
        except SPARK_ERRORS as error:
            if "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION" in str(error) or "before the earliest" in str(error):
                return None
            raise

    @_translated
    def note_vacuumed(self, version: int) -> None:
        """Record that a VACUUM has deleted the files removed up to this version: the next LITE one begins there."""
        info, some = _delta(self.spark, "commands.LastVacuumInfo"), java_class(self.spark, "scala.Option").apply
        info.persistLastVacuumInfo(info(some(version)), self._updated())

    @_translated
    def checkpoint(self) -> None:
        """Write a checkpoint of the log, as Delta does after `delta.checkpointInterval` commits."""
        self._updated().checkpoint()

    def _updated(self) -> Any:
        log, none = self._java, scala_none(self.spark)
        log.update(False, none, none)
        return log

    @property
    def _java(self) -> Any:
        return _delta(self.spark, "DeltaLog").forTable(self.spark._jsparkSession, self.path)


def forget_logs(spark: SparkSession) -> None:
    """Make Delta read every log again, as a new process does. It keeps each in memory for an hour, some 10 MB."""
    _delta(spark, "DeltaLog").clearCache()


@dataclass(frozen=True, slots=True)
class DataFiles:
    """Data files of a table: those of a version, or those that were written and await their commit."""

    spark: SparkSession
    java: Any  # a Scala Seq of AddFile

    @_translated
    def __len__(self) -> int:
        return int(self.java.size())


@dataclass(frozen=True, slots=True)
class Transaction:
    """Delta's optimistic transaction. What is written is invisible until the commit, which fails where another process
    has changed in between what this transaction has read."""

    spark: SparkSession
    java: Any

    @_translated
    def write(self, rows: DataFrame) -> DataFiles:
        """Write the rows, which must have the table's columns in its order, to files that await their commit."""
        return DataFiles(self.spark, self.java.writeFiles(rows._jdf))

    @_translated
    def read_all(self) -> DataFiles:
        """Return the files of the snapshot. The commit will fail where another process has removed one of them."""
        return DataFiles(self.spark, self.java.filterFiles())

    @_translated
    def rows(self, files: DataFiles) -> DataFrame:
        """Return the rows in the files, with the table's columns."""
        log, none = self.java.deltaLog(), scala_none(self.spark)
        return DataFrame(log.createDataFrame(self.java.snapshot(), files.java, False, none), self.spark)

    @_translated
    def replace(self, old: DataFiles, new: DataFiles) -> None:
        """Commit `new` in place of `old`, as an operation that changes no data (as OPTIMIZE is): Delta then lets
        concurrent appends pass. Raises Spark's error for a conflict where another process has removed one of
        the old files."""
        actions, now = old.java.toBuffer().clone(), round(time.time() * 1000)
        actions.clear()
        for file in scala_list(old.java):
            actions.append(file.removeWithTimestamp(now, False))
        for file in scala_list(new.java):
            actions.append(_without_data_change(file))
        self.java.commit(actions.toList(), self._overwrite())

    def _overwrite(self) -> Any:
        none = scala_none(self.spark)
        mode = java_class(self.spark, "org.apache.spark.sql.SaveMode").Overwrite
        return _delta(self.spark, "DeltaOperations$Write")(mode, none, none, none)


def _delta(spark: SparkSession, name: str) -> Any:
    return java_class(spark, f"{PACKAGE}.{name}")


def _without_data_change(added: Any) -> Any:
    unchanged = (added.stats(), added.tags(), added.deletionVector(), added.baseRowId())
    origin = (added.defaultRowCommitVersion(), added.clusteringProvider())
    place = (added.path(), added.partitionValues(), added.size(), added.modificationTime())
    return added.copy(*place, False, *unchanged, *origin)
