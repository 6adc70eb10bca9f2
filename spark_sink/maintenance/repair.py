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
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from config.sink.model import SinkConfig
from spark_sink.errors import SPARK_ERRORS, translate
from spark_sink.kafka import client, source, topics
from spark_sink.kafka.admin import Admin
from spark_sink.kafka.offsets import Offsets
from spark_sink.landing import guard, marks
from spark_sink.landing.batch_writer import BatchWriter
from spark_sink.landing.orphaned_rows import OrphanedRows
from spark_sink.landing.repeats import PLACE, note_rows
from spark_sink.landing.sink_tables import SinkTables
from spark_sink.landing.staged import Unnamed
from spark_sink.maintenance.ranges import pieces, range_to_read, within
from spark_sink.records.schema import HEADERS_TYPE
from spark_sink.records.transform import Transform, fenced
from spark_sink.spark_session import sink_session
from spark_sink.storage.tables import Table

logger = logging.getLogger(__name__)

DRY = "; nothing is changed (dry run)"


def run(config: SinkConfig, reason: str | None, from_kafka: bool, dry_run: bool) -> int:
    """Run the command and return its exit code. Raises SinkError."""
    try:
        with sink_session(config) as spark:
            repair = Repair.opened(spark, config, dry_run)
            if from_kafka:
                with Admin(client.latest(config.kafka)) as admin:
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
    def opened(cls, spark: SparkSession, config: SinkConfig, dry_run: bool) -> "Repair":
        transform = Transform(config)
        tables = SinkTables(spark, config, transform.columns, logger.info)
        known = marks.load(tables.marks.snapshot(), time.time() - config.dedupe.forget_after)
        return cls(config, BatchWriter(tables, transform, known, OrphanedRows()), dry_run)

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
        parsed = fenced(self.writer.transform.parse(_as_records(asked)))
        good = parsed.where("reason IS NULL").select(*PLACE, "date").persist()
        count, all_of_them = good.count(), asked.count()
        self._log(reason, count, all_of_them)
        if count and not self.dry_run:
            tables.prepare()
            self._move(asked, good, count)
        good.unpersist()

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

    def _move(self, asked: DataFrame, good: DataFrame, count: int) -> None:
        """Land the good records, but for those that an earlier run of the command has landed, and delete them from the
        dead letter."""
        self.writer.orphaned = self._landed_before(good)
        lines = _as_records(asked.join(good.select(*PLACE), list(PLACE), "leftsemi"))
        landed = self.writer.land(lines, {}, Unnamed.NOT_A_BATCH)
        self._forget(good)
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
            tables.lines(table.path)

    def _piece(self, starts: Offsets, ends: Offsets) -> int:
        """Land the records of this range that no table has. Returns how many they were."""
        # Records that Kafka deletes while the command runs are lost either way, and must not end it.
        config, place = replace(self.config, lost_offsets="continue"), within(starts, ends)
        records = source.between(self.writer.tables.spark, config, starts, ends)
        missing = records.withColumnsRenamed({"offset": "kafka_offset", "timestamp": "kafka_ts"})
        for table in self._tables():
            if table.exists():
                missing = missing.join(table.read().where(place).select(*PLACE), list(PLACE), "leftanti")
        if self.dry_run:
            return missing.count()
        landed = self.writer.land(_as_records(missing), {}, Unnamed.NOT_A_BATCH)
        return landed.rows + landed.bad

    def _tables(self) -> list[Table]:
        tables = self.writer.tables
        return [*tables.known(self.writer.marks), tables.dead_letter]

    def _dry(self) -> str:
        return DRY if self.dry_run else ""


def _as_records(rows: DataFrame) -> DataFrame:
    """Return rows of the dead letter, or rows with its column names, as Spark's Kafka source gave them."""
    # A table of version 0.1 gets the column when `run` starts, or with the first record that is repaired.
    headers = "headers" if "headers" in rows.columns else f"CAST(NULL AS {HEADERS_TYPE}) AS headers"
    return rows.selectExpr(
        "key", "value", headers, "topic", "partition", "kafka_offset AS offset", "kafka_ts AS timestamp"
    )
