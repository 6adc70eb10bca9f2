"""`spark-sink migrate`: moves the rows of a table of lines that the sink cannot write to into one that it can, at the
same path. Run it while `run` and `maintain` are stopped.

Such a table has VARIANT columns, as an earlier release created them, or table features that the sink does not write.
Delta takes a feature back only together with the table's history, if at all. So the rows go into a new table:

    copy   all rows, by one commit, to PATH_migrated. VARIANT becomes text: `doc` then has the whole record as JSON
    mark   the new table's version, in the marks: without it `run` would take the table for one that was re-created
    swap   PATH is renamed to PATH_before_migration, then PATH_migrated to PATH

The command may be killed in each step, and run again. Until the swap the old table is as it was, and `run` refuses it.
A copy that is complete is known by the name of its commit, which is the version of the old table. Between the two
renames `run` refuses the missing table, and the command does the second one. The checkpoint stays as it is.

`run` cannot write to such a table, but that of the earlier release can, if it was not stopped. What it adds is noticed
after the copy, and once more when the table has its new path and nothing can be added any more.
"""

import logging
import math
import time
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, VariantType

from log_shipper.config.sink.model import SinkConfig
from log_shipper.spark_sink.delta import forget_logs
from log_shipper.spark_sink.errors import SPARK_ERRORS, Refused, SinkError, translate
from log_shipper.spark_sink.landing import guard, marks
from log_shipper.spark_sink.landing.sink_tables import SinkTables
from log_shipper.spark_sink.landing.staged import Unnamed
from log_shipper.spark_sink.platform.jvm import rename_directory
from log_shipper.spark_sink.rows.options import columns_of
from log_shipper.spark_sink.spark_session import sink_session
from log_shipper.spark_sink.storage import creation
from log_shipper.spark_sink.storage.forms import (
    MIGRATED_FROM,
    copy_path,
    difference,
    is_half_swapped,
    original_path,
    properties,
)
from log_shipper.spark_sink.storage.layout import Layout, of_lines
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import Table, TableSnapshot

logger = logging.getLogger(__name__)

TXN = "spark-sink migrate"
DRY = "; nothing is changed (dry run)"
# Where a directory is renamed in one step. An object store copies file by file.
RENAMING = ("", "file", "hdfs")
# Properties that a user may have set, and that need no table feature. All that are not Delta's are kept, too.
KEPT_PROPERTIES = {
    "delta.autoOptimize.autoCompact",
    "delta.autoOptimize.optimizeWrite",
    "delta.deletedFileRetentionDuration",
    "delta.enableExpiredLogCleanup",
    "delta.logRetentionDuration",
    "delta.setTransactionRetentionDuration",
    "delta.targetFileSize",
    "delta.tuneFileSizesForRewrites",
}


def run(config: SinkConfig, dry_run: bool) -> int:
    """Run the command and return its exit code. Raises SinkError."""
    try:
        with sink_session(config) as spark:
            Migration(spark, config, dry_run).run()
    except SPARK_ERRORS as error:
        raise translate(str(error), f"migrating {config.table.path}") from error
    return 0


