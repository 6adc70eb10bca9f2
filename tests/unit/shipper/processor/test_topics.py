"""Which topic an event has, by `topic` and `topics`."""

from typing import Any

import pytest

from log_shipper.shipper.event import DELETED, Doc, Topics
from log_shipper.shipper.options.conditions import ConditionConfig
from log_shipper.shipper.options.topics import TopicRuleConfig
from log_shipper.shipper.processor.formatting import Formatter
from log_shipper.shipper.processor.topics import NO_RULE, TopicChooser, TopicRule
from tests.processing import batch_of

STATIC: Doc = {"fields": {"team": "web", "level": 3, "on": True, "empty": "", "list": [1]}}


def topics(topic: str, *docs: Doc, rules: tuple[TopicRuleConfig, ...] = ()) -> Topics:
    return TopicChooser(topic, rules)(batch_of(docs or ({"message": "x"},), STATIC, time=1_772_715_849.0))


def rule(topic: str, **options: Any) -> TopicRuleConfig:
    return TopicRuleConfig(topic=topic, **options)


def equals(**values: Any) -> ConditionConfig:
    return ConditionConfig(equals=values)


def test_a_topic_without_fields_is_known_before_any_event() -> None:
    assert TopicChooser("logs").fixed == "logs"
    assert TopicChooser("logs-%{[fields.team]}").fixed is None
    assert TopicChooser("logs", [rule("errors")]).fixed is None
    assert TopicChooser("", [rule("errors")]).fixed == "errors"
    assert TopicChooser("", [rule("errors", when=equals(a=1))]).fixed is None
    assert TopicChooser("", [rule("errors", mappings={"errors": "other"})]).fixed is None


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("logs-%{[fields.team]}", "logs-web"),
        ("%{[fields][team]}.%{[fields.level]}", "web.3"),
        ("l%{[fields.level]}-%{[fields.on]}", "l3-true"),
        ("%{[fields.other]:rest}", "rest"),
        ("a%{[fields.empty]:rest}", "a"),
        ("logs-%{+yyyy.MM.dd}", "logs-2026.03.05"),
    ],
)
def test_what_all_events_of_a_file_share_gives_one_topic(topic: str, expected: str) -> None:
    assert topics(topic, {"message": "a"}, {"message": "b"}) == Topics(expected)


@pytest.mark.parametrize(
    ("topic", "reason"),
    [
        ("%{[fields.other]}", "the event has no field fields.other"),
        ("%{[fields.list]}", "'[1]' is not a valid topic name"),
        ("%{[fields.empty]}", "'' is not a valid topic name: use up to 249 letters"),
        ("%{[message]}", "'a b' is not a valid topic name"),
        ("..%{[fields.empty]}", "'..' is not a valid topic name"),
        ("x%{[message]:}", "'xa b' is not a valid topic name"),
    ],
)
def test_an_event_without_a_topic_has_the_reason(topic: str, reason: str) -> None:
    chosen = topics(topic, {"message": "a b"})
    assert (chosen.shared, chosen.of_each, list(chosen.refused)) == (None, [None], [0])
    assert chosen.refused[0].startswith(reason)
    assert chosen.topic_of(0) == ""


def test_events_with_fields_of_their_own_have_topics_of_their_own() -> None:
    docs: tuple[Doc, ...] = ({"app": "a"}, {"app": "b"}, {}, {"app": "a"}, {"app": DELETED})
    chosen = topics("logs-%{[app]}", *docs)
    assert chosen.of_each == ["logs-a", "logs-b", None, "logs-a", None]
    assert chosen.refused == dict.fromkeys((2, 4), "the event has no field app")
    assert [chosen.topic_of(index) for index in range(5)] == ["logs-a", "logs-b", "", "logs-a", ""]


def test_where_their_own_fields_give_the_same_topic_it_is_one() -> None:
    assert topics("logs-%{[app]}", {"app": "a"}, {"app": "a"}) == Topics("logs-a")


def test_a_field_of_an_event_shadows_that_of_its_file() -> None:
    assert topics("%{[fields.team]}", {"fields": {"team": "db"}}, {"message": "x"}).of_each == ["db", "web"]


def test_the_time_is_that_of_the_event() -> None:
    chosen = topics("%{+yyyy.MM}", {"@timestamp": "2025-12-31T23:30:00.5-01:00"}, {"message": "x"})
    assert chosen.of_each == ["2026.01", "2026.03"]


def test_the_first_rule_with_a_topic_is_taken_and_the_topic_for_the_others() -> None:
    rules = (
        rule("errors-%{[app]}", when=ConditionConfig(contains={"message": "ERROR"})),
        rule("%{[kind]}", mappings={"audit": "security", "access": "web"}),
    )
    docs: tuple[Doc, ...] = (
        {"message": "an ERROR", "app": "a"},
        {"message": "an ERROR", "kind": "audit"},  # the first rule gives it no text
        {"message": "ok", "kind": "access"},
        {"message": "ok", "kind": "other"},
        {"message": "ok"},
    )
    assert topics("logs", *docs, rules=rules).of_each == ["errors-a", "security", "web", "logs", "logs"]


def test_without_a_topic_for_the_others_they_have_none() -> None:
    only = rule("errors", when=equals(app="a"))
    chosen = topics("", {"app": "a"}, {"app": "b"}, rules=(only,))
    assert (chosen.of_each, chosen.refused) == (["errors", None], {1: NO_RULE})


@pytest.mark.parametrize(
    ("given", "expected"),
    [({"kind": "x"}, "a"), ({"kind": "y"}, "fallback"), ({}, "fallback")],
)
def test_a_rule_may_have_a_default(given: Doc, expected: str) -> None:
    with_default = rule("%{[kind]}", mappings={"x": "a"}, default="fallback")
    assert topics("logs", given, rules=(with_default,)) == Topics(expected)


def test_an_empty_mapping_leaves_the_event_to_the_next_rule() -> None:
    mapped = rule("%{[kind]}", mappings={"x": "", "y": "b"}, default="fallback")
    assert topics("logs", {"kind": "x"}, {"kind": "y"}, {"kind": "z"}, rules=(mapped,)).of_each == [
        "logs",
        "b",
        "fallback",
    ]


def test_what_all_events_share_is_evaluated_once_for_the_batch() -> None:
    class Counting(Formatter):
        calls = 0

        def text(self, events: Any, index: int) -> str:
            Counting.calls += 1
            return super().text(events, index)

    chooser = TopicChooser("%{[fields.team]}", [rule("x", when=equals(fields={"team": "db"}))])
    chooser._rules = [TopicRule(Counting("%{[fields.team]}"))]
    assert chooser(batch_of([{"message": "a", "own": 1}] * 100, STATIC)) == Topics("web")
    assert Counting.calls == 1


def test_a_condition_on_an_events_own_field_is_tested_for_each() -> None:
    rules = (rule("errors", when=equals(app="a")),)
    assert topics("logs", {"app": "a"}, {"app": "b"}, rules=rules).of_each == ["errors", "logs"]


def test_a_condition_of_several_is_of_all_their_fields() -> None:
    nested = ConditionConfig(all_of=(equals(fields={"team": "web"}), ConditionConfig(none_of=equals(app="b"))))
    assert topics("logs", {"app": "a"}, {"app": "b"}, rules=(rule("web", when=nested),)).of_each == ["web", "logs"]
