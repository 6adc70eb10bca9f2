"""The columns of the configuration: what each type takes. All records go through Spark together."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from config.sink.tables import ColumnConfig, ColumnType
from spark_sink.records.schema import LINES, Column, names
from spark_sink.records.transform import Transform
from tests.unit.spark_sink.conftest import sink_config
from tests.unit.spark_sink.kafka_records import records

pytestmark = pytest.mark.spark

TYPES: tuple[ColumnType, ...] = ("string", "boolean", "int", "bigint", "double", "timestamp", "date", "array<string>")
OWN = tuple(ColumnConfig(name="c_" + kind[:5], path="http.it", type=kind) for kind in TYPES)
NEEDED = ColumnConfig(name="status", path="http.status", type="int", comment="HTTP status", required=True)

# JSON -> by type what the column holds; NULL in every other
VALUES: dict[str, dict[ColumnType, Any]] = {
    "null": {},
    '"x"': {"string": "x"},
    '""': {"string": ""},
    '"5"': {"string": "5"},
    '"true"': {"string": "true"},
    "true": {"boolean": True},
    "5": {"int": 5, "bigint": 5, "double": 5.0},
    "-5": {"int": -5, "bigint": -5, "double": -5.0},
    "3000000000": {"bigint": 3000000000, "double": 3e9},
    "30000000000000000000": {"double": 3e19},
    "1.5": {"double": 1.5},
    "1e300": {"double": 1e300},
    '"2026-11-21T09:30:00+02:00"': {
        "string": "2026-11-21T09:30:00+02:00",
        "timestamp": datetime(2026, 11, 21, 7, 30),
        "date": date(2026, 11, 21),
    },
    '"2026-11-21"': {"string": "2026-11-21", "date": date(2026, 11, 21)},
    '"2026"': {"string": "2026"},
    '"09:30"': {"string": "09:30"},
    "[]": {"array<string>": []},
    '["a",null]': {"array<string>": ["a", None]},
    '["a",1]': {},
    "[1]": {},
    '{"a":1}': {},
}
REQUIRED = {
    '"status":404': None,
    '"other":1': "no http.status, which the column status requires",
    '"status":null': "no http.status, which the column status requires",
    '"status":"404"': "wrong type: http.status is STRING, not a whole number of 32 bits",
    '"status":3000000000': "wrong type: http.status is BIGINT, not a whole number of 32 bits",
}


def record(http: str) -> bytes:
    return ('{"@timestamp":"2026-11-21T09:30:00.123Z","http":{' + http + "}}").encode()


@pytest.fixture(scope="module")
def typed(spark: SparkSession) -> dict[str, Row]:
    transform = Transform(sink_config(Path("/data"), columns=OWN))
    parsed = transform.parse(records(spark, [("", record(f'"it":{value}')) for value in VALUES]))
    rows = transform.good(parsed).drop("doc", "fields").collect()
    return {list(VALUES)[row.kafka_offset]: row for row in rows}


@pytest.mark.parametrize("value", VALUES)
def test_a_column_takes_values_of_its_type_alone(value: str, typed: dict[str, Row]) -> None:
    values = {column.type: typed[value][column.name] for column in OWN}
    assert values == {**dict.fromkeys(TYPES), **VALUES[value]}


@pytest.fixture(scope="module")
def reasons(spark: SparkSession) -> dict[str, str | None]:
    transform = Transform(sink_config(Path("/data"), columns=(NEEDED,)))
    rows = transform.parse(records(spark, [("", record(http)) for http in REQUIRED]))
    bad = {row.kafka_offset: row.reason for row in transform.bad(rows).select("kafka_offset", "reason").collect()}
    return {http: bad.get(index) for index, http in enumerate(REQUIRED)}


@pytest.mark.parametrize("http", REQUIRED)
def test_a_record_without_what_a_column_requires_is_bad(http: str, reasons: dict[str, str | None]) -> None:
    assert reasons[http] == REQUIRED[http]


def test_own_columns_stand_behind_those_of_every_table() -> None:
    columns = Transform(sink_config(Path("/data"), columns=(NEEDED, OWN[0]))).columns
    assert names(columns) == [*names(LINES), "status", "c_strin"]
    assert columns[-2:] == (Column("status", "INT", "HTTP status"), Column("c_strin", "STRING", "http.it"))
