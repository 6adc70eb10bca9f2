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

from pyarrow import dataset
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from log_shipper.spark_sink.landing.marks import File, Mark, Marks
from log_shipper.spark_sink.landing.places import PLACE
from log_shipper.spark_sink.landing.staged import Staged
from log_shipper.spark_sink.records.local_rows import local_rows
from log_shipper.spark_sink.records.schema import Column as Field
from log_shipper.spark_sink.rows.batches import FileSummary

LINE_NAME = ("host", "file_id", "offset")
# The most ids that a condition on the table's files names; with more, the join alone finds the rows.
FEW = 200


_WATCHED = (Field("host", "STRING", ""), Field("file_id", "STRING", ""), Field("mark", "BIGINT", ""))


def mark_of(summary: FileSummary, seconds: float) -> Mark:
    """Return the file's mark as of `seconds` of the epoch."""
    return Mark(summary.highest, summary.first, summary.last, seconds)


def summarize(rows: DataFrame) -> list[FileSummary]:
    """Return a summary of each file. Rows that belong to no file are left out."""
    summaries = (
        rows.where("file_id IS NOT NULL")
        .groupBy("host", "file_id")
        .agg(
            F.count(F.lit(1)).alias("rows"),
            F.count("offset").alias("placed"),
            F.count_distinct("offset").alias("distinct"),
            F.min("offset").alias("lowest"),
            F.max("offset").alias("highest"),
            F.min("date").alias("first"),
            F.max("date").alias("last"),
        )
        .collect()
    )
    return [FileSummary(*row) for row in summaries if row.placed]


def exact(staged: Staged, summaries: Iterable[FileSummary]) -> list[FileSummary]:
    """Return the summaries with as many different offsets as there are: where two tasks have read rows of one file, and
    their offsets overlap, that is not known yet."""
    known = list(summaries)
    doubtful = {summary.file_id for summary in known if summary.distinct < summary.placed}
    if not doubtful:
        return known
    store = staged.log.location.files()
    names = ["host", "file_id", "offset"]
    files = dataset.dataset([file.path for file in staged.files], filesystem=store, format="parquet")
    rows = files.to_table(columns=names, filter=dataset.field("file_id").isin(list(doubtful)))
    counted = rows.group_by(names[:2]).aggregate([("offset", "count_distinct")])
    distinct = {(row["host"], row["file_id"]): row["offset_count_distinct"] for row in counted.to_pylist()}
    return [
        summary._replace(distinct=distinct.get((summary.host, summary.file_id), summary.distinct)) for summary in known
    ]


def note_rows(marks: Marks, table: str, rows: DataFrame, seconds: float) -> list[tuple[str, File]]:
    """Note rows of the table in its marks, as of `seconds` of the epoch. Returns their files, with the table."""
    files = summarize(rows)
    for summary in files:
        marks.note_file(table, file_of(summary), mark_of(summary, seconds))
    return [(table, file_of(summary)) for summary in files]


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
class Search:
    """The search for repeats among the rows of some suspects."""

    suspects: Sequence[FileSummary]
    marks: Mapping[File, Mark]
    forgotten: date  # marks of rows that landed before this day may have been dropped

    def repeats(self, rows: DataFrame, table: DataFrame) -> DataFrame:
        """Return the PLACE of the rows that have to be left out. `table`: the rows that have landed."""
        values = [
            (*file_of(suspect), mark.offset if (mark := self.marks.get(file_of(suspect))) else None)
            for suspect in self.suspects
        ]
        watched = F.broadcast(local_rows(rows.sparkSession, _WATCHED, values))
        keys = rows.select(*LINE_NAME, "length", *PLACE).where("offset IS NOT NULL")
        joined = keys.join(watched, _same_file(keys, watched)).select(*(keys[name] for name in keys.columns), "mark")
        ranked = joined.selectExpr("*", _RANK).localCheckpoint()  # read twice below
        doubles = ranked.where("rank > 1").select(*PLACE)
        asked = ranked.where("rank = 1 AND (mark IS NULL OR offset <= mark)")
        return doubles.unionByName(self._in_table(asked, table))

    def _in_table(self, asked: DataFrame, table: DataFrame) -> DataFrame:
        """Return the rows that are in the table with at least their length."""
        existing = table.where(self._where()).select(*LINE_NAME, "length")
        longest = existing.groupBy(*LINE_NAME).agg(F.max("length").alias("length"))
        same = _same_file(asked, longest) & (asked["offset"] == longest["offset"])
        enough = F.coalesce(longest["length"], F.lit(0)) >= F.coalesce(asked["length"], F.lit(0))
        return asked.join(longest, same & enough, "leftsemi").select(*PLACE)

    def _where(self) -> Column:
        """Return a condition on columns that the table's files have statistics or directories for."""
        marked = [mark for suspect in self.suspects if (mark := self.marks.get(file_of(suspect)))]
        dates = F.lit(False)
        if marked:
            dates |= F.col("date").between(min(mark.first for mark in marked), max(mark.last for mark in marked))
        if len(marked) < len(self.suspects):
            # Rows of a file without a mark have landed long ago, or with a date in the future, or never.
            dates |= (F.col("date") <= F.lit(self.forgotten)) | (F.col("date") > F.current_date())
        ids = sorted({suspect.file_id for suspect in self.suspects})
        return dates & F.col("file_id").isin(ids) if len(ids) <= FEW else dates


# The longest of equal rows; of equally long ones always the same, or a batch that runs again would choose another.
_RANK = (
    "row_number() OVER (PARTITION BY host, file_id, offset "
    f"ORDER BY length DESC NULLS LAST, {', '.join(PLACE)}) AS rank"
)


def _same_file(one: DataFrame, other: DataFrame) -> Column:
    return one["host"].eqNullSafe(other["host"]) & (one["file_id"] == other["file_id"])
