import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from log_shipper.spark_sink.storage.file_statistics import lower_bound, statistics, upper_bound

TIME = pa.timestamp("us", "UTC")
LAST_CHARACTER = "\U0010ffff"


def statistics_of(rows: dict[str, Any], schema: pa.Schema, **options: Any) -> dict[str, Any]:
    sink = io.BytesIO()
    parquet.write_table(pa.table(rows, schema=schema), sink, **options)
    text = statistics(parquet.read_metadata(sink), schema)
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def test_minimum_maximum_and_nulls_are_of_all_row_groups() -> None:
    schema = pa.schema([("n", pa.int64()), ("host", pa.string())])
    result = statistics_of({"n": [5, 3, None, 9], "host": ["b", "a", None, None]}, schema, row_group_size=1)
    assert result == {
        "numRecords": 4,
        "minValues": {"n": 3, "host": "a"},
        "maxValues": {"n": 9, "host": "b"},
        "nullCount": {"n": 1, "host": 2},
    }


def test_a_column_of_nulls_has_their_number_and_no_bounds() -> None:
    result = statistics_of({"n": [None, None]}, pa.schema([("n", pa.int64())]))
    assert result == {"numRecords": 2, "minValues": {}, "maxValues": {}, "nullCount": {"n": 2}}


def test_only_columns_that_parquet_has_statistics_of_have_some() -> None:
    schema = pa.schema([("n", pa.int64()), ("message", pa.string())])
    result = statistics_of({"n": [1], "message": ["x"]}, schema, write_statistics=["n"])
    assert (result["minValues"], result["nullCount"]) == ({"n": 1}, {"n": 0})


def test_an_empty_file_has_no_rows_and_nothing_else() -> None:
    result = statistics_of({"n": []}, pa.schema([("n", pa.int64())]))
    assert (result["numRecords"], result["minValues"]) == (0, {})


@pytest.mark.parametrize("kind", [pa.float64(), pa.bool_(), pa.binary()])
def test_some_types_have_no_bounds(kind: pa.DataType) -> None:
    values = {pa.float64(): [1.0, float("nan")], pa.bool_(): [True, False], pa.binary(): [b"a", b"b"]}[kind]
    result = statistics_of({"x": values}, pa.schema([("x", kind)]))
    assert (result["minValues"], result["maxValues"], result["nullCount"]) == ({}, {}, {"x": 0})


def test_members_of_lists_have_no_statistics() -> None:
    result = statistics_of({"tags": [["a"], None]}, pa.schema([("tags", pa.list_(pa.string()))]))
    assert result["nullCount"] == {}


def microseconds(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("moment", "low", "high"),
    [
        (datetime(2026, 11, 21, 9, 30, 0, 123456, UTC), "2026-11-21T09:30:00.123Z", "2026-11-21T09:30:00.124Z"),
        (datetime(2026, 11, 21, 9, 30, 0, 123000, UTC), "2026-11-21T09:30:00.123Z", "2026-11-21T09:30:00.123Z"),
        (datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000Z", "0001-01-01T00:00:00.000Z"),
    ],
)
def test_bounds_of_times_are_rounded_outwards_to_milliseconds(moment: datetime, low: str, high: str) -> None:
    value = microseconds(moment)
    assert (lower_bound(value, TIME), upper_bound(value, TIME)) == (low, high)


def test_times_that_the_log_has_no_form_for_have_no_bounds() -> None:
    before, last = microseconds(datetime(1, 1, 1, tzinfo=UTC)) - 1, microseconds(datetime.max.replace(tzinfo=UTC))
    assert lower_bound(before, TIME) is None
    assert (lower_bound(last, TIME), upper_bound(last, TIME)) == ("9999-12-31T23:59:59.999Z", None)
    rows = pa.array([before, last], pa.int64()).cast(TIME)
    assert statistics_of({"ts": rows}, pa.schema([("ts", TIME)]))["minValues"] == {}


@pytest.mark.parametrize(
    "text",
    [
        "x" * 32,
        "x" * 33,
        "ä" * 40,
        "x" * 32 + LAST_CHARACTER * 2 + "y",
        "x" * 32 + LAST_CHARACTER,
        "x" * 30 + LAST_CHARACTER * 5 + "\x7f",
    ],
)
def test_long_texts_are_cut_and_the_bounds_still_include_them(text: str) -> None:
    low, high = lower_bound(text, pa.string()), upper_bound(text, pa.string())
    assert isinstance(low, str)
    assert isinstance(high, str)
    assert low.encode() <= text.encode() <= high.encode()
    assert len(low) <= 32
    assert len(high) <= max(33, text.count(LAST_CHARACTER) + 33)
