"""Finds the rows of a batch that are in the table already: a shipper that was killed sends again what was not
acknowledged.

A line is identified by (host, file id, offset). The mark of a file, the highest offset that landed, is the fast path: a
file whose lowest row is above its mark, and that has no offset twice, brings new rows only, and one aggregate for each
file shows it.

Suspects are the files of which that is not true: rows at or below the mark (a resend; a dead letter that is sent later;
two partitions or topics that one file went through), an offset twice in the batch, or a file without a mark whose first
row is not at 0 (its mark may have been forgotten; or its first lines were filtered). Their rows are looked up in the
table, under the dates that the mark names, and left out if they are there with at least the same length. Of equal rows
in one batch the longest stays. The topic, partition and order of the records do not matter. A row without file
id or offset is not a line of a file: it always lands.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
from pyarrow import compute, dataset

from log_shipper.spark_sink.landing.marks import File, Mark
from log_shipper.spark_sink.landing.places import PLACE, Places
from log_shipper.spark_sink.landing.staged import Staged
from log_shipper.spark_sink.rows.batches import FileSummary
from log_shipper.spark_sink.storage.tables import TableSnapshot, literal

LINE_NAME = ("host", "file_id", "offset")
# The most characters of ids that a condition on the table's rows names; with more, the join alone finds the rows. An id
# is whatever a record says, and may be as long as the record.
MAX_IDS = 100_000
# The longest of equal rows; of equally long ones always the same, or a batch that runs again would choose another.
_LONGEST_FIRST = [
    *((name, "ascending") for name in LINE_NAME),
    ("length", "descending"),
    *((name, "ascending") for name in PLACE),
]
_NO_HOST = "\0"  # joins do not take NULL for equal to NULL, and no host has this name


def mark_of(summary: FileSummary, seconds: float) -> Mark:
    """Return the file's mark as of `seconds` of the epoch."""
    return Mark(summary.highest, summary.first, summary.last, seconds)


def exact(staged: Staged, summaries: Iterable[FileSummary]) -> list[FileSummary]:
    """Return the summaries with as many different offsets as there are: where two tasks have read rows of one file, and
    their offsets overlap, that is not known yet."""
    known = list(summaries)
    doubtful = {summary.file_id for summary in known if summary.distinct < summary.placed}
    if not doubtful:
        return known
    rows = staged.rows(LINE_NAME, dataset.field("file_id").isin(list(doubtful)))
    counted = rows.group_by(["host", "file_id"]).aggregate([("offset", "count_distinct")])
    distinct = {(row["host"], row["file_id"]): row["offset_count_distinct"] for row in counted.to_pylist()}
    return [
        summary._replace(distinct=distinct.get((summary.host, summary.file_id), summary.distinct)) for summary in known
    ]


def file_of(summary: FileSummary) -> File:
    return summary.host, summary.file_id


def suspects(files: Iterable[FileSummary], marks: Mapping[File, Mark]) -> list[FileSummary]:
    """Return the files that may have rows that have landed, or that are twice in the batch."""
    return [summary for summary in files if _suspicious(summary, marks.get(file_of(summary)))]


def _suspicious(summary: FileSummary, mark: Mark | None) -> bool:
    if summary.distinct < summary.placed:
        return True
    return summary.lowest > 0 if mark is None else summary.lowest <= mark.offset


@dataclass(frozen=True, slots=True)
class RepeatSearch:
    """The search for repeats among the rows of some suspects."""

    suspects: Sequence[FileSummary]
    marks: Mapping[File, Mark]
    forgotten: date  # marks of rows that landed before this day may have been dropped
    today: date

    def repeats(self, staged: Staged, stored: TableSnapshot) -> Places:
        """Return the places of the staged rows that have to be left out. `stored`: what has landed."""
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
        """Return those of the rows that are in the table with at least their length."""
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
        files = list(map(file_of, self.suspects))
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
        marked = [mark for suspect in self.suspects if (mark := self.marks.get(file_of(suspect)))]
        dates = []
        if marked:
            first, last = min(mark.first for mark in marked), max(mark.last for mark in marked)
            dates.append(f"date BETWEEN DATE '{first}' AND DATE '{last}'")
        if len(marked) < len(self.suspects):
            # Rows of a file without a mark have landed long ago, or with a date in the future, or never.
            dates.append(f"date <= DATE '{self.forgotten}' OR date > DATE '{self.today}'")
        ids = ", ".join(map(literal, self._ids().to_pylist()))
        return f"({' OR '.join(dates)})" + (f" AND file_id IN ({ids})" if len(ids) <= MAX_IDS else "")


def _named(rows: pa.Table) -> pa.Table:
    """Return the rows with a host that can be joined."""
    return rows.set_column(rows.schema.get_field_index("host"), "host", compute.fill_null(rows["host"], _NO_HOST))
