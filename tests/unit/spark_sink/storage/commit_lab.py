"""Tables of numbered lines that are written and committed without Spark: what the tests of commits start from."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from log_shipper.spark_sink.records.schema import Column
from log_shipper.spark_sink.rows.schema import arrow_schema
from log_shipper.spark_sink.storage.commits import CommitLog
from log_shipper.spark_sink.storage.creation import prepare
from log_shipper.spark_sink.storage.data_files import DataFile, DataFileWriter, FileLayout
from log_shipper.spark_sink.storage.layout import Layout
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import TxnId

COLUMNS = (
    Column("ts", "TIMESTAMP", "when"),
    Column("date", "DATE", "the day of ts"),
    Column("message", "STRING", "the line"),
    Column("host", "STRING", "which host"),
    Column("offset", "BIGINT", "where"),
    Column("tags", "ARRAY<STRING>", "which tags"),
)
STATISTICS = ("ts", "host", "offset")
SCHEMA = arrow_schema(COLUMNS)
DAY = date(2026, 11, 21)


def lines(*offsets: int, day: date | None = DAY, host: str | None = "web-1") -> pa.Table:
    """Rows with these offsets; each as many seconds and 456 microseconds into its day."""
    midnight = datetime.combine(day or DAY, datetime.min.time(), UTC)
    rows = [
        {
            "ts": midnight + timedelta(seconds=offset, microseconds=456),
            "date": day,
            "message": f"line {offset}",
            "host": host,
            "offset": offset,
            "tags": ["a", None] if offset % 2 else None,
        }
        for offset in offsets
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


class Table:
    """One table, as a process of the sink has it."""

    def __init__(self, place: Path | Location, properties: Mapping[str, str] | None = None) -> None:
        self.location = place if isinstance(place, Location) else Location(str(place))
        self.path = Path(self.location.path)
        self.files = FileLayout(SCHEMA, "date", STATISTICS, ("message",))
        self.layout = Layout(COLUMNS, "Lines", partition_by="date", statistics=STATISTICS, properties=properties or {})
        self.log = prepare(self.location, self.layout)

    def write(self, *parts: pa.Table) -> list[DataFile]:
        with DataFileWriter(self.location, self.files) as writer:
            for part in parts:
                writer.write(part)
            return writer.close()

    def land(self, batch: int, *offsets: int, log: CommitLog | None = None) -> int:
        """Commit the lines as a batch of the query q."""
        return (log or self.log).append(self.write(lines(*offsets)), TxnId("q", batch))

    def second_process(self) -> CommitLog:
        """Return the log of another process, which has read the table just now."""
        table = self.location.open()
        assert table is not None
        return CommitLog(self.location, table)

    def offsets(self) -> list[int]:
        table = self.location.open()
        assert table is not None
        return sorted(pa.table(table.to_pyarrow_table(columns=["offset"])).column("offset").to_pylist())

    def log_file(self, version: int) -> Path:
        return self.path / "_delta_log" / f"{version:020}.json"
