"""grok: texts taken apart by regular expressions that are made of named patterns."""

import json
import time
from typing import Any

import pytest

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.shipper.event import Doc
from tests.processing import batch_of, chain_of, processed, records, section


def matched(patterns: list[str], text: str, *options: str, **members: Any) -> Doc:
    lines = "".join(f"\n    {option}" for option in options)
    (record,) = processed(f"- grok:\n    patterns: {json.dumps(patterns)}{lines}", {"message": text, **members})
    return record


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("%{WORD:a} %{NUMBER:b}", "say x 12.5 to", {"a": "x", "b": "12.5"}),
        ("%{WORD:a.b} %{WORD:[a][c]}", "1 2", {"a": {"b": "1", "c": "2"}}),
        ("%{INT:a:int} %{NUMBER:b:float} %{WORD:c:boolean}", "3 0.5 true", {"a": 3, "b": 0.5, "c": True}),
        ("%{NUMBER:a:int}", "1.5", {"a": "1.5"}),
        (r"(?<a>\d+)-(?P<b>\w+)", "12-x", {"a": "12", "b": "x"}),
        (r"(\d+)-(?:x)-%{WORD:a}", "12-x-y", {"a": "y"}),
        (r"%{WORD:a}(?: %{WORD:b})?!", "x!", {"a": "x"}),
        (r"%{WORD:a}(?: %{WORD:deep.er.b})?!", "x!", {"a": "x"}),
        (r"%{WORD:a.x}(?: %{WORD:a.b.c})?!", "x!", {"a": {"x": "x"}}),
        (r"(?:%{INT:a.b.c},%{INT:a.b.d} )?%{WORD:x}", "x", {"x": "x"}),
        (r"%{WORD:a.b.c} %{INT:a.b.d}", "x 1", {"a": {"b": {"c": "x", "d": "1"}}}),
        (r"%{WORD:host} %{INT:n}", "x 1", {"host": "x", "n": "1"}),
        (r"(?:a=%{INT:n}|b=%{INT:n})", "b=2", {"n": "2"}),
        (r"%{INT:n},%{INT:n},?%{INT:n}?", "1,2", {"n": ["1", "2"]}),
        (r"[(%{WORD}]%{WORD:a}\(%{WORD:b}\)", "(x(y)", {"a": "x", "b": "y"}),
        (r"[[:alpha:]()]+%{INT:a}", "a(b)7", {"a": "7"}),
        (r"(?>\w+) %{GREEDYDATA:a}", "x y z", {"a": "y z"}),
        (r"\Q(%{WORD-\E%{WORD:a}", "(%{WORD-x", {"a": "x"}),
        (r"%{WORD:a} \Q(b)", "x (b)", {"a": "x"}),
        ("%{DATA:a}ß%{GREEDYDATA:b}", "äßö", {"a": "ä", "b": "ö"}),
        ("%{WORD:a}", "ä x", {"a": "x"}),
        ("(?s)%{WORD:a}%{GREEDYDATA:b}", "x\ny", {"a": "x", "b": "\ny"}),
        ("%{WORD}", "x", {}),
    ],
)
def test_fields_come_from_the_named_parts(pattern: str, text: str, found: Doc) -> None:
    batch = batch_of([{"message": text}])
    chain_of(f"- grok: {{patterns: [{json.dumps(pattern)}]}}")(batch)
    assert batch.messages.texts == [text]
    assert (batch.messages.docs or [{}]) == [found]


def test_the_first_pattern_that_matches_wins() -> None:
    patterns = ["n=%{INT:n:int}", "%{WORD:word} %{WORD:other}", "%{WORD:none}"]
    assert matched(patterns, "x y")["word"] == "x"
    assert matched(patterns, "n=7 y") == {"message": "n=7 y", "n": 7}


def test_patterns_of_your_own_come_first() -> None:
    chain = """
- grok:
    patterns: ['%{ORDER:order}']
    pattern_definitions: {ORDER: '%{WORD}-%{INT:number}', INT: '[xy]+'}
"""
    (record,) = processed(chain, {"message": "ab-xy"})
    assert record == {"message": "ab-xy", "order": "ab-xy", "number": "xy"}


