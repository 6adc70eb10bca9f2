"""Converts Kafka records to the Arrow tables that a task writes: good rows, dead letters, a summary of each file.

Used in one thread. It caches members, names and times between calls, in bounded memory: use one for a whole task.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

import pyarrow as pa

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.rows.batches import Converted, FileSummary, KafkaRecords, RowOptions, RowPart, summaries
from log_shipper.spark_sink.rows.decoding import FieldDecoder
from log_shipper.spark_sink.rows.judging import RecordJudge
from log_shipper.spark_sink.rows.line_reader import JudgedLines, LineReader
from log_shipper.spark_sink.rows.members import place_of
from log_shipper.spark_sink.rows.own_columns import OwnColumn
from log_shipper.spark_sink.rows.routes import Routes
from log_shipper.spark_sink.rows.schema import BAD_SCHEMA
from log_shipper.spark_sink.rows.tables import Rows, RowTables


class Conversion:
    """Converts records by the options. `clock`: for the time of dead letters."""

    def __init__(self, options: RowOptions, clock: Callable[[], datetime]) -> None:
        own = [OwnColumn(column) for column in options.columns]
        routes = Routes(options.template)
        places = [place_of(path) for path in (*(c.path for c in options.columns), *(f.name for f in routes.fields))]
        decoder = FieldDecoder(
            [place.name for place in places if not place.in_log], [place.name for place in places if place.in_log]
        )
        self._options, self._routes, self._clock = options, routes, clock
        self._reader = LineReader(decoder, RecordJudge(own, routes.fields))
        self._tables = RowTables(self._reader, own, routes, options.doc)

    def convert(self, records: KafkaRecords) -> Converted:
        """Return a row or a dead letter for each record. Raises SinkError if the template makes too many tables."""
        reading = self._reader.read(records.values, records.headers)
        rows = self._tables.rows(records, reading)
        parts: list[RowPart] = []
        files: dict[str, list[FileSummary]] = {}
        for path, table in self._by_table(records.topic, rows):
            files[path] = list(summaries(table))
            parts.append(RowPart(path, table))
        return Converted(parts, self._bad(records, reading), files)

    def _by_table(self, topic: str, rows: Rows) -> Iterator[tuple[str, pa.Table]]:
        if not rows.table.num_rows:
            return
        if not rows.routes:
            yield self._routes.table(topic, ()), rows.table
            return
        positions: dict[str, list[int]] = {}
        known: dict[tuple[str | None, ...], list[int]] = {}
        for position, values in enumerate(zip(*rows.routes, strict=True)):
            if values not in known:
                known[values] = positions.setdefault(self._routes.table(topic, values), [])
            known[values].append(position)
        if len(positions) > self._options.max_tables:
            raise too_many(positions, self._options.max_tables)
        for path in sorted(positions):
            yield path, rows.table if len(positions) == 1 else rows.table.take(sorted(positions[path]))

    def _bad(self, records: KafkaRecords, reading: JudgedLines) -> pa.Table:
        now = self._clock()
        return pa.Table.from_pylist(
            [_dead_letter(records, index, reading.reasons[index], now) for index in sorted(reading.reasons)], BAD_SCHEMA
        )


def too_many(tables: Iterable[str], limit: int) -> SinkError:
    """Return the error of a template that makes too many tables."""
    return SinkError(
        f"table.path would create more than table.max_tables ({limit}) tables, {min(tables)} among them; use a field "
        "with fewer values, or raise table.max_tables"
    )


def _dead_letter(records: KafkaRecords, index: int, reason: str, now: datetime) -> dict[str, Any]:
    headers = records.headers[index]
    return {
        "reason": reason,
        "topic": records.topic,
        "partition": records.partition,
        "kafka_offset": records.offsets[index],
        "kafka_ts": records.times[index] * 1000,
        "key": records.keys[index],
        "value": records.values[index],
        "last_offset": None,
        "at": now,
        "headers": [{"key": name, "value": content} for name, content in headers] if headers else None,
    }
