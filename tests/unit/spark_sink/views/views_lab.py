"""A table of lines, views of it, and no Kafka: rows are put into the table as a batch of the landing would."""

import io
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from log_shipper.spark_sink import logs
from log_shipper.spark_sink.landing.sink_tables import SinkTables
from log_shipper.spark_sink.landing.staged import stage
from log_shipper.spark_sink.options.kafka import KafkaSource
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.parts import CheckpointConfig
from log_shipper.spark_sink.options.tables import TableConfig
from log_shipper.spark_sink.options.views import ViewConfig
from log_shipper.spark_sink.storage.tables import Unnamed
from log_shipper.spark_sink.views.progress import PREFIX
from log_shipper.spark_sink.views.views import Views
from tests.fakes import ManualClock

ERRORS_A_MINUTE = """
    SELECT window.start AS minute, host, count(*) AS errors FROM lines
    WHERE message LIKE 'error%' GROUP BY window(ts, '1 minute'), host
"""
ERRORS = "SELECT ts, host, message FROM lines WHERE message LIKE 'error%'"
A_HOST = "SELECT host, count(*) AS lines FROM lines GROUP BY host"
LONG = 60.0  # seconds; the last events of a query, which tell which rows came late, have come by then


class ViewsLab:
    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self.spark = spark
        self.directory = directory
        self.lines = str(directory / "lines")
        self.out = io.StringIO()
        self.clock = ManualClock()
        self._tables = self._opened()

    def _opened(self) -> SinkTables:
        config = self._config()
        tables = SinkTables(config, print)
        tables.log(self.lines)
        return tables

    def land(self, *rows: str) -> None:
        """Each "09:00:10 host message", or with the date before it; one commit."""
        values: list[dict[str, object]] = []
        for row in rows:
            day = "" if row[4:5] == "-" else "2026-11-21 "
            date, time, host, message = f"{day}{row}".split(" ", 3)
            ts = datetime.fromisoformat(f"{date} {time}").replace(tzinfo=UTC)
            doc = json.dumps({"request": {"id": message.split()[-1]}})
            values.append({"ts": ts, "date": ts.date(), "host": host, "message": message, "doc": doc})
        layout = self._tables.files().layout(self.lines)
        landed = pa.Table.from_pylist(values, layout.schema)
        self._tables.commit(stage(self._tables.location(self.lines), layout, landed), Unnamed.NOT_A_BATCH)

    def change(self, command: str) -> None:
        """With {lines} for the table."""
        self.spark.sql(command.format(lines=f"delta.`{self.lines}`"))
        self._tables = self._opened()  # a process that had opened it before is refused after a RESTORE

    def views(self, *views: ViewConfig, **changes: object) -> Views:
        logs.set_up(text=False, out=self.out)
        config = replace(self._config(), views=views, **changes)  # type: ignore[arg-type]
        return Views(self.spark, config, self.clock.monotonic, event_seconds=LONG)

    def run(self, *views: ViewConfig) -> Views:
        """Whatever is there, to the end."""
        made = self.views(*views)
        made.check()
        made.catch_up()
        return made

    @contextmanager
    def running(self, *views: ViewConfig) -> Iterator[Views]:
        made = self.views(*views)
        made.check()
        made.start()
        try:
            yield made
        finally:
            made.stop()

    def await_read(self) -> None:
        """Until each running view has read and written all that is there."""
        for query in self.spark.streams.active:
            query.processAllAvailable()

    def await_end(self, name: str) -> None:
        """Until the running query of the view has failed."""
        for query in self.spark.streams.active:
            if query.name == PREFIX + name:
                with suppress(StreamingQueryException):
                    assert query.awaitTermination(60), "it has not failed"

    def rows(self, name: str) -> list[tuple[object, ...]]:
        table = self.spark.read.format("delta").load(str(self.table(name)))
        return sorted(tuple(row) for row in table.collect())

    def table(self, name: str) -> Path:
        return Path(f"{self.lines}_{name}")

    def checkpoint(self, name: str) -> Path:
        return self.directory / "checkpoint_views" / name

    def forget_commit(self, name: str) -> None:
        """As a kill leaves the checkpoint, after the table's commit and before the batch's own."""
        last = max(int(path.name) for path in self.checkpoint(name).glob("commits/[0-9]*"))
        (self.checkpoint(name) / "commits" / str(last)).unlink()
        (self.checkpoint(name) / "commits" / f".{last}.crc").unlink()

    def keep_checkpoint(self, name: str) -> Path:
        kept = self.directory / "kept"
        shutil.copytree(self.checkpoint(name), kept)
        return kept

    def logged(self, *levels: str) -> list[str]:
        """Return the messages, of these levels only if any are named."""
        records = map(json.loads, self.out.getvalue().splitlines())
        return [record["message"] for record in records if not levels or record["log.level"] in levels]

    def _config(self) -> SinkConfig:
        return SinkConfig(
            kafka=KafkaSource(hosts=("none:9092",), topics=("logs",)),
            table=TableConfig(path=self.lines),
            checkpoint=CheckpointConfig(path=str(self.directory / "checkpoint")),
        )
