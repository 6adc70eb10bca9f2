"""Small tables for docs/guides/querying.md, queries.md and readers.md, and its statements and programs by heading."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from log_shipper.spark_sink.landing.sink_tables import SinkTables
from log_shipper.spark_sink.landing.staged import stage
from log_shipper.spark_sink.landing.startup import row_options
from log_shipper.spark_sink.options.tables import TableConfig
from log_shipper.spark_sink.rows.batches import KafkaRecords
from log_shipper.spark_sink.rows.conversion import Conversion
from log_shipper.spark_sink.storage.tables import Unnamed
from tests.unit.spark_sink.conftest import sink_config

GUIDES = Path(__file__).parents[4] / "docs" / "guides"
PAGE = "".join((GUIDES / name).read_text() for name in ("querying.md", "queries.md", "readers.md"))
DAY = "2026-10-05"


def blocks(language: str) -> dict[str, str]:
    """By heading; several below one heading are numbered: `heading`, `heading 2` ..."""
    blocks_by_heading: dict[str, str] = {}
    heading = ""
    for match in re.finditer(rf"^##+ ([^\n]+)$|^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        if match[1]:
            heading, count = match[1], 1
        else:
            blocks_by_heading[heading if count == 1 else f"{heading} {count}"] = match[2]
            count += 1
    return blocks_by_heading


def line(
    message: str, time: str, offset: int, host: str = "web-1", file: str = "9f3c", **more: Any
) -> tuple[str, dict[str, Any]]:
    """When it was sent, and the record: of that day, a second before it was sent, if `more` says nothing else."""
    log = {"offset": offset, "length": len(message) + 1, "file": {"path": "/var/log/shop.log", "id": file}}
    log |= more.pop("log", {})
    sent = more.pop("sent", f"{DAY} {time}")
    return sent, {"@timestamp": f"{DAY}T{time}Z", "message": message, "host": {"name": host}, "log": log, **more}


FIRST = [
    line("rotated away", "09:29:59", 0, file="00aa"),
    line("start", "09:30:00", 0),
    line("GET /cart 200", "09:30:01", 6, http={"response": {"status_code": 200}}, fields={"env": "prod"}),
    line(
        "GET /cart 500",
        "09:30:02",
        20,
        http={"response": {"status_code": 500}},
        fields={"env": "prod"},
        kubernetes={"pod": {"name": "shop-1"}},
    ),
    line("ERROR no answer\n  at Cart", "09:30:02", 34, log={"flags": ["multiline"]}),
    line("login of ada", "09:31:00", 60, tags=["audit"]),
]
SECOND = [
    line("E" * 97, "09:31:01", 73, log={"flags": ["truncated"]}),
    line("ERROR no answer", "09:31:02", 172, host="web-2", file="77bb"),
    line("ERROR disk full", "09:31:03", 171),
    line("stop", "09:31:04", 187),
    line("late", "09:31:05", 0, host="web-2", file="88cc", sent=f"{DAY} 12:31:05"),
    line("GET /cart 503", "09:31:06", 188, host="web-2", file="77bb", http={"response": {"status_code": "503"}}),
]


class Tables:
    """Made by the product's own code at `path`, in two batches; the last line of the second was written just now."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self.path = directory / "logs"
        self.now = now = datetime.now(UTC).replace(tzinfo=None)
        config = sink_config(directory, table=TableConfig(path=str(self.path)))
        self._tables = SinkTables(config, print)
        self._tables.prepare()
        self._conversion = Conversion(row_options(config), lambda: datetime.now(UTC))
        fresh = line("now", "00:00:00", 192, host="web-3", sent=str(now))
        fresh[1]["@timestamp"] = (now - timedelta(seconds=1)).isoformat() + "Z"
        self._land([(sent, json.dumps(record)) for sent, record in FIRST])
        self._land([(sent, json.dumps(record)) for sent, record in [*SECOND, fresh]])
        self._land([(f"{DAY} 09:30:00", "no JSON"), (f"{DAY} 09:31:00", "nor this"), (f"{DAY} 09:30:00", "{}")])

    def here(self, text: str) -> str:
        """Return the page's text with these tables."""
        return text.replace("/data/logs", str(self.path))

    def _land(self, sent: list[tuple[str, str]]) -> None:
        count = len(sent)
        times = [round(datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp() * 1000) for time, _ in sent]
        values = [value.encode() for _, value in sent]
        records = KafkaRecords("logs", 0, range(count), times, [b"key"] * count, values, [None] * count)
        converted = self._conversion.convert(records)
        for part in converted.parts:
            layout = self._tables.files().layout(part.table)
            staged = stage(self._tables.location(part.table), layout, part.rows)
            self._tables.commit(staged, Unnamed.NOT_A_BATCH)
        if converted.bad.num_rows:
            self._tables.commit(self._tables.stage_bad(converted.bad), Unnamed.NOT_A_BATCH)
