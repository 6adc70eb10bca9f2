"""Finds repeats: rows of a batch that the table already has, because a killed shipper resends unacknowledged lines.

A line is identified by (host, file id, offset). The mark of a file, its highest landed offset, is the fast path: if the
lowest row of a file is above its mark, and no offset is repeated, its rows are new; one aggregate per file shows it.

All other files are suspects: with rows at or below the mark (a resend; a dead letter sent later; two partitions or
topics with lines of one file), with an offset twice in the batch, or without a mark and with a first row that is not at
0 (the mark may have been forgotten; or the first lines were filtered out). Their rows are looked up in the table, under
the dates in the mark, and left out if the table has them with at least the same length. Of equal rows in one batch the
longest is kept. The topic, partition and order of the records do not matter. A row without file id or offset is not a
line of a file: it always lands.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
from pyarrow import compute, dataset

from log_shipper.spark_sink.landing.marks import Mark
from log_shipper.spark_sink.landing.places import PLACE, Places
from log_shipper.spark_sink.landing.staged import Staged
from log_shipper.spark_sink.rows.batches import File, FileSummary
from log_shipper.spark_sink.storage.tables import TableSnapshot, literal

LINE_NAME = ("host", "file_id", "offset")
# Maximum characters of file ids in a condition on the table's rows; with more, the join alone finds the rows. The id
# comes from the record, and may be as long as the record.
MAX_IDS = 100_000
# The longest of equal rows is kept; of equally long ones always the same, or a retried batch would keep another one.
_LONGEST_FIRST = [
    *((name, "ascending") for name in LINE_NAME),
    ("length", "descending"),
    *((name, "ascending") for name in PLACE),
]
_NO_HOST = "\0"  # NULL does not match NULL in a join, and no host has this name


def mark_of(summary: FileSummary, seconds: float) -> Mark:
    """Return the file's mark as of `seconds` of the epoch."""
    return Mark(summary.highest, summary.first, summary.last, seconds)


def exact(staged: Staged, summaries: Iterable[FileSummary]) -> list[FileSummary]:
    """Return the summaries with exact counts of distinct offsets: merging the summaries of two tasks whose offsets of a
    file overlap gives only a minimum."""
    known = list(summaries)
    uncertain_ids = {summary.file_id for summary in known if summary.distinct < summary.placed}
    if not uncertain_ids:
        return known
    rows = staged.rows(LINE_NAME, dataset.field("file_id").isin(list(uncertain_ids)))
    counted = rows.group_by(["host", "file_id"]).aggregate([("offset", "count_distinct")])
    distinct = {(row["host"], row["file_id"]): row["offset_count_distinct"] for row in counted.to_pylist()}
    return [summary._replace(distinct=distinct.get(summary.file, summary.distinct)) for summary in known]


def suspects(files: Iterable[FileSummary], marks: Mapping[File, Mark]) -> list[FileSummary]:
    """Return the files with rows that may have landed, or may be twice in the batch."""
    return [summary for summary in files if _suspicious(summary, marks.get(summary.file))]


def _suspicious(summary: FileSummary, mark: Mark | None) -> bool:
    if summary.distinct < summary.placed:
        return True
    return summary.lowest > 0 if mark is None else summary.lowest <= mark.offset


@dataclass(frozen=True, slots=True)
class RepeatSearch:
    """Searches the rows of suspects for repeats."""

    suspects: Sequence[FileSummary]
    marks: Mapping[File, Mark]
    forgotten: date  # marks of rows that landed before this day may have been dropped
    today: date

    def repeats(self, staged: Staged, stored: TableSnapshot) -> Places:
        """Return the places of the staged rows that are repeats. `stored`: the table with the landed rows."""
        of_suspects = dataset.field("file_id").isin(self._ids()) & dataset.field("offset").is_valid()
        sent = _named(staged.rows([*LINE_NAME, "length", *PLACE], of_suspects))
        sent = sent.join(self._watched(), ["host", "file_id"], join_type="inner").sort_by(_LONGEST_FIRST)
        sent = sent.append_column("row", pa.arange(0, sent.num_rows))
        first = sent.group_by(list(LINE_NAME), use_threads=False).aggregate([("row", "min")])["row_min"]
        is_first = compute.is_in(sent["row"], value_set=first)
        doubles, lines = sent.filter(compute.invert(is_first)), sent.filter(is_first)
        is_new = compute.fill_null(compute.greater(lines["offset"], lines["mark"]), False)
        return Places.from_rows([doubles, self._landed(lines.filter(compute.invert(is_new)), stored)])

    def _landed(self, asked: pa.Table, stored: TableSnapshot) -> pa.Table:
        """Return the rows that the table has with at least the same length."""
        if not asked.num_rows or not stored.exists:
            return asked.slice(0, 0)
        offsets = compute.min_max(asked["offset"]).as_py()
        query = (
            f'SELECT host, file_id, "offset", length AS longest FROM stored WHERE {self._where()} '
            f'AND "offset" BETWEEN {offsets["min"]} AND {offsets["max"]}'
        )
        ids = self._ids()
        parts = [batch.filter(compute.is_in(batch["file_id"], value_set=ids)) for batch in stored.stream(query)]
        if not parts:
            return asked.slice(0, 0)
        lines = _named(pa.Table.from_batches(parts)).group_by(list(LINE_NAME)).aggregate([("longest", "max")])
        both = asked.join(lines, list(LINE_NAME), join_type="inner")
        lengths = (compute.fill_null(both[name], 0) for name in ("longest_max", "length"))
        return both.filter(compute.greater_equal(*lengths))

    def _ids(self) -> pa.Array:
        return pa.array(sorted({suspect.file_id for suspect in self.suspects}), pa.string())

    def _watched(self) -> pa.Table:
        """Return the suspects with their marks."""
        files = [suspect.file for suspect in self.suspects]
        marks = [mark.offset if (mark := self.marks.get(file)) else None for file in files]
        return _named(
            pa.table(
                {
                    "host": pa.array([host for host, _ in files], pa.string()),
                    "file_id": pa.array([file_id for _, file_id in files], pa.string()),
                    "mark": pa.array(marks, pa.int64()),
                }
            )
        )

    def _where(self) -> str:
        """Return a condition on columns that the table's files have statistics or directories for."""
        marked = [mark for suspect in self.suspects if (mark := self.marks.get(suspect.file))]
        dates = []
        if marked:
            first, last = min(mark.first for mark in marked), max(mark.last for mark in marked)
            dates.append(f"date BETWEEN DATE '{first}' AND DATE '{last}'")
        if len(marked) < len(self.suspects):
            # Rows of a file without a mark landed long ago, or have a date in the future, or never landed.
            dates.append(f"date <= DATE '{self.forgotten}' OR date > DATE '{self.today}'")
        ids = ", ".join(map(literal, self._ids().to_pylist()))
        return f"({' OR '.join(dates)})" + (f" AND file_id IN ({ids})" if len(ids) <= MAX_IDS else "")


def _named(rows: pa.Table) -> pa.Table:
    """Return the rows with a placeholder for a host of NULL."""
    return rows.set_column(rows.schema.get_field_index("host"), "host", compute.fill_null(rows["host"], _NO_HOST))
