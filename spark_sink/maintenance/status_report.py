"""The report of `spark-sink status`: as values, as a JSON document and as text for people.

The text is made from the document, so the two cannot differ. docs/guides/sink-status.md describes it.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from log_shipper.config.text.units import readable_bytes
from log_shipper.spark_sink.maintenance.known import KnownTable
from log_shipper.spark_sink.maintenance.sizes import MANY_FILES, Sizes
from log_shipper.spark_sink.maintenance.streams import StreamStatus

PARTITION_HEAD = ("TOPIC", "PARTITION", "LANDED", "END", "LAG", "LAST BATCH")
TABLE_HEAD = ("TABLE", "PATH", "VERSION", "ROWS", "SIZE", "FILES", "SMALL", "DATES")
MARK_BYTES = 350  # of the driver's memory, per file


@dataclass(frozen=True, slots=True)
class LandedEnd:
    end: int  # the next offset to land
    recorded: datetime | None


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """The landed end of one partition and its end in Kafka. `landed` is None without landed rows, `end` if Kafka is not
    responding."""

    topic: str
    partition: int
    landed: LandedEnd | None
    end: int | None

    @property
    def lag(self) -> int | None:
        if self.end is None or self.landed is None:
            return None
        return max(0, self.end - self.landed.end)


@dataclass(frozen=True, slots=True)
class TableStatus:
    known: KnownTable
    sizes: Sizes | None = None


@dataclass(frozen=True, slots=True)
class Status:
    read_at: datetime
    streams: tuple[StreamStatus, ...]
    partitions: tuple[PartitionStatus, ...]
    tables: tuple[TableStatus, ...]
    reasons: tuple[tuple[str, int], ...]
    files: int
    errors: tuple[str, ...]


def document(status: Status) -> dict[str, Any]:
    return {
        "at": _time(status.read_at),
        "streams": [
            {
                "name": stream.name,
                "checkpoint": stream.path,
                "batch": stream.batch,
                "committed": _time(stream.committed),
            }
            for stream in status.streams
        ],
        "partitions": [_partition(partition) for partition in status.partitions],
        "tables": [_table(table) for table in status.tables],
        "dead_letter": [{"reason": reason, "rows": rows} for reason, rows in status.reasons],
        "state": {"files": status.files, "bytes_in_memory": status.files * MARK_BYTES},
        "errors": list(status.errors),
    }


def _partition(partition: PartitionStatus) -> dict[str, Any]:
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "landed": partition.landed and partition.landed.end,
        "end": partition.end,
        "lag": partition.lag,
        "last_batch": _time(partition.landed.recorded) if partition.landed else None,
    }


def _table(status: TableStatus) -> dict[str, Any]:
    place: dict[str, Any] = {
        "table": status.known.title,
        "path": status.known.table.path,
        "there": status.sizes is not None,
    }
    if status.sizes is None:
        return place
    dates = status.sizes.dates
    return place | {
        "version": status.sizes.version,
        "committed": _time(status.sizes.committed),
        "rows": status.sizes.rows,
        "bytes": status.sizes.bytes,
        "files": status.sizes.files,
        "small_files": status.sizes.small,
        "too_many_files": status.sizes.files > MANY_FILES,
        "dates": {"count": len(dates), "first": dates[0].isoformat(), "last": dates[-1].isoformat()} if dates else None,
    }


def text(document: dict[str, Any]) -> str:
    return "\n".join(_lines(document)) + "\n"


def _lines(document: dict[str, Any]) -> Iterator[str]:
    for stream in document["streams"]:
        last = (
            f"batch {stream['batch']}, committed {_clock(stream['committed'])}"
            if stream["committed"]
            else "no batch yet"
        )
        yield f"{stream['name']}: {last} ({stream['checkpoint']})"
    yield ""
    yield from _columns(PARTITION_HEAD, [_partition_cells(row) for row in document["partitions"]], (0,))
    yield ""
    yield from _columns(TABLE_HEAD, [_table_cells(row) for row in document["tables"]], (0, 1, 7))
    for table in document["tables"]:
        if table.get("too_many_files"):
            yield f"\n{table['table']}: {many_files(table['files'])}"
    if bad := document["dead_letter"]:
        yield ""
        yield from _columns(("ROWS", "BAD BECAUSE"), [(_number(row["rows"]), row["reason"]) for row in bad], (1,))
    state = document["state"]
    yield f"\nremembered files: {state['files']:,}, {readable_bytes(state['bytes_in_memory'])} of memory"
    for error in document["errors"]:
        yield f"\nerror: {error}"


def many_files(count: int) -> str:
    """Return the warning about a table with too many files."""
    return (
        f"{count:,} files slow down queries and starts: run spark-sink maintain more often; if that does not help, "
        "lower maintenance.optimize.open_min_files"
    )


def _partition_cells(partition: dict[str, Any]) -> tuple[str, ...]:
    numbers = (_number(partition[key]) for key in ("partition", "landed", "end", "lag"))
    return (partition["topic"], *numbers, _clock(partition["last_batch"]))


def _table_cells(table: dict[str, Any]) -> tuple[str, ...]:
    if not table["there"]:
        return (table["table"], table["path"], "-", "-", "-", "-", "-", "does not exist yet")
    dates = table["dates"]
    span = f"{dates['count']}, {dates['first']} to {dates['last']}" if dates else ""
    version, rows, files, small = (_number(table[key]) for key in ("version", "rows", "files", "small_files"))
    return (table["table"], table["path"], version, rows, readable_bytes(table["bytes"]), files, small, span)


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]], flush_left: Collection[int]) -> Iterator[str]:
    """Yield the lines of a table. The columns in `flush_left` are text; numbers are flush right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        cells = [
            cell.ljust(width) if index in flush_left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _clock(written: str | None) -> str:
    return "-" if written is None else written.replace("T", " ")
