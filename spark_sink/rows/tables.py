"""Makes an Arrow table of good lines, with the fixed columns and those of the configuration."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from log_shipper.spark_sink.options.tables import DocMode
from log_shipper.spark_sink.records.schema import LINES
from log_shipper.spark_sink.rows.batches import KafkaRecords
from log_shipper.spark_sink.rows.json_text import Json
from log_shipper.spark_sink.rows.line_reader import JudgedLines, LineReader
from log_shipper.spark_sink.rows.members import FILE_ID, HOST, PATH, Extracted, FieldRequest, Members
from log_shipper.spark_sink.rows.own_columns import OwnColumn
from log_shipper.spark_sink.rows.pieces import NeedsJudging
from log_shipper.spark_sink.rows.routes import Routes, route_value
from log_shipper.spark_sink.rows.schema import TIMESTAMP, arrow_schema
from log_shipper.spark_sink.rows.times import is_in_range, micros_of

TIMES_REMEMBERED = 65_536
_KAFKA_TIME = pa.timestamp("ms", tz="UTC")
_NAIVE = pa.timestamp("us")


@dataclass(frozen=True, slots=True)
class Rows:
    """Good rows, and the values that choose their tables: one column for each field of the template."""

    table: pa.Table
    routes: Sequence[Sequence[str | None]]


@dataclass(slots=True)
class RowTables:
    """Makes the columns of good lines."""

    reader: LineReader
    own: Sequence[OwnColumn]
    routes: Routes
    doc: DocMode
    schema: pa.Schema = field(init=False)
    _members: Members = field(init=False)
    _times: dict[str, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.schema = arrow_schema((*LINES, *(own.column for own in self.own)))
        columns = [FieldRequest(own.config.path, _column(own), own.holds) for own in self.own]
        routes = [FieldRequest(part.name, _route(part.default), _stays) for part in self.routes.fields]
        self._members = Members(self.reader.decoder, (HOST, PATH, FILE_ID, *columns, *routes))

    def rows(self, records: KafkaRecords, reading: JudgedLines) -> Rows:
        """Return the rows of the lines. Adds the reasons of further bad records to `reading`."""
        while True:
            kept = [index for index, line in enumerate(reading.lines) if line is not None]
            lines: list[Any] = [reading.lines[index] for index in kept]
            logs = self.reader.decoder.logs(lines)
            to_judge: set[int] = set()
            times = self._micros([line.time for line in lines], to_judge)
            extracted = self._members.read(lines, logs, to_judge)
            if not to_judge:
                break
            for position in to_judge:
                self.reader.judge_decoded(reading, kept[position])
        host, path, file_id, *others = extracted.values
        own, routes = others[: len(self.own)], others[len(self.own) :]
        columns: dict[str, Any] = {
            **_times(times),
            "message": [line.message for line in lines],
            "host": host,
            "path": path,
            "file_id": file_id,
            "offset": [log.offset for log in logs],
            "length": [log.length for log in logs],
            "flags": [log.flags for log in logs],
            "tags": [line.tags for line in lines],
            "fields": extracted.fields,
            "doc": self._docs(reading, kept, extracted),
            **_place(records, kept),
            **{column.config.name: values for column, values in zip(self.own, own, strict=True)},
        }
        return Rows(_table(columns, self.schema), routes)

    def _micros(self, texts: Sequence[str], to_judge: set[int]) -> list[int | None]:
        """Return microseconds since the epoch; None for a text that is not a time in range."""
        known = self._times
        if len(known) > TIMES_REMEMBERED:
            known.clear()
        for text in set(texts).difference(known):
            micros = micros_of(text)
            known[text] = micros if micros is not None and is_in_range(micros) else None
        times = [known[text] for text in texts]
        if None in times:
            to_judge.update(index for index, micros in enumerate(times) if micros is None)
        return times

    def _docs(self, reading: JudgedLines, kept: Sequence[int], extracted: Extracted) -> Sequence[str | None]:
        match self.doc:
            case "rest":
                return extracted.docs
            case "all":
                return [reading.whole(index) for index in kept]
            case "none":
                return [None] * len(kept)


def _column(own: OwnColumn) -> Callable[[Json], Json]:
    def extract(value: Json) -> Json:
        stored = own.value(value)
        if stored is None and own.config.required:
            raise NeedsJudging
        return stored

    return extract


def _route(default: str | None) -> Callable[[Json], Json]:
    def extract(value: Json) -> Json:
        text = route_value(value)
        if text is None and default is None:
            raise NeedsJudging
        return text

    return extract


def _stays(_value: Json, _extracted: Json) -> bool:
    return False


def _times(times: Sequence[int | None]) -> dict[str, pa.Array]:
    micros = pa.array(times, pa.int64())
    return {"ts": micros.cast(TIMESTAMP), "date": micros.cast(_NAIVE).cast(pa.date32())}


def _place(records: KafkaRecords, kept: Sequence[int]) -> dict[str, Any]:
    """Return the columns with the records' places in Kafka."""
    offsets, times = records.offsets, records.times
    if len(kept) < len(records):
        offsets, times = [offsets[index] for index in kept], [times[index] for index in kept]
    return {
        "topic": pa.repeat(pa.scalar(records.topic), len(kept)),
        "partition": pa.repeat(pa.scalar(records.partition, pa.int32()), len(kept)),
        "kafka_offset": offsets,
        "kafka_ts": pa.array(times, pa.int64()).cast(_KAFKA_TIME).cast(TIMESTAMP),
    }


def _table(columns: dict[str, Any], schema: pa.Schema) -> pa.Table:
    return pa.table([_array(columns[field.name], field.type) for field in schema], schema=schema)


def _array(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    if pa.types.is_timestamp(kind):  # microseconds of the epoch
        return pa.array(values, pa.int64()).cast(kind)
    if pa.types.is_date32(kind):  # days of the epoch
        return pa.array(values, pa.int32()).cast(kind)
    return pa.array(values, kind)
