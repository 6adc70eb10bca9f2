"""lowercase and uppercase. Each case holds for members of the event itself, and for those that its file has."""

import pytest

from log_shipper.shipper.event import Doc
from tests.processing import processed

CASES: list[tuple[str, Doc, Doc]] = [
    ("lowercase: {fields: [a.b]}", {"A": {"B": 1, "C": 2}}, {"a": {"b": 1, "C": 2}}),
    ("lowercase: {fields: [A.b], alter_full_field: false}", {"A": {"B": 1}}, {"A": {"b": 1}}),
    ("uppercase: {fields: [a.B]}", {"a": {"b": [1]}}, {"A": {"B": [1]}}),
    ("uppercase: {fields: [a], values: [A]}", {"a": "straße"}, {"A": "STRASSE"}),
    ("lowercase: {fields: [x, a], ignore_missing: true}", {"A": 1}, {"a": 1}),
    ("lowercase: {fields: [x, a], fail_on_error: false}", {"A": 1}, {"a": 1}),
    ("lowercase: {fields: [A.b.c], ignore_missing: true}", {"A": {"b": "text"}}, {"A": {"b": "text"}}),
    ("lowercase: {values: [a.b]}", {"a": {"b": "ÄX"}}, {"a": {"b": "äx"}}),
    ("lowercase: {values: [A], ignore_missing: true}", {"a": "X"}, {"a": "X"}),
]
FAILURES = [
    ("lowercase: {fields: [a, x]}", {"A": 1}, "field x is missing"),
    ("lowercase: {fields: [b.A]}", {"b": {"a": 1, "A": 2}}, "b.A is ambiguous: there are A, a"),
    ("lowercase: {fields: [HOST]}", {"Host": 1}, "HOST is ambiguous: there are Host, host"),
    ("uppercase: {fields: [a], values: [b]}", {"a": "x", "b": 1}, "field b is not a string"),
    ("uppercase: {values: [a, b]}", {"a": "x"}, "field b is missing"),
]


def both_ways(config: str, before: Doc) -> list[Doc]:
    """Return the event with these members of its own, and with the same as members of its file."""
    (own,) = processed(f"- {config}", {"message": "x", **before})
    (shared,) = processed(f"- {config}", {"message": "x"}, static=before)
    return [own, shared]


@pytest.mark.parametrize(("config", "before", "after"), CASES)
def test_names_and_texts_change_their_case(config: str, before: Doc, after: Doc) -> None:
    assert both_ways(config, before) == [{"message": "x", **after}] * 2


@pytest.mark.parametrize(("config", "before", "message"), FAILURES)
def test_an_error_leaves_the_event_as_it_was(config: str, before: Doc, message: str) -> None:
    error = {"message": message, "type": config.partition(":")[0]}
    assert both_ways(config, before) == [{"message": "x", **before, "error": error}] * 2


def test_the_name_of_the_message_may_change() -> None:
    assert processed("- uppercase: {fields: [message]}", {"message": "x"}) == [{"MESSAGE": "x"}]


def test_another_event_of_the_file_keeps_its_names() -> None:
    branch = "- if.contains.message: x\n  then:\n    - lowercase: {fields: [fields.env]}"
    changed, other = processed(branch, {"message": "x"}, {"message": "y"}, static={"fields": {"ENV": 1}})
    assert changed == {"message": "x", "fields": {"env": 1}}
    assert other == {"message": "y", "fields": {"ENV": 1}}
