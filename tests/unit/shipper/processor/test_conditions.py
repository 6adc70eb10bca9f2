"""Conditions: which events of a batch meet them."""

import re
from collections.abc import Sequence
from typing import Any

import pytest

from log_shipper.shipper.event import DELETED, Doc
from log_shipper.shipper.processor.conditions import build
from log_shipper.shipper.processor.events import Events
from log_shipper.shipper.processors.drop_event import DropEventConfig
from tests.processing import batch_of, section


def events_of(*docs: Doc, static: Doc | None = None) -> Events:
    return Events(batch_of(docs, static))


def meeting(condition: str, events: Events, at: Sequence[int] | None = None) -> list[int]:
    (config,) = section(f"- drop_event:\n    when:\n      {condition}").processors
    assert isinstance(config, DropEventConfig)
    assert config.when is not None
    return list(build(config.when).select(events, range(len(events.texts)) if at is None else at))


EQUALS = [
    ("{a: text}", ["text"], ["Text", "", None, ["text"], {"text": 1}]),
    ("{a: 200}", [200, "200"], [200.0, True, 201, None, "0200", " 200", [200]]),
    ("{a: 1}", [1, "1"], [True, 1.0]),
    ("{a: '200'}", ["200", 200], [201]),
    ("{a: 'True'}", ["True"], [True]),
    ("{a: true}", [True], [1, "true", False]),
    ("{a: -1}", [-1], [1]),
]
CONTAINS = [
    ("{a: rr}", ["error", "rr", ["x", "warring"]], ["r", ["x"], 5, None, {"rr": 1}, [5, None], []]),
    ("{a: ''}", ["", "x", ["x"], 5], [[], None, True]),
    ("{a: '40'}", [404, "404", 0.401, [500, 401]], [14, -4.0]),
]
REGEXP = [
    ("{a: '^4[0-9]{2}$'}", ["404", ["500", "404"], 404], ["4040", 4040, None, ["5"], ""]),
    ("{a: 'é+'}", ["caféé"], ["cafe"]),
]
RANGE = [
    (
        "{a.gte: 400, a.lt: 500}",
        [400, 499.9, "450", "4e2"],
        [399, 500, "399", None, True, [450], "", "x", "4_50", " 450", "NaN"],
    ),
    ("{a: {gt: 1.5, lte: 2}}", [1.6, 2], [1.5, 2.1]),
    ("{a.gt: '3'}", [4, "4", 10**400], [3, "3", -(10**400)]),
    ("{a.lt: 5}", [0], [True, False]),
    ("{a.lt: -1e3}", [-1001], [-1000]),
]
NETWORK = [
    ("{a: 192.0.2.0/24}", ["192.0.2.1", ["10.0.0.1", "192.0.2.9"], "::ffff:192.0.2.1"], ["192.0.3.1", "x", "", 5, []]),
    ("{a: 192.0.2.77/24}", ["192.0.2.1"], ["192.0.3.1"]),
    ("{a: '2001:db8::/32'}", ["2001:db8::1"], ["2001:db9::1", "192.0.2.1"]),
    ("{a: [loopback, 10.0.0.0/8]}", ["127.1.2.3", "::1", "10.9.9.9"], ["11.0.0.1", "fe80::1%eth0"]),
    ("{a: private}", ["10.0.0.1", "172.31.0.1", "192.168.3.4", "fd00::1"], ["172.32.0.1", "fc00::1", "127.0.0.1"]),
    (
        "{a: public}",
        ["8.8.8.8", "100.64.0.1", "2001:db8::1"],
        ["10.0.0.1", "127.0.0.1", "0.0.0.0", "255.255.255.255", "169.254.1.1", "224.0.0.9", "ff01::1", "ff02::1", "x"],
    ),
    ("{a: unicast}", ["8.8.8.8", "10.0.0.1"], ["127.0.0.1", "224.0.0.1", "255.255.255.255", "0.0.0.0", "fe80::1"]),
    ("{a: global_unicast}", ["2001:db8::1"], ["::1", "::"]),
    ("{a: link_local_unicast}", ["169.254.9.9", "fe80::1"], ["8.8.8.8"]),
    ("{a: link_local_multicast}", ["224.0.0.5", "ff02::1", "ff12::1"], ["224.0.1.5", "ff01::1"]),
    ("{a: interface_local_multicast}", ["ff01::1"], ["ff02::1", "224.0.0.5"]),
    ("{a: multicast}", ["239.1.1.1", "ff0e::1"], ["8.8.8.8"]),
    ("{a: unspecified}", ["0.0.0.0", "::"], ["0.0.0.1"]),
]
CASES = [
    (f"{kind}: {condition}", yes, no)
    for kind, cases in (
        ("equals", EQUALS),
        ("contains", CONTAINS),
        ("regexp", REGEXP),
        ("range", RANGE),
        ("network", NETWORK),
    )
    for condition, yes, no in cases
]


