from typing import Any

import pytest

from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_fields import copied, merge
from log_shipper.shipper.processor.fields import MISSING, FieldError, find, path_of, remove, roots, store

NESTED = {"a": {"b": {"c": 1}, "n": None}, "d.e": 2, "f": {"g.h": 3}, "text": "x"}


@pytest.mark.parametrize(
    ("dotted", "value"),
    [
        ("a.b.c", 1),
        ("a.b", {"c": 1}),
        ("a.n", None),
        ("d.e", 2),
        ("f.g.h", 3),
        ("text", "x"),
        ("a.x", MISSING),
        ("d", MISSING),
        ("d.e.f", MISSING),
        ("text.x", MISSING),
        ("a.n.x", MISSING),
        ("", MISSING),
    ],
)
def test_a_field_is_found_by_its_path_also_where_a_key_holds_dots(dotted: str, value: Any) -> None:
    assert find(NESTED, path_of(dotted)) == value


def test_a_key_with_dots_is_found_beside_an_object_of_its_first_name() -> None:
    assert find({"a": {"x": 1}, "a.b": 2}, ("a", "b")) == 2


@pytest.mark.parametrize(
    ("before", "dotted", "after"),
    [
        ({}, "a", {"a": 9}),
        ({}, "a.b.c", {"a": {"b": {"c": 9}}}),
        ({"a": {"b": 1}}, "a.c", {"a": {"b": 1, "c": 9}}),
        ({"a": {"b": 1}}, "a.b", {"a": {"b": 9}}),
        ({"a": {"b": {"c": 1}}}, "a.b", {"a": {"b": 9}}),
        ({"a.b": 1}, "a.b", {"a.b": 9}),
        ({"a": {"b.c": 1}}, "a.b.c", {"a": {"b.c": 9}}),
    ],
)
def test_a_field_is_written_where_it_is_or_with_the_objects_above_it(before: Doc, dotted: str, after: Doc) -> None:
    store(before, path_of(dotted), 9)
    assert before == after


@pytest.mark.parametrize(("before", "dotted"), [({"a": 1}, "a.b"), ({"a": {"b": [1]}}, "a.b.c"), ({"a": None}, "a.b")])
def test_what_is_no_object_is_not_written_into(before: Doc, dotted: str) -> None:
    unchanged = copied(before)
    with pytest.raises(FieldError, match=f"{dotted} cannot be written"):
        store(before, path_of(dotted), 9)
    assert before == unchanged


@pytest.mark.parametrize(
    ("before", "dotted", "after"),
    [
        ({"a": {"b": 1, "c": 2}}, "a.b", {"a": {"c": 2}}),
        ({"a": {"b": 1}}, "a.b", {"a": {}}),
        ({"a.b": 1, "c": 2}, "a.b", {"c": 2}),
        ({"a": {"x": 1}, "a.b": 2}, "a.b", {"a": {"x": 1}}),
        ({"a": {"b": 1}}, "a.x", None),
        ({"a": 1}, "a.b", None),
        ({}, "a.b", None),
    ],
)
def test_a_field_is_removed_and_what_is_above_it_stays(before: Doc, dotted: str, after: Doc | None) -> None:
    unchanged = copied(before)
    assert remove(before, path_of(dotted)) is (after is not None)
    assert before == (unchanged if after is None else after)


def test_a_copy_has_containers_of_its_own() -> None:
    value: Doc = {"a": [{"b": 1}], "t": (1, 2)}
    copy = copied(value)
    copy["a"][0]["b"] = 2
    assert value["a"][0]["b"] == 1
    assert copy["t"] == [1, 2]


def test_objects_are_merged_and_what_is_none_is_replaced_or_kept() -> None:
    into = {"a": {"b": 1, "c": 2}, "d": 3}
    merge(into, {"a": {"b": 9, "e": 4}, "d": {"f": 5}}, overwrite=False)
    assert into == {"a": {"b": 1, "c": 2, "e": 4}, "d": 3}
    merge(into, {"a": {"b": 9}, "d": {"f": 5}})
    assert into == {"a": {"b": 9, "c": 2, "e": 4}, "d": {"f": 5}}


def test_the_file_is_a_root_of_its_own_because_all_events_share_it() -> None:
    paths = [path_of(name) for name in ("log.file.path", "log.offset", "a.b", "a.c")]
    assert roots(*paths) == {"log.file", "log", "a"}