def test_names_of_patterns_become_fields_where_asked_for() -> None:
    record = matched(["%{WORD} %{HOST:to}"], "x web-1", "named_captures_only: false")
    assert record == {"message": "x web-1", "WORD": "x", "to": "web-1", "HOSTNAME": "web-1"}


def test_fields_go_below_the_target_prefix() -> None:
    assert matched(["%{WORD:a} %{WORD:b.c}"], "1 2", "target_prefix: x")["x"] == {"a": "1", "b": {"c": "2"}}


def test_an_existing_field_is_replaced_by_default() -> None:
    assert matched(["%{WORD:message} %{WORD:a}"], "1 2", a="before") == {"message": "1", "a": "2"}
    record = matched(["%{WORD:b} %{WORD:a}"], "1 2", "overwrite_keys: false", a="before")
    assert record.pop("error")["type"] == "grok"
    assert record == {"message": "1 2", "a": "before"}


def test_a_text_that_no_pattern_matches_is_tagged_and_marked() -> None:
    static = {"tags": ["mine"]}
    (record,) = processed("- grok: {patterns: ['%{INT:a}', '%{IP:b}']}", {"message": "x"}, static=static)
    assert record["tags"] == ["mine", "_grokparsefailure"]
    assert record["error"] == {"message": "no pattern matches field message", "type": "grok"}


def test_a_tag_that_is_there_is_not_added_again() -> None:
    static = {"tags": ["_grokparsefailure", "mine"]}
    (record,) = processed("- grok: {patterns: ['%{INT:a}']}", {"message": "x"}, static=static)
    assert record["tags"] == ["_grokparsefailure", "mine"]


def test_tags_and_marks_of_a_failure_can_be_chosen() -> None:
    record = matched(["%{INT:a}"], "x", "ignore_failure: true", "tag_on_failure: [one, two]")
    assert record == {"message": "x", "tags": ["one", "two"]}
    assert matched(["%{INT:a}"], "x", "ignore_failure: true", "tag_on_failure: []") == {"message": "x"}


@pytest.mark.parametrize(
    ("doc", "option", "words"),
    [
        ({}, "ignore_missing: false", "is missing"),
        ({}, "ignore_missing: true", None),
        ({"x": 7}, "ignore_missing: true", "is not a string"),
    ],
)
def test_a_field_that_is_not_there_or_no_text(doc: Doc, option: str, words: str | None) -> None:
    (record,) = processed(f"- grok: {{field: x, patterns: ['%{{INT:a}}'], {option}}}", doc)
    assert words in record["error"]["message"] if words else "error" not in record


APACHE = (
    '127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif?x=1 HTTP/1.1" 200 2326 '
    '"http://example.org/start" "Mozilla/4.08 [en]"'
)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (
            "COMBINEDAPACHELOG",
            APACHE,
            {
                "message": APACHE,
                "source": {"address": "127.0.0.1"},
                "user": {"name": "frank"},
                "timestamp": "10/Oct/2000:13:55:36 -0700",
                "http": {
                    "request": {"method": "GET", "referrer": "http://example.org/start"},
                    "version": "1.1",
                    "response": {"status_code": 200, "body": {"bytes": 2326}},
                },
                "url": {"original": "/a.gif?x=1"},
                "user_agent": {"original": "Mozilla/4.08 [en]"},
            },
        ),
        (
            "SYSLOGLINE",
            "Nov 21 09:30:00 web-1 sshd[811]: Accepted key",
            {
                "message": "Accepted key",
                "timestamp": "Nov 21 09:30:00",
                "process": {"name": "sshd", "pid": 811},
            },
        ),
        (
            "SYSLOG5424LINE",
            '<34>1 2026-11-21T09:30:00Z web-1 su - ID47 [a b="c"] failed',
            {
                "message": "failed",
                "timestamp": "2026-11-21T09:30:00Z",
                "process": {"name": "su"},
                "event": {"code": "ID47"},
                "system": {"syslog": {"version": "1", "structured_data": '[a b="c"]'}},
            },
        ),
        (
            "JAVASTACK",
            "\tat com.example.Shop.buy(Shop.java:42)",
            {
                "message": "\tat com.example.Shop.buy(Shop.java:42)",
                "java": {"log": {"origin": {"class": {"name": "com.example.Shop"}}}},
            },
        ),
    ],
)
def test_whole_lines_become_the_fields_of_the_common_schema(pattern: str, text: str, found: Doc) -> None:
    assert matched([f"%{{{pattern}}}"], text) == found


