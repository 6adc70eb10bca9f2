from contextlib import suppress
from datetime import UTC
from time import process_time
from typing import Any

import pytest

from log_shipper.shipper.formats.syslog import SyslogError, SyslogFormat, SyslogMessage, parse

NOW = 1_763_000_000.0  # November 2025
PRIORITY_13: dict[str, Any] = {
    "priority": 13,
    "facility": {"code": 1, "name": "user-level"},
    "severity": {"code": 5, "name": "Notice"},
}


def read(text: str, format: SyslogFormat = "auto") -> SyslogMessage:
    return parse(text, format, UTC, NOW)


BSD = [
    ("<13>Oct 11 22:14:15 h this is it", "this is it", PRIORITY_13 | {"hostname": "h"}),
    ("<13>Oct 11 22:14:15 h su: this is it", "this is it", PRIORITY_13 | {"hostname": "h", "appname": "su"}),
    (
        "<13>Oct 11 22:14:15 h su[1024]: this is it",
        "this is it",
        PRIORITY_13 | {"hostname": "h", "appname": "su", "procid": "1024"},
    ),
    ("Oct 11 22:14:15 h su[1024]: it", "it", {"hostname": "h", "appname": "su", "procid": "1024"}),
    ("<13>Oct 11 22:14:15 h not a tag: it", "not a tag: it", PRIORITY_13 | {"hostname": "h"}),
    ("<13>Oct 11 22:14:15 h a:b: it", "a:b: it", PRIORITY_13 | {"hostname": "h"}),
    ("<13>Oct 11 22:14:15 h su[]: it", "su[]: it", PRIORITY_13 | {"hostname": "h"}),
    ("<13>Oct 11 22:14:15 h su[1: it", "su[1: it", PRIORITY_13 | {"hostname": "h"}),
    ("<13>Oct 11 22:14:15 h [7]: it", "[7]: it", PRIORITY_13 | {"hostname": "h"}),
    ("<13>Oct 11 22:14:15 h su:", "su:", PRIORITY_13 | {"hostname": "h"}),
    ("<13>Oct 11 22:14:15 - it", "it", PRIORITY_13),
    ("<13>Oct 11 22:14:15 su[1024]: it: x", "it: x", PRIORITY_13 | {"appname": "su", "procid": "1024"}),
    ("<13>Oct 11 22:14:15 su: h su: it", "h su: it", PRIORITY_13 | {"appname": "su"}),
    ("<13>Oct 11 22:14:15 fe80:: su: it", "it", PRIORITY_13 | {"hostname": "fe80::", "appname": "su"}),
    ("<13>Oct 11 22:14:15 h \ufeffit", "it", PRIORITY_13 | {"hostname": "h"}),
    ("<13>Oct 11 22:14:15 h   two\nlines ", "  two\nlines ", PRIORITY_13 | {"hostname": "h"}),
]


@pytest.mark.parametrize(("text", "message", "members"), BSD)
def test_rfc_3164(text: str, message: str, members: dict[str, Any]) -> None:
    for format in ("auto", "rfc3164"):
        assert read(text, format) == SyslogMessage(message, "2025-10-11T22:14:15.000Z", members)


def test_rfc_3164_with_a_time_that_has_its_year_and_zone() -> None:
    found = read("<13>2003-08-24T05:14:15.000003-07:00 h it")
    assert (found.time, found.text) == ("2003-08-24T12:14:15.000Z", "it")


HEAD = "<165>1 2022-01-11T22:14:15.003Z h.example.com app 1024 ID47"
MEMBERS_165: dict[str, Any] = {
    "priority": 165,
    "facility": {"code": 20, "name": "local4"},
    "severity": {"code": 5, "name": "Notice"},
    "hostname": "h.example.com",
    "appname": "app",
    "procid": "1024",
    "msgid": "ID47",
    "version": "1",
}
DATA = [
    ("-", {}),
    ("[a]", {"a": {}}),
    ('[a b="c"]', {"a": {"b": "c"}}),
    (
        '[example@32473 iut="3" id="1011"][other@32473 class="high"]',
        {"example@32473": {"iut": "3", "id": "1011"}, "other@32473": {"class": "high"}},
    ),
    (r'[a b="\"c\" \] \\ \n"]', {"a": {"b": r'"c" ] \ \n'}}),
    (r'[a b="\\"]', {"a": {"b": "\\"}}),
    ('[a b=""]', {"a": {"b": ""}}),
    ('[a b="1" c="" b="2" b="1"]', {"a": {"b": ["1", "2", "1"], "c": ""}}),
    ('[a b="1"][a b="2"]', {"a": {"b": ["1", "2"]}}),
    ('[a b="ü [ = x"]', {"a": {"b": "ü [ = x"}}),
    (f'[{"n" * 32} {"p" * 32}="v"]', {"n" * 32: {"p" * 32: "v"}}),
]