@pytest.mark.parametrize(("condition", "yes", "no"), CASES)
def test_events_with_one_of_these_values_meet_it_and_no_others(condition: str, yes: list[Any], no: list[Any]) -> None:
    events = events_of(*({"a": value} for value in [*yes, *no]), {})
    assert meeting(condition, events) == list(range(len(yes)))


@pytest.mark.parametrize(("condition", "yes", "no"), CASES)
def test_the_same_holds_for_a_field_that_the_file_has(condition: str, yes: list[Any], no: list[Any]) -> None:
    for number, value in enumerate([*yes, *no]):
        events = events_of({"message": "x"}, {"message": "y"}, static={"a": value})
        assert meeting(condition, events) == ([0, 1] if number < len(yes) else [])


@pytest.mark.parametrize(("condition", "yes", "no"), CASES)
def test_the_same_holds_for_the_message(condition: str, yes: list[Any], no: list[Any]) -> None:
    events = events_of(*({"message": value} for value in [*yes, *no]), {"other": 1})
    assert meeting(re.sub(r"\ba(?=[.:])", "message", condition), events) == list(range(len(yes)))


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ("contains.message: two", [1]),
        ("equals.message: one", [0]),
        ("regexp.message: '^t'", [1, 2]),
        ("has_fields: [message]", [0, 1, 2]),
        ("not.contains.message: two", [0, 2]),
        ("range.message.gt: 1", []),
    ],
)
def test_texts_alone_are_asked_as_a_column(condition: str, met: list[int]) -> None:
    events = events_of({"message": "one"}, {"message": "two"}, {"message": "three"})
    assert meeting(condition, events) == met
    assert meeting(condition, events, at=[1, 2]) == [index for index in met if index > 0]
    assert events.messages.docs is None


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ("has_fields: [a]", [0, 1, 2]),
        ("has_fields: [a, b]", [1]),
        ("has_fields: [b.c]", [1]),
        ("has_fields: [log.offset, host.name, '@timestamp']", [0, 1, 2, 3]),
        ("has_fields: [log.flags]", []),
        ("equals: {a: 1, b.c: 2}", [1]),
        ("and: [{equals.a: 1}, {has_fields: b}]", [1]),
        ("or: [{equals.a: 2}, {has_fields: b}, {equals.a: 2}]", [1, 2]),
        ("not.has_fields: [b]", [0, 2, 3]),
        ("not: {or: [{equals.a: 2}, {equals.a: 1}]}", [3]),
        ("and: [{not.equals.a: 2}, {not.has_fields: b}]", [0, 3]),
        ("equals.log.file.id: f1", [0, 1, 2, 3]),
        ("equals.log.file.id: f2", []),
        ("equals.log.offset: 0", [0]),
        ("equals.tags: gone", []),
    ],
)
def test_conditions_are_joined(condition: str, met: list[int]) -> None:
    events = events_of({"a": 1, "message": "x"}, {"a": 1, "b": {"c": 2}}, {"a": 2}, {"tags": DELETED})
    assert meeting(condition, events) == met


def test_an_event_that_has_the_field_itself_is_asked_itself() -> None:
    events = events_of({"env": "dev"}, {"x": 1}, {"env": DELETED}, static={"env": "prod"})
    assert meeting("equals.env: prod", events) == [1]
    assert meeting("has_fields: [env]", events) == [0, 1]
    assert meeting("equals.env: prod", events, at=[]) == []