@pytest.mark.parametrize(("text", "left"), [("a b", "b"), ("a ", ""), ("a", "a")])
def test_the_message_can_be_what_is_left_of_it(text: str, left: str) -> None:
    batch = batch_of([{"message": text}])
    chain_of("- grok: {patterns: ['^%{WORD:x}(?: %{GREEDYDATA:message})?$']}")(batch)
    assert records(batch)[0]["message"] == left
    assert batch.messages.texts == [left]
    assert batch.messages.docs is not None
    assert batch.messages.docs[0].keys() == ({"x"} if left else {"x", "message"})


def test_members_of_log_and_host_that_are_there_stay() -> None:
    batch = batch_of([{"message": "\tat com.example.Shop.buy(Shop.java:42) by web-2"}])
    chain_of("- grok: {patterns: ['%{JAVASTACK} by %{HOSTNAME:host.hostname}']}")(batch)
    (record,) = records(batch)
    assert record["log"]["origin"] == {"function": "buy", "file": {"name": "Shop.java", "line": 42}}
    assert record["log"]["file"]["path"] == "/var/log/app.log"
    assert record["host"] == {"name": "web-1", "hostname": "web-2"}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 1_000_000 + "b"),
        ("(?:%{WORD:x} ?)*%{IP:y}", "x " * 500_000),
        ("%{DATA:a}%{DATA:b}%{DATA:c}%{INT:d}!", "1" * 1_000_000),
        ("%{COMBINEDAPACHELOG}", "a.b-" * 250_000),
        ("%{URI:a} %{PATH:b}$", "http://a/" * 100_000),
        ("%{QUOTEDSTRING:a}$", '"\\' * 500_000),
        ("%{JAVASTACK}", "at " + "a." * 500_000),
        ("%{DATA:a}%{DATA:b}%{GREEDYDATA:c}%{DATA:d}!", "x " * 500_000 + "!"),
        ("%{HOSTNAME:a}$", "a.b-" * 250_000),
    ],
)
def test_hostile_texts_take_linear_time(pattern: str, text: str) -> None:
    batch = batch_of([{"message": text}])
    chain = chain_of(f"- grok: {{patterns: [{json.dumps(pattern)}]}}")
    begun = time.process_time()
    chain(batch)
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("%{WRD:a}", "no pattern is named WRD; did you mean WORD?"),
        ("%{QQQQQQ}", "no pattern is named QQQQQQ; define it"),
        ("%{WORD:a:number}", "the type must be one of: int"),
        ("%{WORD a}", "is not of the form %{PATTERN:field:type}"),
        ("%{WORD:a..b}", "is not a field name"),
        ("%{SELF}", "pattern SELF refers to itself: SELF > OTHER > SELF"),
        ("%{E9}", "expands to more than"),
        ("%{WORD:a} %{WORD:a.b}", "'a' cannot be both a value and an object with 'a.b'"),
        ("(", "'(' is not a regular expression in RE2 syntax"),
        ("(?=x)", "RE2 has no look-around"),
        ("%{GREEDYDATA:a}(?<!x)", "RE2 has no look-around"),
        ("%{WORD:a} %{IP:b", "'%{IP:b' has no closing brace"),
        ("%{BAD}", "is not a regular expression"),
    ],
)
def test_a_pattern_without_sense_is_reported(pattern: str, words: str) -> None:
    own = {"SELF": "x%{OTHER}", "OTHER": "%{SELF}?", "BAD": "x**", "E0": "x" * 1000}
    own |= {f"E{n}": f"%{{E{n - 1}}}" * 3 for n in range(1, 10)}
    with pytest.raises(ConfigError) as caught:
        section(
            f"- grok: {{patterns: ['%{{WORD:ok}}', {json.dumps(pattern)}], pattern_definitions: {json.dumps(own)}}}"
        )
    (line,) = str(caught.value).splitlines()
    line = line.partition(": ")[2]
    assert line.startswith("processors[0].grok.patterns[1]: ")
    assert words in line
    assert len(line) < 400
