"""The marks table: how far each file, partition and topic has landed in which table. It tells new rows from repeats.

Every batch appends to the marks table, as its last write: the highest landed offset of each of its files, its end in
each partition, and the version of each table. Appends never merge rows: the highest value counts, and `maintain` folds
them. A process reads the marks once, at its start, and then keeps them in memory. So appends are numbered (`turn`): if
another process has taken the next number (`repair` beside `run`, or two of either), the append is refused.

Four kinds of row:

    file       table, host, file_id      offset: the highest landed; first_date, last_date: where its rows are
    partition  topic, partition          end_offset: the next one to land
    topic      topic                     topic_id: Kafka's id of the topic that these offsets belong to
    table      table                     version: Delta's, after our last commit

A mark may be higher than the rows in the table, never lower: rows up to it are looked up before they are left out.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import compute

from log_shipper.spark_sink.kafka.offsets import Partition
from log_shipper.spark_sink.records.schema import Column
from log_shipper.spark_sink.rows.batches import File
from log_shipper.spark_sink.storage.commits import last_turn
from log_shipper.spark_sink.storage.tables import TableSnapshot, quoted

MARKS = (
    Column("kind", "STRING", "file, partition, topic or table: which of the other columns count"),
    Column("landing", "BIGINT", "Number of the append; of equal things the highest counts"),
    Column("at", "TIMESTAMP", "When it was written"),
    Column("table", "STRING", "file, table: path of the table"),
    Column("host", "STRING", "file: host.name"),
    Column("file_id", "STRING", "file: log.file.id"),
    Column("offset", "BIGINT", "file: the highest log.offset that landed"),
    Column("first_date", "DATE", "file: the first date its rows are under"),
    Column("last_date", "DATE", "file: the last date its rows are under"),
    Column("topic", "STRING", "partition, topic: Kafka topic"),
    Column("partition", "INT", "partition: Kafka partition"),
    Column("end_offset", "BIGINT", "partition: the next Kafka offset to land"),
    Column("version", "BIGINT", "table: its Delta version after our last commit"),
    Column("topic_id", "STRING", "topic: Kafka's id of it; one that was re-created has another"),
)
# In place of a table's version while `repair --from-kafka` runs: the table is incomplete until the repair ends.
REPAIRING = 2**63 - 1
# How the rows of one file fold into one.
_FOLDS = {"landing": "max", "at": "max", "offset": "max", "first_date": "min", "last_date": "max"}
_FILE = ("table", "host", "file_id")
_PLACE = ("kind", "table", "topic", "partition")


class Mark(NamedTuple):
    """The highest landed offset of a file, the dates of its rows, and when the last of them landed."""

    offset: int
    first: date
    last: date
    landed_at: float  # seconds of the epoch


@dataclass(slots=True)
class Marks:
    """All marks of a sink, in memory: about 0.35 kB for each file."""

    files: dict[str, dict[File, Mark]] = field(default_factory=dict)  # by path of the table
    ends: dict[Partition, int] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)  # by path of the table
    topics: dict[str, str] = field(default_factory=dict)  # Kafka's ids
    new_topics: dict[str, str] = field(default_factory=dict)  # ids that are not saved yet
    appends: int = 0  # the highest number of an append among the rows
    turn: int = 0  # the number of the last append in the table's log

    @property
    def next_turn(self) -> int:
        """The number of the next append: above all earlier ones, even if the fold has dropped the last one's rows."""
        return max(self.appends, self.turn) + 1

    def of_table(self, table: str) -> Mapping[File, Mark]:
        return self.files.get(table, {})

    def note_file(self, table: str, file: File, mark: Mark) -> None:
        known = self.files.setdefault(table, {})
        before = known.get(file)
        known[file] = mark if before is None else _later(before, mark)

    def note_topics(self, ids: Mapping[str, str]) -> None:
        """Note Kafka's current ids, "" for none."""
        self.new_topics |= {topic: now for topic, now in ids.items() if now and self.topics.get(topic) != now}
        self.topics |= self.new_topics

    def recreated_topics(self, ids: Mapping[str, str]) -> set[str]:
        """Return the topics whose id has changed: they were deleted and re-created."""
        return {topic for topic, now in ids.items() if now and self.topics.get(topic, now) != now}

    def forget(self, before: float) -> None:
        """Drop the files without landed rows since `before` (seconds of the epoch)."""
        old = [
            (table, file)
            for table, files in self.files.items()
            for file, mark in files.items()
            if mark.landed_at < before
        ]
        for table, file in old:
            del self.files[table][file]

    @property
    def count(self) -> int:
        return sum(map(len, self.files.values()))


