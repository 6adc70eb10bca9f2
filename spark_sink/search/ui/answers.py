"""The answers to the page: rows, new rows, the lines around a row, and all rows as a file."""

import itertools
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pyarrow as pa
from pyarrow import parquet

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.search.context import Neighbours
from log_shipper.spark_sink.search.follow import Follow
from log_shipper.spark_sink.search.newest import newest_first, scan_of
from log_shipper.spark_sink.search.output import JsonOutput
from log_shipper.spark_sink.search.query import Query
from log_shipper.spark_sink.search.reading import Row, rows_of
from log_shipper.spark_sink.search.scan import Scan
from log_shipper.spark_sink.search.sealed import ConditionFilter
from log_shipper.spark_sink.search.ui.questions import Question, moment, number, question
from log_shipper.spark_sink.search.ui.sources import Snapshot, Source
from log_shipper.spark_sink.search.ui.stream import Stream

MAX_ROWS = 5000
MAX_BYTES = 32 * 1024 * 1024  # of rows in one answer
MAX_DOWNLOAD = 1_000_000  # rows
MAX_CONTEXT = 500  # lines on each side
_POLL = 0.5  # seconds between two reads of the log while following
_JSON = JsonOutput()


@dataclass(slots=True)
class PageRequest:
    """A question to a source. The constructor and the methods raise SinkError."""

    source: Source
    parameters: Mapping[str, str]
    question: Question = field(init=False)
    judge: ConditionFilter = field(init=False)  # made by the thread that uses it
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.question = question(self.parameters, datetime.now(UTC))

    def searched(self) -> tuple[Snapshot, Query]:
        """Return the snapshot to search, and the query."""
        snapshot = self.source.snapshot(self.question.by_files)
        return snapshot, self.question.query(snapshot.schema, self.judge)

    def begin(self, stream: Stream) -> tuple[Snapshot, Query]:
        """Send the start of the answer, and return the snapshot to search and the query."""
        snapshot, query = self.searched()
        since, until = (moment and moment.isoformat() for moment in (query.since, query.until))
        stream.send(start={"since": since, "until": until, "sql": query.where, "files": len(snapshot.files)})
        return snapshot, query

    @property
    def seconds(self) -> float:
        return round(time.monotonic() - self.started, 3)


def rows(asked: PageRequest, stream: Stream) -> None:
    """Send the newest rows."""
    limit = number(asked.parameters, "limit", 500, MAX_ROWS)
    snapshot, query = asked.begin(stream)
    scan = _scan(asked, stream, snapshot, query, limit + 1)
    count, size, is_complete = 0, 0, True
    with closing(newest_first(scan, snapshot.files)) as hits:
        for hit in hits:
            if count == limit or size > MAX_BYTES:
                is_complete = False
                break
            piece = _row(hit.row)
            stream.write(piece)
            count, size = count + 1, size + len(piece)
    end = {"rows": count, "complete": is_complete, "files": len(scan.files_read), "seconds": asked.seconds}
    stream.send(end=end)


def follow(asked: PageRequest, stream: Stream) -> None:
    """Send new rows, until the client disconnects."""
    tables = asked.source.open_tables()
    query = asked.question.query(tables[0].schema, asked.judge)

    def warn(sentence: str) -> None:
        stream.send(warning=sentence)

    following = Follow(tables, query, asked.judge, asked.source.locations, warn, asked.source.open)
    stream.send(start={"sql": query.where})
    while True:
        stream.check(_POLL)
        for _, hits in following.poll():
            for hit in hits:
                stream.write(_row(hit.row))


def context(asked: PageRequest, stream: Stream) -> None:
    """Send the lines around the line in the parameters, of its file and across rotation."""
    names, lines = asked.parameters, number(asked.parameters, "lines", 20, MAX_CONTEXT)
    ts = moment(names.get("ts", ""), datetime.now(UTC))
    if ts is None or not names.get("offset", "").isdecimal() or not names.get("file_id"):
        raise SinkError("cannot find the surrounding lines: the line has no time, file id or offset")
    if not 1 < ts.year < 9999:
        raise SinkError(f"cannot find the surrounding lines: the time of the line is {ts.isoformat()}")
    row = {name: names.get(name) for name in ("host", "path", "file_id")}
    place: Row = {**row, "ts": ts, "offset": int(names["offset"][:19])}
    snapshot = asked.source.snapshot(Query())
    files = {table: [file for file in snapshot.files if file.table is table] for table in snapshot.tables}
    neighbours = Neighbours(asked.judge, lines, files)
    stream.cancel_by(neighbours.cancel)
    around = neighbours.across_rotation(place, snapshot.tables)
    stream.check()
    stream.write(b'{"before":[%b],"after":[%b]}\n' % tuple(b",".join(map(_text, rows)) for rows in around))


def ndjson(asked: PageRequest, stream: Stream) -> None:
    """Send the rows as JSON lines, those of newer data files first."""
    for part in _downloaded(asked, stream):
        for row in rows_of(part):
            stream.write(_text(row) + b"\n")


def parquet_file(asked: PageRequest, stream: Stream) -> None:
    """Send the rows as a parquet file, those of newer data files first."""
    parts = _downloaded(asked, stream)
    first = next(parts)
    with (
        pa.PythonFile(_Sent(stream), mode="w") as sent,
        parquet.ParquetWriter(sent, first.schema, compression="zstd") as writer,
    ):
        for part in itertools.chain([first], parts):
            writer.write_table(part)


@dataclass(slots=True)
class _Sent:
    """A file that writes into a stream."""

    stream: Stream
    closed: bool = False

    def write(self, data: bytes) -> int:
        self.stream.write(bytes(data))
        return len(data)

    def flush(self) -> None: ...

    def close(self) -> None:
        self.closed = True


def _downloaded(asked: PageRequest, stream: Stream) -> Iterator[pa.Table]:
    """Yield an empty table, then the rows. Not sorted by time: that would keep all overlapping files in memory."""
    snapshot, query = asked.searched()
    yield snapshot.schema.empty_table()
    left = MAX_DOWNLOAD
    with closing(_scan(asked, stream, snapshot, query, MAX_DOWNLOAD).answers(snapshot.files)) as answers:
        for _, hits, _ in answers:
            if hits.num_rows:
                yield hits.slice(0, left)
            left -= hits.num_rows
            if left <= 0:
                return


def _scan(asked: PageRequest, stream: Stream, snapshot: Snapshot, query: Query, limit: int) -> Scan[pa.Table]:
    """Return a scan for the newest rows, which ends when the client disconnects."""
    scan = scan_of(query, asked.judge.selection(query, snapshot.schema, limit), asked.judge)
    stream.cancel_by(scan.cancel)
    return scan


def _row(row: Row) -> bytes:
    return b'{"row":%b}\n' % _text(row)


def _text(row: Row) -> bytes:
    return _JSON.line(row, is_hit=True).encode()
