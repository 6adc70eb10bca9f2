"""What is typed into the box of the page: which lines it finds."""

import pyarrow as pa
import pytest

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.records.schema import LINES
from log_shipper.spark_sink.rows.schema import arrow_schema
from log_shipper.spark_sink.search.query import NUMBER, Query
from log_shipper.spark_sink.search.terms import Term, condition, expression, hosts, parse
from tests.unit.spark_sink.search.search_lab import COLUMNS, JUDGE, line

SCHEMA = arrow_schema(COLUMNS)
ROWS = {
    "a": line("GET /cart timeout after 5 s", doc='{"log":{"level":"error"},"took":12.5,"pod":"a"}', status=500),
    "b": line("Timeout of the pool", host="web-2", doc='{"log.level":"warn","took":"900"}', tags=["slow", "db"]),
    "c": line("login of o'brien 10:30", doc="{}", fields='{"env":"prod"}', status=200, partition=3),
    "d": line('say "hello" at http://shop', path="/srv/b.log", fields='{"env":"preview"}'),
    "e": line(None, host=None, path=None),
}
FINDS = {
    "": "abcde",
    "timeout": "ab",
    "Timeout": "b",
    "timeout pool": "b",
    '"timeout after"': "a",
    r'"say \"hello\""': "d",
    "5 s": "a",
    ".": "",
    "o'brien": "c",
    "10:30": "c",
    "http://shop": "d",
    "-timeout": "cde",
    '-"timeout after" timeout': "b",
    "host:web-1": "acd",
    "host:web-1 host:web-2": "abcd",
    "-host:web-1": "be",
    "-host:web-1 -host:web-2": "e",
    "host.name:web-2": "b",
    "host:*-2": "b",
    'host:"*-2"': "",
    "host:*": "abcd",
    "-host:*": "e",
    "path:/srv/*": "d",
    "log.file.path:/srv/b.log": "d",
    "log.level:error": "a",
    "level:error": "a",
    "level:warn": "b",
    "level:error level:warn": "ab",
    "-level:error": "bcde",
    "-level:*": "cde",
    "took:>12": "ab",
    "took:>12 took:<100": "a",
    "took:12.5": "a",
    "status:500": "a",
    "status:>=200 status:<500": "c",
    "-status:>=500": "bcde",
    "partition:3": "c",
    "tags:slow": "b",
    "-tags:slow": "acde",
    'tags:"[slow, db]"': "b",
    "tags:[slow]": "",
    "tags:sl*": "b",
    "tags:*b": "b",
    "tags:s*b": "",
    "-tags:*l*": "acde",
    "tags:*,*": "",
    "fields.env:prod": "c",
    "fields.env:pr*": "cd",
    "date:>=2026-11-22": "",
    "date:>=2026-11-21 path:/srv/b.log": "d",
    "host:>=web-2": "b",
    "timeout AND pool": "b",
    "AND": "",
    '"OR" timeout': "",
    "nothing:here": "",
    '"unclosed': "",
    "-": "",
    "host:": "",
}


def found(text: str) -> str:
    names, rows = list(ROWS), pa.Table.from_pylist(list(ROWS.values()), schema=SCHEMA)
    sql = condition(parse(text), SCHEMA)
    selection = JUDGE.selection(Query(where=sql), SCHEMA, limit=0)
    numbers = JUDGE.chosen(rows.append_column(NUMBER, pa.arange(0, len(names))), selection).column(NUMBER)
    return "".join(sorted(names[number] for number in numbers.to_pylist()))


@pytest.mark.parametrize(("text", "rows"), FINDS.items())
def test_terms_find_lines(text: str, rows: str) -> None:
    assert found(text) == rows


@pytest.mark.parametrize(
    ("value", "matches"),
    [
        ("*", True),
        ("prod-*", True),
        ("*-eu", True),
        ("*d-*", True),
        ('*"*', True),
        ('*"quoted"', True),
        ("a\\*", True),
        ("*, ]*", True),
        ("é*", True),
        ("prod", False),
        (",*", False),
        ("null*", False),
        ("*.eu", False),
        ("*prod*b*", False),
    ],
)
def test_a_value_with_wildcards_is_matched_by_one_element_of_a_list(value: str, matches: bool) -> None:
    tags = ["prod-eu", None, 'a "quoted"', "a\\b", "x,", "], ]", "été\nb"]
    rows = pa.Table.from_pylist([line("a", tags=tags)], schema=SCHEMA).append_column(NUMBER, pa.arange(0, 1))
    selection = JUDGE.selection(Query(where=condition([Term(value, "tags")], SCHEMA)), SCHEMA, limit=0)
    assert JUDGE.chosen(rows, selection).num_rows == matches


@pytest.mark.parametrize("text", ["' or true --", "host:' or '1'='1", "a\0b", "\\", "(?i)", "x:$since", '"%" _', "$1"])
def test_no_text_is_taken_for_sql(text: str) -> None:
    assert found(text) == ""


def test_a_field_that_the_table_cannot_have_is_an_error() -> None:
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("count", pa.int64())])
    with pytest.raises(SinkError, match="this table has no column 'host': its columns are ts, count"):
        condition(parse("host:web-1"), schema)


def test_or_between_terms_is_an_error_that_has_what_to_write() -> None:
    with pytest.raises(SinkError, match="OR is not supported: several values of one field match any of them"):
        parse("level:error OR level:warn")


@pytest.mark.parametrize("field", ["a'b", 'a"b', "a b", "", "a') OR ('"])
def test_a_name_that_no_field_has_is_an_error(field: str) -> None:
    with pytest.raises(SinkError, match="is not a valid field name: use letters"):
        expression(field, SCHEMA)


@pytest.mark.parametrize(
    ("text", "named"),
    [("host:a -host:b x", ("a",)), ("host:a host.name:b", ("a", "b")), ("host:a* host:b", ()), ("a", ())],
)
def test_hosts_are_named_for_the_statistics_of_files(text: str, named: tuple[str, ...]) -> None:
    assert hosts(parse(text)) == named


def test_the_condition_needs_no_more_columns_than_the_terms_have() -> None:
    sql = condition(parse("timeout host:web-1"), arrow_schema(LINES))
    assert JUDGE.columns("it", sql, SCHEMA) == {"message", "host"}
