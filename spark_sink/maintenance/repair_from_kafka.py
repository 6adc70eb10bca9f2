"""Reads all landed offsets that Kafka still has again, and lands the records that no table has.

The marks record a running repair, so that `run` is refused after a killed one: the tables' saved versions, which showed
the loss, are overwritten by then.
"""

import logging
from dataclasses import dataclass

from log_shipper.spark_sink.kafka import topics
from log_shipper.spark_sink.kafka.admin import Admin
from log_shipper.spark_sink.kafka.offset_ranges import ranges_between
from log_shipper.spark_sink.kafka.offsets import Offsets
from log_shipper.spark_sink.landing.batch_writer import BatchWriter
from log_shipper.spark_sink.landing.orphaned_rows import OrphanedRows
from log_shipper.spark_sink.landing.places import PLACE, PLACE_SQL, Places
from log_shipper.spark_sink.landing.range_tasks import WrittenBatch
from log_shipper.spark_sink.maintenance.ranges import pieces, range_to_read, within
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.storage.tables import Unnamed

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KafkaRepair:
    """One run of the command."""

    config: SinkConfig
    writer: BatchWriter
    dry_run: bool

    def land(self, admin: Admin) -> None:
        """Land records that no table has, from Kafka's first offsets to the ends in the marks."""
        if not self.writer.marks.ends:
            logger.info(f"nothing was repaired: the marks table {self.writer.tables.marks.path} is empty")
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
            logger.info(
                f"at most {landed:,} records are in no table: repeats are counted, too. Nothing was changed (dry run)"
            )
            return
        self.writer.marks.note_topics(ids)
        self.writer.finish_repair(again.shorter)
        logger.info(f"repaired: landed {landed:,} missing records", extra={"landed": landed})

    def _begin_repair(self) -> None:
        """Record that the repair has begun, and create missing tables."""
        tables = self.writer.tables
        self.writer.begin_repair()
        tables.prepare()
        for table in tables.known(self.writer.marks):
            tables.log(table.path)

    def _piece(self, starts: Offsets, ends: Offsets) -> int:
        """Land the records of this range that no table has. Returns their number."""
        query = f"SELECT {PLACE_SQL} FROM stored WHERE {within(starts, ends)}"
        known = OrphanedRows()
        for table in self.writer.tables.all(self.writer.marks):
            if (snapshot := table.snapshot()).exists:
                known.add(snapshot.path, Places.from_rows(snapshot.stream(query)))
        written = self.writer.ranges.write(ranges_between(starts, ends))
        written.lost.clear()
        if self.dry_run:
            missing = self._count_missing(written, known.places)
            self.writer.discard(written)
            return missing
        self.writer.orphaned = known
        landed = self.writer.commit(written, {}, Unnamed.NOT_A_BATCH)
        return landed.rows + landed.bad + landed.tombstones

    def _count_missing(self, written: WrittenBatch, known: Places) -> int:
        """Return the number of rows that no table has."""
        tables = self.writer.tables
        parts = {path: lines.files for path, lines in written.lines.items()}
        parts[tables.dead_letter.path] = written.bad
        rows = (tables.staged(path, files).rows(PLACE) for path, files in parts.items() if files)
        return sum(known.others(places).num_rows for places in rows)