@dataclass(slots=True)
class Migration:
    """One run of the command in a session."""

    spark: SparkSession
    config: SinkConfig
    dry_run: bool = False
    _tables: SinkTables = field(init=False)

    def __post_init__(self) -> None:
        self._tables = SinkTables(self.spark, self.config, columns_of(self.config), logger.info)

    def run(self) -> None:
        """Migrate each table of lines that needs it. Raises Refused where another program wrote to one meanwhile."""
        tables = self._tables.known(self._read_marks())
        if not tables:
            logger.info(f"nothing has landed yet, as far as {self._tables.marks.path} knows: nothing to migrate")
        for table in tables:
            self._migrate(table)

    def _migrate(self, table: Table) -> None:
        original = table.snapshot()
        if original.exists:
            self._move(original)
        elif not is_half_swapped(table):
            logger.info(f"there is no table {table.path} yet: nothing to migrate")
        elif self.dry_run:
            logger.info(f"{copy_path(table.path)} would be renamed to {table.path}{DRY}")
        else:
            self._complete_swap(table)

    def _move(self, original: TableSnapshot) -> None:
        path = original.table.path
        if (reason := difference(original)) is None:
            logger.info(f"the table {path} has the present form: nothing to migrate")
        elif self.dry_run:
            logger.info(f"{reason}: its rows would move to a new table{DRY}")
        else:
            logger.info(f"{reason}: its rows move to a new table")
            self._save_version(original.table, self._copy(original))
            self._swap(original.table)

    def _copy(self, original: TableSnapshot) -> int:
        """Copy the rows, if no run before has done so. Returns the version of the new table."""
        path, copy = original.table.path, Table(self.spark, copy_path(original.table.path))
        if copy.exists() and properties(copy).get(MIGRATED_FROM) != path:
            raise Refused(
                f"{copy.path} has a table that is not a copy of {path}. Move it away, and run this command again"
            )
        creation.prepare(Location(copy.path), self._layout(original))
        copied = copy.last_batch(TXN)
        if copied != original.version:
            self._note_losses(original)
            rows = self.spark.read.format("delta").option("versionAsOf", original.version).load(path)
            writer = rows.select(*map(_as_text, original.delta.schema)).write.format("delta")
            writer = writer.mode("append" if copied < 0 else "overwrite").option("mergeSchema", "true")
            writer.option("txnAppId", TXN).option("txnVersion", original.version).save(copy.path)
        _check_version(path, original.version, original.table.version())
        count, expected = copy.read().count(), original.table.read().count()
        if count != expected:
            raise SinkError(
                f"the table {path} has {expected:,} rows, and its copy {copy.path} has {count:,}: another program "
                "wrote to the copy. Delete it, and run this command again"
            )
        logger.info(f"{count:,} rows of {path} are copied", extra={"table": path, "rows": count})
        return copy.version()

    def _layout(self, original: TableSnapshot) -> Layout:
        path, partitioned = original.table.path, original.delta.partition_columns
        if partitioned not in ([], ["date"]):
            raise Refused(
                f"the table {path} is partitioned by {', '.join(partitioned)}: the sink writes tables that are "
                "partitioned by date, or not at all. Let it create a table at another path"
            )
        table = replace(self.config.table, partition_by="date" if partitioned else "none")
        layout = of_lines(replace(self.config, table=table), columns_of(self.config))
        kept = {
            name: value
            for name, value in properties(original.table).items()
            if name in KEPT_PROPERTIES or not name.startswith("delta.")
        }
        return replace(layout, properties={**kept, **layout.properties, MIGRATED_FROM: path})

    def _note_losses(self, original: TableSnapshot) -> None:
        """Record where the table lacks rows: the version of the new one could not show it any more."""
        version = self._read_marks().versions.get(original.table.path)
        if version is None or version == marks.REPAIRING:
            return
        try:
            guard.check_version(original, version)
        except Refused as error:
            logger.warning(f"{error}. Do that after the migration")
            self._append_mark(original.table.path, marks.REPAIRING)

    def _save_version(self, table: Table, version: int) -> None:
        """Let the marks name the version of the new table, unless it has to be repaired."""
        known = self._read_marks().versions
        if known.get(table.path, marks.REPAIRING) not in (version, marks.REPAIRING):
            self._append_mark(table.path, version)

    def _swap(self, table: Table) -> None:
        self._rename(table.path, original_path(table.path))
        self._complete_swap(table)

    def _complete_swap(self, table: Table) -> None:
        original, copied = original_path(table.path), Table(self.spark, copy_path(table.path)).last_batch(TXN)
        forget_logs(self.spark)
        try:
            _check_version(table.path, copied, Table(self.spark, original).version())
        except Refused:
            self._rename(original, table.path)
            raise
        self._rename(copy_path(table.path), table.path)
        forget_logs(self.spark)
        logger.info(
            f"the table {table.path} has the present form. The old one is {original}: delete it when you have looked "
            "at the new one",
            extra={"table": table.path},
        )
        for view in self.config.views:
            if (view.source or self.config.table.path) == table.path:
                logger.warning(
                    f"the view {view.name} has read the old table, and cannot continue with the new one: give it a new "
                    f"name, or delete its table {self.config.view_path(view)} and its checkpoint "
                    f"{self.config.view_checkpoints}/{view.name}, both, and it is re-created",
                    extra={"view": view.name},
                )

    def _rename(self, source: str, target: str) -> None:
        if urlsplit(source).scheme not in RENAMING:
            raise SinkError(
                f"the rows are copied, and this file system cannot rename a directory in one step: move {source} to "
                f"{target} by the tools of the store, and run this command again"
            )
        if not rename_directory(self.spark, source, target):
            raise SinkError(
                f"cannot rename {source} to {target}: it exists, or may not be created. Move what is there away, and "
                "run this command again"
            )

    def _read_marks(self) -> marks.Marks:
        """Return the marks, without those of files."""
        return marks.load(self._tables.marks.path, math.inf)

    def _append_mark(self, path: str, version: int) -> None:
        known = self._read_marks()
        rows = marks.rows_of(known, (), {}, {path: version}, time.time())
        self._tables.stage_marks(rows).commit(Unnamed.NOT_A_BATCH, known.next_turn)


def _check_version(path: str, copied: int, now: int) -> None:
    if now != copied:
        raise Refused(
            f"another program wrote to the table {path} while it was migrated (version {copied} is now {now}). Stop "
            "spark-sink run and spark-sink maintain, and run this command again"
        )


def _as_text(column: StructField) -> Column:
    """Return the column as it is copied: nullable, and without what Delta keeps in its metadata but the comment."""
    value = F.col(f"`{column.name}`")
    if isinstance(column.dataType, VariantType):
        value = F.to_json(value)
    metadata = {name: text for name, text in column.metadata.items() if name == "comment"}
    return value.alias(column.name, metadata=metadata)
