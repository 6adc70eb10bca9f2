"""Parses dead letters again, with the current configuration. Records that are now good land as lines, and are then
deleted from the dead letter."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from deltalake.exceptions import DeltaError
from pyarrow import compute

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.landing import guard
from log_shipper.spark_sink.landing.batch_writer import BatchWriter
from log_shipper.spark_sink.landing.orphaned_rows import OrphanedRows
from log_shipper.spark_sink.landing.places import PLACE, PLACE_SQL, Places
from log_shipper.spark_sink.landing.range_tasks import WrittenBatch
from log_shipper.spark_sink.landing.repeats import mark_of
from log_shipper.spark_sink.rows.batches import KafkaRecords, summaries
from log_shipper.spark_sink.storage.commits import NO_HOOKS
from log_shipper.spark_sink.storage.tables import TableSnapshot, Unnamed, literal

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DeadLetterRepair:
    """One run of the command, without Spark: this process converts the records."""

    writer: BatchWriter
    dry_run: bool

    def land(self, reason: str) -> None:
        """Land the records whose reason contains the text, ignoring case. Raises Refused like `run`: new commits would
        hide that a table lacks rows."""
        tables = self.writer.tables
        dead_letter = tables.dead_letter.snapshot()
        if not dead_letter.exists:
            logger.info(f"there is no dead-letter table {dead_letter.path} yet: nothing to repair")
            return
        guard.check_versions(
            {table.path: table.snapshot() for table in tables.all(self.writer.marks)}, self.writer.marks.versions
        )
        asked = _Asked(dead_letter, reason)
        written = self.writer.ranges.write_records(asked.records())
        tables.staged(dead_letter.path, written.bad).discard()  # still bad: the dead letter already has them
        written.bad.clear()
        count = sum(lines.rows for lines in written.lines.values())
        self._log(reason, count, asked.count)
        if count and not self.dry_run:
            tables.prepare()
            self._move(written, count)
        elif count:
            self.writer.discard(written)

    def _log(self, reason: str, count: int, all_of_them: int) -> None:
        path = self.writer.tables.dead_letter.path
        if not all_of_them:
            text = f"no record in {path} has a reason with {reason!r}: `spark-sink status` lists the reasons"
        elif not count:
            text = (
                f"{all_of_them:,} records in {path} have a reason with {reason!r}, and all are still bad; nothing moved"
            )
        else:
            text = f"{count:,} of {all_of_them:,} records whose reason contains {reason!r} can now be parsed" + (
                "; nothing changed (dry run)" if self.dry_run else ""
            )
        logger.info(text, extra={"good": count, "asked": all_of_them})

    def _move(self, written: WrittenBatch, count: int) -> None:
        """Land the good records, except those landed by an earlier run of the command, and delete all of them from the
        dead letter."""
        rows = [
            self.writer.tables.staged(path, lines.files).rows([*PLACE, "date"]) for path, lines in written.lines.items()
        ]
        good = pa.concat_tables(rows)
        places = Places.from_rows([good])
        self.writer.orphaned = self._landed_before(good, places)
        landed = self.writer.commit(written, {}, Unnamed.NOT_A_BATCH)
        self._forget(good)
        before = f", {count - landed.rows:,} already in a table" if landed.rows < count else ""
        logger.info(
            f"removed {count:,} repaired records from the dead-letter table: {landed.rows:,} rows landed{before}",
            extra={"landed": landed.rows, "moved": count},
        )

    def _landed_before(self, good: pa.Table, places: Places) -> OrphanedRows:
        """Return the rows that a table already has, and note their marks: a killed command may not have written the
        marks."""
        dates, offsets = (compute.min_max(good[name]).as_py() for name in ("date", "kafka_offset"))
        source = (
            f"FROM stored WHERE date BETWEEN DATE '{dates['min']}' AND DATE '{dates['max']}' "
            f"AND kafka_offset BETWEEN {offsets['min']} AND {offsets['max']}"
        )
        orphaned = OrphanedRows()
        for table in self.writer.tables.known(self.writer.marks):
            if (snapshot := table.snapshot()).exists:
                self._note_landed(snapshot, source, places, orphaned)
        return orphaned

    def _note_landed(self, snapshot: TableSnapshot, source: str, places: Places, orphaned: OrphanedRows) -> None:
        query = f'SELECT host, file_id, "offset", date, {PLACE_SQL} {source}'
        parts = [places.select(pa.Table.from_batches([batch])) for batch in snapshot.stream(query)]
        if not orphaned.add(snapshot.path, Places.from_rows(parts)):
            return
        for summary in summaries(pa.concat_tables(parts)):
            self.writer.marks.note_file(snapshot.path, summary.file, mark_of(summary, self.writer.clock()))
            orphaned.files.append((snapshot.path, summary.file))

    def _forget(self, good: pa.Table) -> None:
        """Delete the landed records from the dead letter."""
        dead_letter = self.writer.tables.dead_letter.snapshot()
        assert dead_letter.delta is not None
        same = " AND ".join(f"bad.{name} = repaired.{name}" for name in PLACE)
        try:
            dead_letter.delta.merge(
                good.group_by(list(PLACE)).aggregate([]),
                f"{same} AND bad.last_offset IS NULL",
                source_alias="repaired",
                target_alias="bad",
                post_commithook_properties=NO_HOOKS,
            ).when_matched_delete().execute()
        except DeltaError as error:
            raise SinkError(
                f"the records have landed, but are still in the dead-letter table {dead_letter.path}: {error}. Run the "
                "command again; nothing lands twice"
            ) from error


@dataclass(slots=True)
class _Asked:
    """The dead letters whose reason contains a text, ignoring case; `count`: number of records read."""

    dead_letter: TableSnapshot
    reason: str
    count: int = 0

    def records(self) -> Iterator[KafkaRecords]:
        """Yield the records, grouped by partition."""
        contains = f"contains(lower(reason), {literal(self.reason.lower())})"
        columns = f"{PLACE_SQL}, key, value, headers"
        for batch in self.dead_letter.stream(f"SELECT {columns} FROM stored WHERE last_offset IS NULL AND {contains}"):
            self.count += batch.num_rows
            rows = pa.Table.from_batches([batch])
            for place in rows.group_by(["topic", "partition"]).aggregate([]).to_pylist():
                same = compute.and_(*(compute.equal(rows[name], place[name]) for name in ("topic", "partition")))
                yield _records(place["topic"], place["partition"], rows.filter(same))


def _records(topic: str, partition: int, rows: pa.Table) -> KafkaRecords:
    headers = rows["headers"].to_pylist()
    return KafkaRecords(
        topic,
        partition,
        rows["kafka_offset"].to_pylist(),
        [micros // 1000 for micros in rows["kafka_ts"].cast(pa.int64()).to_pylist()],
        rows["key"].to_pylist(),
        rows["value"].to_pylist(),
        [known and [(header["key"], header["value"]) for header in known] for known in headers],
    )