def _later(one: Mark, other: Mark) -> Mark:
    return Mark(
        max(one.offset, other.offset),
        min(one.first, other.first),
        max(one.last, other.last),
        max(one.landed_at, other.landed_at),
    )


def load(snapshot: TableSnapshot, since: float) -> Marks:
    """Return the marks in a table, except for files without landed rows since `since` (seconds of the epoch). Raises
    SinkError if the table cannot be read."""
    marks = Marks()
    if snapshot.delta is None:
        return marks
    # If another process appends after this version, the first append of this process is refused.
    marks.turn = max(0, last_turn(snapshot.delta))
    columns = [column.name for column in MARKS]
    for row in snapshot.select(f"{query_of_others(columns)} ORDER BY landing").to_pylist():
        _add_row(marks, row)
    shared: dict[object, object] = {}
    for batch in snapshot.stream(query_of_files(columns)):
        _add_files(marks, batch, since, shared)
    return marks


def query_of_files(columns: Iterable[str]) -> str:
    """Return the query for one row per file, with these columns; those that a file does not use are NULL."""
    values = {"kind": "'file'", **{name: quoted(name) for name in _FILE}}
    values |= {name: f"{fold}({quoted(name)})" for name, fold in _FOLDS.items()}
    selected = ", ".join(f"{values.get(name, 'NULL')} AS {quoted(name)}" for name in columns)
    return f"SELECT {selected} FROM stored WHERE kind = 'file' GROUP BY {', '.join(map(quoted, _FILE))}"


def query_of_others(columns: Iterable[str]) -> str:
    """Return the query for the last row of each partition, topic and table, with these columns."""
    selected = ", ".join(
        quoted(name) if name in _PLACE else f"last_value({quoted(name)} ORDER BY landing) AS {quoted(name)}"
        for name in columns
    )
    return f"SELECT {selected} FROM stored WHERE kind <> 'file' GROUP BY {', '.join(map(quoted, _PLACE))}"


def _add_row(marks: Marks, row: Mapping[str, Any]) -> None:
    """Note a row of a partition, topic or table; the last one counts."""
    marks.appends = max(marks.appends, row["landing"])
    if row["kind"] == "partition":
        marks.ends[row["topic"], row["partition"]] = row["end_offset"]
    elif row["kind"] == "topic":
        marks.topics[row["topic"]] = row["topic_id"]
    elif row["kind"] == "table":
        marks.versions[row["table"]] = row["version"]


def _add_files(marks: Marks, rows: pa.RecordBatch, since: float, shared: dict[object, object]) -> None:
    """Note rows of files. `shared`: interned values, because most of a million marks have the same few."""
    marks.appends = max(marks.appends, compute.max(rows.column("landing")).as_py())
    names = ("table", "host", "file_id", "offset", "first_date", "last_date")
    values = (rows.column(name).to_pylist() for name in names)
    times = rows.column("at").cast(pa.int64()).to_pylist()
    share: Callable[[Any, Any], Any] = shared.setdefault
    for table, host, file_id, offset, first, last, micros in zip(*values, times, strict=True):
        if (landed_at := micros / 1e6) >= since:
            mark = Mark(offset, share(first, first), share(last, last), share(landed_at, landed_at))
            marks.note_file(table, (share(host, host), file_id), mark)


def rows_of(
    marks: Marks,
    files: Iterable[tuple[str, File]],
    ends: Mapping[Partition, int],
    versions: Mapping[str, int],
    seconds: float,
) -> list[dict[str, Any]]:
    """Return the rows of the next append to the marks table, as of `seconds` of the epoch. Missing columns are NULL."""
    rows: list[dict[str, Any]] = []
    for table, (host, file_id) in files:
        mark = marks.files[table][host, file_id]
        rows.append(
            {
                "kind": "file",
                "table": table,
                "host": host,
                "file_id": file_id,
                "offset": mark.offset,
                "first_date": mark.first,
                "last_date": mark.last,
            }
        )
    for (topic, partition), end in ends.items():
        rows.append({"kind": "partition", "topic": topic, "partition": partition, "end_offset": end})
    rows += ({"kind": "topic", "topic": topic, "topic_id": topic_id} for topic, topic_id in marks.new_topics.items())
    rows += ({"kind": "table", "table": table, "version": version} for table, version in versions.items())
    written = {"landing": marks.next_turn, "at": datetime.fromtimestamp(seconds, UTC)}
    return [{**row, **written} for row in rows]
