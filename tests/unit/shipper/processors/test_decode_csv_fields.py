"""decode_csv_fields: records of comma-separated values, as Go's reader takes them with lazy quotes."""

import time

import pytest

from log_shipper.shipper.event import Doc
from log_shipper.shipper.processors.decode_csv_fields import record
from tests.processing import processed


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a,b,c", ["a", "b", "c"]),
        ("a", ["a"]),
        (",", ["", ""]),
        ("a,,", ["a", "", ""]),
        (" a, b ", [" a", " b "]),
        ('"a,b",c', ["a,b", "c"]),
        ('"a""b",c', ['a"b', "c"]),
        ('a"b,c', ['a"b', "c"]),
        ('"a"b,c', ['a"b,c']),
        ('"a" ,b",c', ['a" ,b', "c"]),
        ('"a\nb",c', ["a\nb", "c"]),
        ('"a\r\nb",c\r\nd', ["a\nb", "c"]),
        ('"a', ["a"]),
        ('a,"b', ["a", "b"]),
        ('a,"', ["a", ""]),
        ('"",x', ["", "x"]),
        ('""', [""]),
        ("a,b\nc,d", ["a", "b"]),
        ('a,"b"\nc,d', ["a", "b"]),
        ('"a\nb","c\nd",e\nf', ["a\nb", "c\nd", "e"]),
        ("\n\r\na,b", ["a", "b"]),
        ("ä,ö", ["ä", "ö"]),
        (' "a",b', [' "a"', "b"]),
    ],
)
def test_the_values_of_a_record(text: str, values: list[str]) -> None:
    assert record(text, ",") == values


@pytest.mark.parametrize(
    ("text", "values"),
    [(' a,  b,\t"c,d"', ["a", "b", "c,d"]), ("a,  ", ["a", ""]), ("  \nb", [""]), ('"a" , b', ['a" , b'])],
)
def test_blanks_before_values_can_be_taken_off(text: str, values: list[str]) -> None:
    assert record(text, ",", trim=True) == values


def test_the_separator_can_be_a_blank_that_is_taken_off_as_well() -> None:
    assert record("a  b", " ", trim=True) == ["a", "b"]
    assert record("a\tb", "\t") == ["a", "b"]


@pytest.mark.parametrize("text", ["", "\n", "\r\n\n"])
def test_where_there_is_no_record_there_are_no_values(text: str) -> None:
    assert record(text, ",") is None


def test_each_field_goes_where_it_is_sent() -> None:
    chain = "- decode_csv_fields: {fields: {message: csv.line, a.b: a.b}, separator: ;, overwrite_keys: true}"
    (event,) = processed(chain, {"message": "1;2", "a": {"b": "3"}, "csv": {"line": "x"}})
    assert event == {"message": "1;2", "csv": {"line": ["1", "2"]}, "a": {"b": ["3"]}}


@pytest.mark.parametrize(
    ("options", "doc", "words"),
    [
        ("", {}, "field a is missing"),
        (", ignore_missing: true", {}, None),
        (", fail_on_error: false", {}, None),
        ("", {"a": 7}, "is not a string"),
        ("", {"a": ""}, "contains no record"),
        ("", {"a": "1,2", "b": "before"}, "b already exists"),
        (", fail_on_error: false", {"a": "1,2", "b": "before"}, None),
    ],
)
def test_errors_are_reported_as_configured(options: str, doc: Doc, words: str | None) -> None:
    (event,) = processed(f"- decode_csv_fields: {{fields: {{a: b}}{options}}}", {"message": "x", **doc})
    assert words in event.pop("error")["message"] if words else "error" not in event
    assert event == {"message": "x", **doc}


def test_after_an_error_all_fields_are_unchanged_by_default() -> None:
    doc = {"message": "1,2", "x": "3,4"}
    for option, left in (("true", doc), ("false", {"message": "1,2", "x": ["3", "4"]})):
        chain = f"- decode_csv_fields: {{fields: {{x: x, none: y}}, fail_on_error: {option}}}"
        (event,) = processed(chain, doc)
        assert ("error" in event) == (option == "true")
        event.pop("error", None)
        assert event == left


@pytest.mark.parametrize(
    "text",
    [
        "abcdefghi," * 1_000_000,
        '"' + "a,b\n" * 2_500_000,
        '"' * 2_000_000,
        '"a",' * 500_000,
        '"a\n",' * 300_000,
        "," * 500_000 + '"',
        '"a"b' * 500_000,
        ' "' * 500_000,
        " " * 2_000_000 + '"',
    ],
)
def test_long_lines_take_linear_time(text: str) -> None:
    begun = time.process_time()
    record(text, ",", trim=True)
    assert time.process_time() - begun < 4
