"""What parser and processor share. reader/test_ndjson.py has the events that result."""

from typing import Any

import pytest

from log_shipper.shipper.formats.json_fields import (
    DEEPEST,
    ConflictError,
    NotJsonError,
    add_error,
    copied,
    expand,
    merge,
    parse,
    pop_text,
    validate_root,
    without_null,
)


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ('"x"', "x"),
        ("null", None),
        ('\ufeff\ufeff["x"]', ["x"]),
        ('"\\uD83D\\uDE00"', "\U0001f600"),
        ('"\\uD83Dx"', "\ufffdx"),
        ('["\\udc00\\ud800"]', ["\ufffd\ufffd"]),
        ('"\\\\ud800"', "\\ud800"),
    ],
)
def test_a_json_text_is_read(text: str, value: Any) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "zero-length"),
        ("{", "unexpected end of data"),
        ("\ufeff", "byte order mark"),
        ('["\\ud800"', "no low surrogate"),
        ('["\\ud800", Infinity]', "no low surrogate"),
        ('["\\ud800", ' + "1" * 5000 + "]", "no low surrogate"),
        (deep(DEEPEST + 1), f"nested deeper than {DEEPEST} levels"),
        (deep(100_000), "depth limit exceeded"),
        ('["\\ud800",' + deep(100_000) + "]", "no low surrogate"),
    ],
)
def test_a_text_that_is_no_json_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(NotJsonError, match=why):
        parse(text)


@pytest.mark.parametrize("text", [deep(DEEPEST), "[" + ",".join(["{}"] * 1000) + "]", f'"{deep(1000)}"'])
def test_many_brackets_are_not_many_levels(text: str) -> None:
    parse(text)


def test_null_goes_out_of_objects_and_stays_in_lists() -> None:
    fields = {"a": None, "b": {"c": None, "d": 0}, "e": [None, {"f": None}, [{"g": None}]], "h": ""}
    assert without_null(fields) == {"b": {"d": 0}, "e": [None, {}, [{}]], "h": ""}


@pytest.mark.parametrize(
    ("fields", "expanded"),
    [
        ({"a": {"b.c": 1}, "a.b.d": 2}, {"a": {"b": {"c": 1, "d": 2}}}),
        ({"a.b": {"c": {"d": 1}}, "a": {"b.c": {"e": 2}}}, {"a": {"b": {"c": {"d": 1, "e": 2}}}}),
        ({"a": [{"b.c": 1}]}, {"a": [{"b.c": 1}]}),
        ({".": 1}, {"": {"": 1}}),
        ({}, {}),
    ],
)
def test_dotted_names_become_objects(fields: dict[str, Any], expanded: dict[str, Any]) -> None:
    assert expand(fields) == expanded


@pytest.mark.parametrize(
    "fields",
    [
        {"a": 1, "a.b": 2},
        {"a.b": 1, "a.b.c": 2},
        {"a": {"b": 1}, "a.b": 2},
        {"a.b": {"c": 1}, "a": {"b": {"c": 2}}},
        {"a" + ".a" * DEEPEST: 1},
        {"a" + ".a" * 150: {"a" + ".a" * 50: 1}},
    ],
)
def test_names_that_are_in_each_others_way_are_not_expanded(fields: dict[str, Any]) -> None:
    before = copied(fields)
    with pytest.raises(ConflictError, match="cannot expand 'a"):
        expand(fields)
    assert fields == before


def test_without_overwriting_time_and_metadata_are_taken_out() -> None:
    fields = {"@timestamp": "x", "@metadata": {}, "type": 5, "a": 1}
    assert validate_root(fields, overwrite=False) == []
    assert fields == {"type": 5, "a": 1}


def test_with_overwriting_only_what_is_valid_stays() -> None:
    fields = {"@timestamp": "2026-11-21T10:30:00+0100", "@metadata": 5, "type": "_x", "a": 1}
    assert validate_root(fields, overwrite=True) == [
        "failed to update @metadata",
        "type not overwritten (invalid value [_x])",
    ]
    aside = {"@metadata": 5, "type": "_x"}
    assert fields == {"@timestamp": "2026-11-21T09:30:00.000Z", "a": 1, "json": aside}


@pytest.mark.parametrize(
    ("overwrite", "merged"),
    [(True, {"a": {"b": 2, "c": 3}, "d": {"e": 4}, "f": 5}), (False, {"a": {"b": 1, "c": 3}, "d": 0, "f": {}})],
)
def test_objects_are_merged_member_by_member(overwrite: bool, merged: dict[str, Any]) -> None:
    into: dict[str, Any] = {"a": {"b": 1}, "d": 0, "f": {}}
    merge(into, {"a": {"b": 2, "c": 3}, "d": {"e": 4}, "f": 5}, overwrite=overwrite)
    assert into == merged


@pytest.mark.parametrize(
    ("path", "taken", "rest"),
    [
        ("a", "x", {"b": {"c": "y", "n": 1}, "b.d": "z"}),
        ("b.c", "y", {"a": "x", "b": {"n": 1}, "b.d": "z"}),
        ("b.d", "z", {"a": "x", "b": {"c": "y", "n": 1}}),
    ],
)
def test_a_text_is_taken_by_its_key_or_its_path(path: str, taken: str, rest: dict[str, Any]) -> None:
    fields = {"a": "x", "b": {"c": "y", "n": 1}, "b.d": "z"}
    assert pop_text(fields, path) == taken
    assert fields == rest


@pytest.mark.parametrize("path", ["b", "b.n", "b.x", "a.x", "x", "x.y"])
def test_what_is_no_text_is_not_taken(path: str) -> None:
    fields = {"a": "x", "b": {"n": 1}}
    assert pop_text(fields, path) is None
    assert fields == {"a": "x", "b": {"n": 1}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"message": "wrong"}),
        ({"error": "boom"}, {"message": "boom; wrong"}),
        ({"error": {"code": 5}}, {"code": 5, "message": "wrong"}),
        ({"error": {"message": "boom", "type": "x"}}, {"message": "boom; wrong"}),
    ],
)
def test_an_error_is_added_to_earlier_errors(before: dict[str, Any], after: dict[str, Any]) -> None:
    add_error(before, "wrong")
    assert before == {"error": after | {"type": "json"}}
