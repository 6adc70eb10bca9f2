"""Parses records of the dead letter again, by the current configuration. Those that are lines now land, and are then
deleted from the dead letter."""

import logging
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from log_shipper.spark_sink.landing import guard
from log_shipper.spark_sink.landing.batch_writer import BatchWriter
from log_shipper.spark_sink.landing.orphaned_rows import OrphanedRows
from log_shipper.spark_sink.landing.places import PLACE
from log_shipper.spark_sink.landing.range_tasks import WrittenBatch
from log_shipper.spark_sink.landing.repeats import note_rows
from log_shipper.spark_sink.landing.staged import Unnamed
from log_shipper.spark_sink.storage.spark_tables import Table

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DeadLetterRepair:
    """One run of the command."""

    writer: BatchWriter
    dry_run: bool

    def land(self, reason: str) -> None:
        """Land the records whose reason contains the text, in any case. Raises Refused where `run` would: rows that
        land here would hide that a table lacks others."""
        tables = self.writer.tables
        if not tables.dead_letter.exists():
            logger.info(f"there is no dead-letter table {tables.dead_letter.path} yet: nothing to repair")
            return
        guard.check_versions(
            {table.path: table.snapshot() for table in tables.all(self.writer.marks)}, self.writer.marks.versions
        )
        bad = tables.dead_letter.read().where("last_offset IS NULL")
        asked = bad.where(F.lower("reason").contains(reason.lower()))
        written = self.writer.tasks.write_records(asked)
        tables.discard(tables.dead_letter.path, written.bad)  # they are there already
        written.bad.clear()
        count, all_of_them = sum(lines.rows for lines in written.lines.values()), asked.count()
        self._log(reason, count, all_of_them)
        if count and not self.dry_run:
            tables.prepare()
            self._move(written, count)
        elif count:
            self.writer.discard(written)

    def _log(self, reason: str, count: int, all_of_them: int) -> None:
        path = self.writer.tables.dead_letter.path
        if not all_of_them:
            text = (
                f"no record in {path} has {reason!r} in its reason: `spark-sink status` shows which reasons there are"
            )
        elif not count:
            text = (
                f"{all_of_them:,} records in {path} have {reason!r} in their reason, and all are still bad: they stay"
            )
        else:
            text = f"{count:,} of {all_of_them:,} records with {reason!r} in their reason are lines now" + (
                "; nothing is changed (dry run)" if self.dry_run else ""
            )
        logger.info(text, extra={"good": count, "asked": all_of_them})

    def _move(self, written: WrittenBatch, count: int) -> None:
        """Land the good records, but for those that an earlier run of the command has landed, and delete them from the
        dead letter."""
        spark, good = self.writer.tables.spark, []
        for path, lines in written.lines.items():
            staged = self.writer.tables.staged(path, lines.files)
            good.append(staged.rows(spark).select(*PLACE, "date"))
        places = reduce(DataFrame.union, good).localCheckpoint()  # the files may be written once more, and deleted
        self.writer.orphaned = self._landed_before(places)
        landed = self.writer.commit(written, {}, Unnamed.NOT_A_BATCH)
        self._forget(places)
        before = f", {count - landed.rows:,} were in a table already" if landed.rows < count else ""
        logger.info(
            f"{landed.rows:,} rows landed{before}; all {count:,} are out of the dead letter",
            extra={"landed": landed.rows, "moved": count},
        )

    def _landed_before(self, good: DataFrame) -> OrphanedRows:
        """Return the rows that are in a table already, and note their marks: the command may have been killed before it
        wrote them."""
        # As text: Python has no date after the year 9999.
        first, last = good.agg(F.min("date").cast("string"), F.max("date").cast("string")).collect()[0]
        orphaned = OrphanedRows()
        for table in self.writer.tables.known(self.writer.marks):
            if table.exists():
                self._note_landed(table, good.select(*PLACE), (first, last), orphaned)
        return orphaned

    def _note_landed(self, table: Table, places: DataFrame, dates: tuple[str, str], orphaned: OrphanedRows) -> None:
        first, last = (F.lit(text).cast("date") for text in dates)
        rows = table.read().where(F.col("date").between(first, last)).join(places, list(PLACE), "leftsemi")
        orphaned.rows[table.path] = rows.select(*PLACE)
        orphaned.files += note_rows(self.writer.marks, table.path, rows, self.writer.clock())

    def _forget(self, good: DataFrame) -> None:
        """Delete the records from the dead letter: they are lines now."""
        tables = self.writer.tables
        good.select(*PLACE).createOrReplaceTempView("repaired")
        same = " AND ".join(f"bad.{name} = repaired.{name}" for name in PLACE)
        tables.spark.sql(
            f"MERGE INTO {tables.dead_letter.name} AS bad USING repaired ON {same} AND bad.last_offset IS NULL "
            "WHEN MATCHED THEN DELETE"
        )
        tables.spark.catalog.dropTempView("repaired")