@pytest.mark.parametrize(("data", "expected"), DATA)
@pytest.mark.parametrize(("tail", "message"), [("", ""), (" the message", "the message"), (" \ufeff[x] y", "[x] y")])
def test_rfc_5424(data: str, expected: dict[str, Any], tail: str, message: str) -> None:
    members = MEMBERS_165 | ({"structured_data": expected} if expected else {})
    for format in ("auto", "rfc5424"):
        assert read(f"{HEAD} {data}{tail}", format) == SyslogMessage(message, "2022-01-11T22:14:15.003Z", members)


def test_a_nil_value_is_left_out() -> None:
    assert read("<13>1 - - - - - -") == SyslogMessage("", None, PRIORITY_13 | {"version": "1"})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('[action:"Drop"; flags:"27"]', '[action:"Drop"; flags:"27"]'),
        ('[action:"Drop"; tag="x[y\\]"] text', '[action:"Drop"; tag="x[y\\]"] text'),
        ('[a b="c"][d:"e"] text', '[a b="c"][d:"e"] text'),
        (f"[{'n' * 33}] text", f"[{'n' * 33}] text"),
        ("[] text", "[] text"),
        ('[a  b="c"] text', '[a  b="c"] text'),
    ],
)
def test_what_only_looks_like_structured_data_goes_before_the_message(data: str, message: str) -> None:
    assert read(f"{HEAD} {data}") == SyslogMessage(message, "2022-01-11T22:14:15.003Z", MEMBERS_165)


# What is missing or wrong, and the texts in which it is.
WRONG = {
    "timestamp": [
        "",
        "Not of syslog.",
        "13 Oct 11 22:14:15 h it",
        "<13> h it",
        "<13>Foo 11 22:14:15 h it",
        "<13>2003-08-24 05:14:15-07:00 h it",
        "<13>Feb 30 22:14:15 h it",
        "<165>1 10-11-2003T22:14:15.003Z h app - ID47 -",
        "<165>1 2022-01-11T22:14:60Z h app - ID47 -",
        "<165>1 99999-01-11T22:14:60Z h app - ID47 -",
    ],
    "priority": [
        "<abc>Oct 11 22:14:15 h it",
        "<192>Oct 11 22:14:15 h it",
        "<-1>Oct 11 22:14:15 h it",
        "<>x",
        "<1\u0663>Oct 11 22:14:15 h it",
        "<",
        "<00013>Oct 11 22:14:15 h it",
    ],
    "host name": [
        "<13>Oct 11 22:14:15",
        "<13>Oct 11 22:14:15 ",
        "<13>Oct 11 22:14:15 h",
        "<13>Oct 11 22:14:15  it",
        "<13>2022-01-11T22:14:15Z",
        "<13>Oct 11 22:14:155 h it",
        "<13>1 2003-08-24T05:14:15Z",
    ],
    "structured data": [
        "<13>1 2003-08-24T05:14:15Z h su 1234 msg",
        f"{HEAD} x",
        f"{HEAD} -x",
        f"{HEAD} [a",
        f'{HEAD} [a b="c]d"] x',
        f'{HEAD} [a b="c"]x',
        f"{HEAD} ",
    ],
    "app name": ["<13>1 2003-08-24T05:14:15Z h  1 m - x"],
}


@pytest.mark.parametrize(("text", "why"), [(text, why) for why, texts in WRONG.items() for text in texts])
def test_what_is_wrong_in_a_syslog_message_is_reported(text: str, why: str) -> None:
    with pytest.raises(SyslogError, match=why):
        read(text)


def test_a_message_of_the_other_format_is_reported_with_the_way_out() -> None:
    with pytest.raises(SyslogError, match="an RFC 5424 message, but format is rfc3164; set format: auto"):
        read(f"{HEAD} - it", "rfc3164")


@pytest.mark.parametrize(
    "text", ["Oct 11 22:14:15 h it", "<13>x 2003-08-24T05:14:15Z h su 1 m - it", "<13>0 - - - - - -"]
)
def test_a_format_that_was_asked_for_is_not_guessed(text: str) -> None:
    with pytest.raises(SyslogError, match=r"priority|version"):
        read(text, "rfc5424")


@pytest.mark.parametrize(
    "text",
    [
        f'{HEAD} [a b="' + '\\"' * 1_000_000,
        f'{HEAD} [a b="' + "\\x" * 1_000_000 + '"] x',
        f"{HEAD} " + "[a]" * 300_000,
        f"{HEAD} " + "[" * 1_000_000,
        f"{HEAD} [a" + ' b="c"' * 200_000 + "]",
        f"{HEAD} [" + "\\]" * 1_000_000,
        "<13>Oct 11 22:14:15 h " + "a[" * 1_000_000,
        "<13>Oct 11 22:14:15 h " + "a: " * 1_000_000,
        "<13>1" + " " * 1_000_000,
        "<" * 1_000_000,
        "9" * 1_000_000,
    ],
)
def test_a_hostile_message_takes_time_in_proportion_to_its_length(text: str) -> None:
    began = process_time()
    with suppress(SyslogError):
        read(text)
    assert process_time() - began < 3
