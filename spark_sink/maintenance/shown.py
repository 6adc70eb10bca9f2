"""What `spark-sink status` has found, as values, as a JSON document and as text for people.

The text is written from the document, so the two cannot say different things. docs/operating-the-sink.md describes it.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spark_sink.maintenance.known import Known
from spark_sink.maintenance.sizes import Sizes, readable_bytes
from spark_sink.maintenance.streams import Stream

PARTITION_HEAD = ("TOPIC", "PARTITION", "LANDED", "END", "LAG", "LAST BATCH")
TABLE_HEAD = ("TABLE", "PATH", "VERSION", "ROWS", "SIZE", "FILES", "SMALL", "DATES")
MARK_BYTES = 350  # of the driver's memory, a file


@dataclass(frozen=True, slots=True)
class LandedEnd:
    end: int  # the next offset to land
    at: datetime | None


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """`landed` is None where nothing was landed from, `end` where Kafka did not say."""

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
    known: Known
    sizes: Sizes | None = None


@dataclass(frozen=True, slots=True)
class Status:
    at: datetime
    streams: tuple[Stream, ...]
    partitions: tuple[PartitionStatus, ...]
    tables: tuple[TableStatus, ...]
    reasons: tuple[tuple[str, int], ...]
    files: int
    errors: tuple[str, ...]


def document(status: Status) -> dict[str, Any]:
    return {
        "at": _time(status.at),
        "streams": [
            {"name": each.name, "checkpoint": each.path, "batch": each.batch, "committed": _time(each.committed)}
            for each in status.streams
        ],
        "partitions": [_partition(each) for each in status.partitions],
        "tables": [_table(each) for each in status.tables],
        "dead_letter": [{"reason": reason, "rows": rows} for reason, rows in status.reasons],
        "state": {"files": status.files, "bytes_in_memory": status.files * MARK_BYTES},
        "errors": list(status.errors),
    }


def _partition(each: PartitionStatus) -> dict[str, Any]:
    return {
        "topic": each.topic,
        "partition": each.partition,
        "landed": each.landed and each.landed.end,
        "end": each.end,
        "lag": each.lag,
        "last_batch": _time(each.landed.at) if each.landed else None,
    }


def _table(each: TableStatus) -> dict[str, Any]:
    place: dict[str, Any] = {"table": each.known.title, "path": each.known.table.path, "there": each.sizes is not None}
    if each.sizes is None:
        return place
    dates = each.sizes.dates
    return place | {
        "version": each.sizes.version,
        "committed": _time(each.sizes.committed),
        "rows": each.sizes.rows,
        "bytes": each.sizes.bytes,
        "files": each.sizes.files,
        "small_files": each.sizes.small,
        "dates": {"count": len(dates), "first": dates[0].isoformat(), "last": dates[-1].isoformat()} if dates else None,
    }


def text(found: dict[str, Any]) -> str:
    return "\n".join(_lines(found)) + "\n"


def _lines(found: dict[str, Any]) -> Iterator[str]:
    for stream in found["streams"]:
        last = (
            f"batch {stream['batch']}, committed {_clock(stream['committed'])}"
            if stream["committed"]
            else "no batch yet"
        )
        yield f"{stream['name']}: {last} ({stream['checkpoint']})"
    yield ""
    yield from _columns(PARTITION_HEAD, [_partition_cells(each) for each in found["partitions"]], (0,))
    yield ""
    yield from _columns(TABLE_HEAD, [_table_cells(each) for each in found["tables"]], (0, 1, 7))
    if bad := found["dead_letter"]:
        yield ""
        yield from _columns(("ROWS", "BAD BECAUSE"), [(_number(each["rows"]), each["reason"]) for each in bad], (1,))
    state = found["state"]
    yield f"\nfiles remembered: {state['files']:,}, {readable_bytes(state['bytes_in_memory'])} in the job's memory"
    for error in found["errors"]:
        yield f"\nnot answered: {error}"


def _partition_cells(each: dict[str, Any]) -> tuple[str, ...]:
    numbers = (_number(each[key]) for key in ("partition", "landed", "end", "lag"))
    return (each["topic"], *numbers, _clock(each["last_batch"]))


def _table_cells(table: dict[str, Any]) -> tuple[str, ...]:
    if not table["there"]:
        return (table["table"], table["path"], "-", "-", "-", "-", "-", "not there yet")
    dates = table["dates"]
    span = f"{dates['count']}, {dates['first']} to {dates['last']}" if dates else ""
    version, rows, files, small = (_number(table[key]) for key in ("version", "rows", "files", "small_files"))
    return (table["table"], table["path"], version, rows, readable_bytes(table["bytes"]), files, small, span)


def _columns(head: Sequence[str], rows: Sequence[Sequence[str]], flush_left: Collection[int]) -> Iterator[str]:
    """Numbers are flush right; text is in the columns named by `flush_left`."""
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
