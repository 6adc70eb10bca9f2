"""Small tables of lines, written by the sink's own writer, and searches of them in this process."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

from log_shipper.spark_sink.__main__ import whole_parser
from log_shipper.spark_sink.records.schema import LINES, Column
from log_shipper.spark_sink.rows.schema import arrow_schema
from log_shipper.spark_sink.search.command import Command
from log_shipper.spark_sink.search.sealed import ConditionFilter
from log_shipper.spark_sink.storage.commits import CommitLog
from log_shipper.spark_sink.storage.creation import prepare
from log_shipper.spark_sink.storage.data_files import DataFileWriter, FileLayout
from log_shipper.spark_sink.storage.layout import Layout
from log_shipper.spark_sink.storage.locations import Location

COLUMNS = (*LINES, Column("status", "INT", "http.response.status_code"))
STATISTICS = ("ts", "host", "path", "file_id", "offset", "topic", "partition", "kafka_offset", "kafka_ts", "status")
JUDGE = ConditionFilter()  # to make one takes longer than most searches of these tables
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)

Row = dict[str, Any]


def line(message: str | None, second: float = 0, **more: Any) -> Row:
    """Return a row of web-1's app.log, `second` seconds after noon, 10 bytes long; `number` is its place in the
    file."""
    ts = more.pop("ts", NOON + timedelta(seconds=second))
    offset = 10 * more.pop("number", round(second))
    row = {
        "ts": ts,
        "date": ts.astimezone(UTC).date(),
        "message": message,
        "host": "web-1",
        "path": "/var/log/app.log",
        "file_id": "9f3c",
        "offset": offset,
        "length": 10,
    }
    return {**dict.fromkeys(column.name for column in COLUMNS), **row, **more}


def lines(*seconds: float, **more: Any) -> list[Row]:
    return [line(f"line {second:g}", second, **more) for second in seconds]


@dataclass(slots=True)
class Table:
    """A table of lines; each `land` is one commit, with a file a date."""

    path: Path
    columns: Sequence[Column] = COLUMNS
    properties: Mapping[str, str] = field(default_factory=dict)
    partition: str = "date"
    log: CommitLog = field(init=False)

    def __post_init__(self) -> None:
        layout = Layout(tuple(self.columns), "Lines", self.partition, STATISTICS, self.properties)
        self.log = prepare(Location(str(self.path)), layout)

    def land(self, *parts: Sequence[Row]) -> None:
        """Commit the rows, each part as a file of its own."""
        schema = arrow_schema(self.columns)
        files = FileLayout(schema, self.partition, STATISTICS, ("message",))
        written = []
        for rows in parts:
            with DataFileWriter(self.log.location, files) as writer:
                writer.write(pa.Table.from_pylist(list(rows), schema=schema))
                written += writer.close()
        self.log.append(written, None)


class Interrupted:
    """Waits by taking the next step of a story, and interrupts the command after the last one."""

    def __init__(self, *steps: Callable[[], object]) -> None:
        self._steps = list(steps)

    def __call__(self, seconds: float) -> None:
        if not self._steps:
            raise KeyboardInterrupt
        self._steps.pop(0)()


@dataclass(frozen=True, slots=True)
class Printed:
    code: int
    text: str

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @property
    def messages(self) -> list[str]:
        """What comes after the path, of each line."""
        return [text if text == "--" else text.split(" ", 3)[3] for text in self.lines]

    @property
    def rows(self) -> list[Row]:
        return [json.loads(text) for text in self.lines]


def search(table: Table | Path, *arguments: str, steps: Sequence[Callable[[], object]] = ()) -> Printed:
    """Run the command as its process would; `steps` happen while it follows. Raises SinkError."""
    path = table.path if isinstance(table, Table) else table
    return run(["--table", str(path), *arguments], steps)


def run(arguments: Sequence[str], steps: Sequence[Callable[[], object]] = ()) -> Printed:
    output = io.StringIO()
    options = whole_parser().parse_args(["search", *arguments])
    code = Command(options, output, Interrupted(*steps), JUDGE).run()
    return Printed(code, output.getvalue())
