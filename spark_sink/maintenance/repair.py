"""`spark-sink repair`: lands records that should be in the tables and are not. Run it while `run` is stopped.

`--reason TEXT` parses the records of the dead letter whose reason contains the text again, by the current
configuration. Those that are lines now land, and are then deleted from the dead letter. `--from-kafka` reads again all
offsets that count as landed and that Kafka still has, and lands the records that no table has: after a RESTORE, or when
too much was deleted.

Both use the landing of `run`, so no line lands a second time: rows are identified by their place in Kafka, and lines by
host, file id and offset. A command that was killed is run again. A `--from-kafka` that was killed is recorded in the
marks, and `run` is refused: the tables' versions, which showed the loss, have been overwritten by then.

A place in Kafka is topic, partition, offset, and Kafka's time: a topic that was re-created has the same offsets again.
"""

import logging
import time
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from config.sink.model import SinkConfig
from spark_sink.errors import SPARK_ERRORS, translate
from spark_sink.kafka import client, topics
from spark_sink.kafka.admin import Admin
from spark_sink.kafka.offset_ranges import between
from spark_sink.kafka.offsets import Offsets
from spark_sink.landing import guard
from spark_sink.landing.batch_writer import BatchWriter
from spark_sink.landing.kafka_reader import OpenReader
from spark_sink.landing.orphaned_rows import OrphanedRows
from spark_sink.landing.places import PLACE
from spark_sink.landing.range_tasks import NewReader, WrittenBatch
from spark_sink.landing.repeats import note_rows
from spark_sink.landing.staged import Unnamed
from spark_sink.landing.startup import open_writer
from spark_sink.maintenance.ranges import pieces, range_to_read, within
from spark_sink.spark_session import sink_session
from spark_sink.storage.tables import Table

logger = logging.getLogger(__name__)

DRY = "; nothing is changed (dry run)"


def run(config: SinkConfig, reason: str | None, from_kafka: bool, dry_run: bool) -> int:
    """Run the command and return its exit code. Raises SinkError."""
    try:
        with sink_session(config) as spark:
            options = client.latest(config.kafka)
            # Records that Kafka deletes while the command runs are lost either way, and must not end it.
            repair = Repair.opened(spark, config, lambda: OpenReader(options(), may_lose=True), dry_run)
            if from_kafka:
                with Admin(options) as admin:
                    repair.from_kafka(admin)
            else:
                repair.dead_letter(reason or "")
    except SPARK_ERRORS as error:
        raise translate(str(error), f"repairing {config.table.path}") from error
    return 0


@dataclass(frozen=True, slots=True)
class Repair:
    """One run of the command in a session."""

    config: SinkConfig
    writer: BatchWriter
    dry_run: bool

    @classmethod
    def opened(cls, spark: SparkSession, config: SinkConfig, new_reader: NewReader, dry_run: bool) -> "Repair":
        writer = open_writer(spark, config, new_reader, time.time, logger.info)
        guard.check_forms(table.snapshot() for table in writer.tables.known(writer.marks))
        return cls(config, writer, dry_run)

    def dead_letter(self, reason: str) -> None:
        """Land the records whose reason contains the text, in any case. Raises Refused where `run` would: rows that
        land here would hide that a table lacks others."""
        tables = self.writer.tables
        if not tables.dead_letter.exists():
            logger.info(f"there is no dead-letter table {tables.dead_letter.path} yet: nothing to repair")
            return
        guard.check_versions({table.path: table.snapshot() for table in self._tables()}, self.writer.marks.versions)
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
            self._discard(written)

    def _discard(self, written: WrittenBatch) -> None:
        """Delete what was written to be counted."""
        tables = self.writer.tables
        for path, lines in written.lines.items():
            tables.discard(path, lines.files)
        tables.discard(tables.dead_letter.path, written.bad)

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
            text = f"{count:,} of {all_of_them:,} records with {reason!r} in their reason are lines now" + self._dry()
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

    def from_kafka(self, admin: Admin) -> None:
        """Land the records between Kafka's first offsets and the ends in the marks that no table has."""
        if not self.writer.marks.ends:
            logger.info(f"nothing has landed yet, as far as {self.writer.tables.marks.path} knows: nothing to repair")
            return
        partitions = topics.present(self.config.kafka, admin)
        ids = admin.ids({topic for topic, _ in partitions})
        again = range_to_read(
            self.config, admin, partitions, self.writer.marks.ends, self.writer.marks.recreated_topics(ids)
        )
        for note in again.notes:
            logger.warning(note)
        if not self.dry_run:
            self._begin_repair()
        done = landed = 0
        for starts, ends in pieces(again.starts, again.ends, self.config.max_offsets_per_trigger):
            landed += self._piece(starts, ends)
            done += sum(ends.values()) - sum(starts.values())
            logger.info(f"{done:,} of {again.offsets:,} offsets read again")
        if self.dry_run:
            logger.info(f"{landed:,} records are in no table; what the shipper sent twice counts too{DRY}")
            return
        self.writer.marks.note_topics(ids)
        self.writer.settle(again.shorter)
        logger.info(f"repaired: {landed:,} records were missing and have landed", extra={"landed": landed})

    def _begin_repair(self) -> None:
        """Record that the repair has begun, and create the tables that are missing."""
        tables = self.writer.tables
        self.writer.begin_repair()
        tables.prepare()
        for table in tables.known(self.writer.marks):
            tables.log(table.path)

    def _piece(self, starts: Offsets, ends: Offsets) -> int:
        """Land the records of this range that no table has. Returns how many they were."""
        place = within(starts, ends)
        existing = [table for table in self._tables() if table.exists()]
        known = OrphanedRows({table.path: table.read().where(place).select(*PLACE) for table in existing})
        written = self.writer.tasks.write(between(starts, ends))
        written.lost.clear()
        if self.dry_run:
            missing = self._count_missing(written, known)
            self._discard(written)
            return missing
        self.writer.orphaned = known
        landed = self.writer.commit(written, {}, Unnamed.NOT_A_BATCH)
        return landed.rows + landed.bad

    def _count_missing(self, written: WrittenBatch, known: OrphanedRows) -> int:
        """Return how many of the rows no table has."""
        tables = self.writer.tables
        parts = [(path, lines.files) for path, lines in written.lines.items()]
        count = 0
        for path, files in (*parts, (tables.dead_letter.path, written.bad)):
            if files:
                rows = tables.rows_of(path, files)
                count += rows.count() - known.among(rows).count()
        return count

    def _tables(self) -> list[Table]:
        tables = self.writer.tables
        return [*tables.known(self.writer.marks), tables.dead_letter]

    def _dry(self) -> str:
        return DRY if self.dry_run else ""
