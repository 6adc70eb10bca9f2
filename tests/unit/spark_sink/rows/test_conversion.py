"""What a run of records becomes."""

import pickle
from datetime import UTC, date, datetime

import pytest

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.records.schema import BAD_RECORDS, LINES, names
from log_shipper.spark_sink.rows.batches import FileSummary
from tests.unit.spark_sink.rows.converting import (
    KAFKA_TIME,
    NOW,
    conversion,
    kafka_records,
    reasons_of,
    rows_of,
)


def record(offset: int = 0, day: int = 21, file: str = "f", more: str = "") -> bytes:
    return (
        f'{{"@timestamp":"2026-11-{day}T09:30:00.123Z","message":"m","log":{{"offset":{offset},"length":10,'
        f'"file":{{"path":"/a.log","id":"{file}"}}}},"host":{{"name":"web-1"}}{more}}}'
    ).encode()


def test_rows_and_dead_letters_have_the_columns_of_their_tables() -> None:
    converted = conversion().convert(kafka_records([record(), b"no JSON"]))
    assert converted.parts[0].rows.column_names == names(LINES)
    assert converted.bad.column_names == names(BAD_RECORDS)


def test_a_row_has_its_place_in_kafka() -> None:
    row = rows_of(conversion().convert(kafka_records([b"bad", record()])))[1]
    assert (row["topic"], row["partition"], row["kafka_offset"], row["kafka_ts"]) == ("logs", 2, 1, KAFKA_TIME)


def test_a_dead_letter_has_its_bytes_its_place_and_its_headers() -> None:
    headers = [None, [("source", b"web"), ("empty", None)]]
    (row,) = conversion().convert(kafka_records([record(), b"\xff"], headers)).bad.to_pylist()
    assert (row["reason"], row["key"], row["value"], row["at"]) == ("not UTF-8", b"1", b"\xff", NOW)
    assert (row["topic"], row["partition"], row["kafka_offset"], row["kafka_ts"]) == ("logs", 2, 1, KAFKA_TIME)
    assert row["headers"] == [{"key": "source", "value": b"web"}, {"key": "empty", "value": None}]
    assert row["last_offset"] is None


def test_a_record_without_a_value_or_headers_is_a_dead_letter() -> None:
    (row,) = conversion().convert(kafka_records([None])).bad.to_pylist()
    assert (row["reason"], row["value"], row["headers"]) == ("no value", None, None)


def test_rows_of_several_dates_are_one_part() -> None:
    (part,) = conversion().convert(kafka_records([record(day=21), record(10, day=20)])).parts
    assert part.rows.num_rows == 2


def test_the_day_of_a_time_before_1970_is_the_one_that_it_lies_in() -> None:
    value = b'{"@timestamp":"1969-12-31T23:59:59.999Z"}'
    row = rows_of(conversion().convert(kafka_records([value])))[0]
    assert (row["ts"], row["date"]) == (datetime(1969, 12, 31, 23, 59, 59, 999000, UTC), date(1969, 12, 31))


def test_each_table_has_its_rows_in_their_order() -> None:
    services = ["shop", "web", "shop"]
    values = [record(number, more=f',"fields":{{"service":"{name}"}}') for number, name in enumerate(services)]
    converted = conversion("/data/%{[fields.service]}").convert(kafka_records(values))
    assert {part.table: part.rows["offset"].to_pylist() for part in converted.parts} == {
        "/data/shop": [0, 2],
        "/data/web": [1],
    }
    assert {path: [file.placed for file in files] for path, files in converted.files.items()} == {
        "/data/shop": [2],
        "/data/web": [1],
    }


def test_more_tables_than_there_may_be_are_refused() -> None:
    values = [record(number, more=f',"fields":{{"service":"{number}"}}') for number in range(3)]
    with pytest.raises(SinkError, match=r"table.max_tables \(2\) tables, /data/0 among them"):
        conversion("/data/%{[fields.service]}", max_tables=2).convert(kafka_records(values))


def test_the_files_of_a_run_are_summarised() -> None:
    values = [record(30), record(10, day=20), record(10), record(5, file="g"), b'{"@timestamp":"2026-11-21T00:00:00Z"}']
    files = conversion().convert(kafka_records(values)).files["/data/lines"]
    assert sorted(files, key=lambda file: file.file_id) == [
        FileSummary("web-1", "f", 3, 2, 10, 30, date(2026, 11, 20), date(2026, 11, 21)),
        FileSummary("web-1", "g", 1, 1, 5, 5, date(2026, 11, 21), date(2026, 11, 21)),
    ]


def test_two_summaries_of_a_file_that_overlap_may_have_an_offset_twice() -> None:
    day = date(2026, 11, 21)
    first = FileSummary("h", "f", 2, 2, 0, 10, day, day)
    assert first.merged(first._replace(lowest=11, highest=30)).distinct == 4
    overlapping = first.merged(first._replace(lowest=10, highest=30, first=date(2026, 11, 20)))
    assert overlapping == FileSummary("h", "f", 4, 3, 0, 30, date(2026, 11, 20), day)


def test_no_records_make_no_parts() -> None:
    converted = conversion().convert(kafka_records([]))
    assert (converted.parts, converted.bad.num_rows, converted.files) == ([], 0, {})


def test_all_bad_records_make_no_parts() -> None:
    converted = conversion("/data/%{[fields.service]}").convert(kafka_records([b"a", b"b"]))
    assert (converted.parts, reasons_of(converted)) == ([], {0: "not JSON", 1: "not JSON"})


def test_what_is_converted_can_be_sent_to_another_process() -> None:
    converted = conversion().convert(kafka_records([record(), b"bad"]))
    sent = pickle.loads(pickle.dumps(converted))
    assert rows_of(sent) == rows_of(converted)
    assert (reasons_of(sent), sent.files) == (reasons_of(converted), converted.files)
