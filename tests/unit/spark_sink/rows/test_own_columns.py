"""The columns of the configuration: what each type takes, and what stays in `doc`."""

import json
from datetime import UTC, date, datetime
from typing import Any

import pytest

from log_shipper.spark_sink.options.tables import ColumnConfig, ColumnType
from log_shipper.spark_sink.records.schema import LINES, names
from tests.unit.spark_sink.rows.converting import conversion, kafka_records, reasons_of, rows_of

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
        "timestamp": datetime(2026, 11, 21, 7, 30, tzinfo=UTC),
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
    '"other":1': "missing http.status, required by the column status",
    '"status":null': "missing http.status, required by the column status",
    '"status":"404"': "wrong type: http.status is STRING, not a whole number of 32 bits",
    '"status":3000000000': "wrong type: http.status is BIGINT, not a whole number of 32 bits",
}


# The values that a column does not hold as they were given.
OTHER_FORM = {
    ("timestamp", '"2026-11-21T09:30:00+02:00"'),
    ("date", '"2026-11-21T09:30:00+02:00"'),
    ("date", '"2026-11-21"'),
    ("double", "30000000000000000000"),
}


def record(http: str) -> bytes:
    return ('{"@timestamp":"2026-11-21T09:30:00.123Z","http":{' + http + "}}").encode()


@pytest.fixture(scope="module")
def typed() -> dict[str, dict[str, Any]]:
    rows = rows_of(conversion(columns=OWN).convert(kafka_records([record(f'"it":{value}') for value in VALUES])))
    return {list(VALUES)[offset]: row for offset, row in rows.items()}


@pytest.mark.parametrize("value", VALUES)
def test_a_column_takes_values_of_its_type_alone(value: str, typed: dict[str, dict[str, Any]]) -> None:
    values = {column.type: typed[value][column.name] for column in OWN}
    assert values == {**dict.fromkeys(TYPES), **VALUES[value]}


@pytest.mark.parametrize("column", OWN, ids=TYPES)
def test_doc_has_what_the_column_does_not_hold(column: ColumnConfig) -> None:
    docs = {}
    for value in VALUES:
        row = rows_of(conversion(columns=[column]).convert(kafka_records([record(f'"it":{value}')])))[0]
        docs[value] = None if row["doc"] is None else json.loads(row["doc"])
    taken = {value for value in VALUES if column.type in VALUES[value] and (column.type, value) not in OTHER_FORM}
    assert docs == {value: None if value in taken else {"http": {"it": json.loads(value)}} for value in VALUES}


def test_the_other_members_of_an_object_stay_in_doc() -> None:
    row = rows_of(conversion(columns=[NEEDED]).convert(kafka_records([record('"status":404,"took":1.50')])))[0]
    assert (row["status"], row["doc"]) == (404, '{"http":{"took":1.50}}')


@pytest.mark.parametrize(
    ("path", "kind", "value"),
    [
        ("message", "string", "m"),
        ("log.offset", "bigint", 7),
        ("tags", "array<string>", ["t"]),
        ("fields.env", "string", "prod"),
        ("host.name", "string", "web-1"),
        ("log.file.path", "string", "/a.log"),
        ("log.level", "string", "info"),
        ("stream", "string", "stdout"),
        ("log", "string", None),
        ("message.a", "string", None),
    ],
)
def test_a_column_is_taken_from_wherever_its_path_leads(path: str, kind: ColumnType, value: object) -> None:
    given = {
        "@timestamp": "2026-11-21T09:30:00Z",
        "message": "m",
        "tags": ["t"],
        "fields": {"env": "prod"},
        "host": {"name": "web-1"},
        "log": {"offset": 7, "level": "info", "file": {"path": "/a.log"}},
        "stream": "stdout",
    }
    columns = [ColumnConfig(name="own", path=path, type=kind)]
    row = rows_of(conversion(columns=columns).convert(kafka_records([json.dumps(given).encode()])))[0]
    assert row["own"] == value
    assert (row["message"], row["host"], row["path"]) == ("m", "web-1", "/a.log")
    assert json.loads(row["fields"]) == {"env": "prod"}


@pytest.mark.parametrize("http", REQUIRED)
def test_a_record_without_what_a_column_requires_is_bad(http: str) -> None:
    converted = conversion(columns=[NEEDED]).convert(kafka_records([record(http), record('"status":1')]))
    assert reasons_of(converted) == ({} if REQUIRED[http] is None else {0: REQUIRED[http]})
    assert rows_of(converted).keys() == ({0, 1} if REQUIRED[http] is None else {1})


def test_own_columns_stand_behind_those_of_every_table() -> None:
    (part,) = conversion(columns=[NEEDED, OWN[0]]).convert(kafka_records([record('"status":1')])).parts
    assert part.rows.schema.names == [*names(LINES), "status", "c_strin"]
