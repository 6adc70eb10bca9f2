"""decode_cef: messages as devices write them, and as they should not."""

from typing import Any

import pytest

from log_shipper.shipper.event import Doc
from log_shipper.shipper.processor.decoding.cef_format import MAX_EXTENSIONS, NotCefError, parse
from tests.processing import batch_of, chain_of, records

SIGNED_IN = "CEF:1|Trend Micro|Deep Security Manager|1.2.3|600|User Signed In|3|src=10.52.116.160 suser=admin target=x"
HEADER = "CEF:0|security|threatmanager|1.0|100|trojan stopped|10|"


def decoded(text: str, options: str = "", **members: Any) -> Doc:
    of = batch_of([{"message": text, **members}])
    chain_of(f"- decode_cef: {{{options}}}")(of)
    (record,) = records(of)
    return record


def of_extensions(text: str, options: str = "") -> Doc:
    """Return the extensions as they are decoded."""
    extensions: Doc = decoded(HEADER + text, options)["cef"].get("extensions", {})
    return extensions


def test_a_message_is_decoded_by_full_names_and_into_ecs() -> None:
    made = decoded(f"<134>Nov 21 fw01 {SIGNED_IN} msg=User signed in from 2001:db8::5")
    assert made["cef"] == {
        "version": "1",
        "device": {
            "vendor": "Trend Micro",
            "product": "Deep Security Manager",
            "version": "1.2.3",
            "event_class_id": "600",
        },
        "name": "User Signed In",
        "severity": "3",
        "extensions": {
            "sourceAddress": "10.52.116.160",
            "sourceUserName": "admin",
            "target": "x",
            "message": "User signed in from 2001:db8::5",
        },
    }
    assert made["message"] == "User signed in from 2001:db8::5"
    assert made["observer"] == {"vendor": "Trend Micro", "product": "Deep Security Manager", "version": "1.2.3"}
    assert made["event"] == {"code": "600", "severity": 3}
    assert made["source"] == {"ip": "10.52.116.160", "user": {"name": "admin"}}
    assert "error" not in made


def test_ecs_can_be_left_out() -> None:
    made = decoded(SIGNED_IN, "ecs: false, target_field: a.b")
    assert made["message"] == SIGNED_IN
    assert made["a"]["b"]["name"] == "User Signed In"
    assert made.keys().isdisjoint({"observer", "event", "source", "cef"})


def test_it_may_be_decoded_into_the_event_itself() -> None:
    made = decoded(SIGNED_IN, "target_field: '', ecs: false", extensions={"own": 1})
    assert (made["severity"], made["device"]["vendor"]) == ("3", "Trend Micro")
    assert made["extensions"] == {"own": 1, "sourceAddress": "10.52.116.160", "sourceUserName": "admin", "target": "x"}


@pytest.mark.parametrize(
    ("text", "extensions"),
    [
        (" moo=this|has a pipe", {"moo": "this|has a pipe"}),
        (r"msg=a+b\=c x=c\\d\=z", {"message": "a+b=c", "x": r"c\d=z"}),
        (r"msg=a\nb\r\nc\\n", {"message": "a\nb\r\nc\\n"}),
        ("msg=trailing  blanks   spt=1232 x=y \t\r\n", {"message": "trailing  blanks  ", "sourcePort": 1232, "x": "y"}),
        ("ad.Error_,Code=1 ad.field[0]=f", {"ad.Error_,Code": "1", "ad.field[0]": "f"}),
        ("x=1 - 2 ad.rule-id=3", {"x": "1 - 2", "ad.rule-id": "3"}),
        ("SRC=10.0.0.1 c6a4label=x", {"sourceAddress": "10.0.0.1", "deviceCustomIPv6Address4Label": "x"}),
        (
            "eventId=1 in=4294967296 cn2=-5 dpt=0x50",
            {"eventId": 1, "bytesIn": 2**32, "deviceCustomNumber2": -5, "destinationPort": 80},
        ),
        ("slat=52.5 cfp1=1e3", {"sourceGeoLatitude": 52.5, "deviceCustomFloatingPoint1": 1000.0}),
        (
            "smac=00-0C-29-EB-35-DE dmac=0050.56f5.7f47",
            {"sourceMacAddress": "00:0c:29:eb:35:de", "destinationMacAddress": "00:50:56:f5:7f:47"},
        ),
        ("rt=1536331839000", {"deviceReceiptTime": "2018-09-07T14:50:39.000Z"}),
        ("end=Sep 07 2018 14:50:39.5 +02:00", {"endTime": "2018-09-07T12:50:39.500Z"}),
    ],
)
def test_extensions_have_full_names_and_types(text: str, extensions: Doc) -> None:
    assert of_extensions(text) == extensions


def test_a_time_without_a_zone_is_in_the_configured_one_and_without_a_year_in_the_past() -> None:
    at = {"deviceReceiptTime": "2018-09-07T18:50:39.000Z"}
    assert of_extensions("rt=Sep 07 2018 14:50:39", "timezone: America/New_York") == at
    # The clock of the tests is in November 2025.
    assert of_extensions("start=Dec 24 10:00:00") == {"startTime": "2024-12-24T10:00:00.000Z"}
    assert of_extensions("start=Oct 24 10:00:00") == {"startTime": "2025-10-24T10:00:00.000Z"}


def test_values_as_ecs_wants_them() -> None:
    made = decoded(f"{HEADER}smac=00:0c:29:eb:35:de dvc=10.0.0.1 deviceDirection=1 proto=TCP requestContext=none rt=0")
    assert made["source"]["mac"] == "00-0C-29-EB-35-DE"
    assert made["observer"]["ip"] == ["10.0.0.1"]
    assert made["network"] == {"direction": "outbound", "transport": "tcp"}
    assert "http" not in made
    assert made["@timestamp"] == "1970-01-01T00:00:00.000Z"


@pytest.mark.parametrize(("word", "number"), [("Low", 0), ("Medium", 4), ("High", 7), ("Very-High", 9), ("8", 8)])
def test_a_severity_is_a_number_in_ecs(word: str, number: int) -> None:
    assert decoded(f"CEF:0|a|b|c|d|e|{word}|")["event"]["severity"] == number


def test_an_unknown_severity_is_none_in_ecs() -> None:
    assert "severity" not in decoded("CEF:0|a|b|c|d|e|Unknown|")["event"]


@pytest.mark.parametrize(
    ("text", "others", "reason"),
    [
        ("dvc=hostname x=1", {"x": "1"}, "the value of dvc is not an IP address: 'hostname'"),
        ("spt=99999999999 x=1", {"x": "1"}, "the value of spt does not fit in 32 bits: '99999999999'"),
        ("spt= x=1", {"x": "1"}, "the value of spt is not a whole number: ''"),
        ("rt=yesterday", {}, "the value of rt is not a time: 'yesterday'"),
        ("a=1 id==2 b=3", {"a": "1", "b": "3"}, "the value of id contains an unescaped '=' or backslash"),
        (r"a=C:\Windows b=3", {"b": "3"}, "the value of a contains an unescaped '=' or backslash"),
        ("spt=1\tsrc=10.0.0.1 x=1", {"x": "1"}, "the value of spt contains an unescaped '=' or backslash"),
        ("text x=1", {"x": "1"}, "the text after the header does not begin with key=value"),
        ("deviceDirection=2", {"deviceDirection": 2}, "deviceDirection must be 0 or 1"),
    ],
)
def test_a_wrong_value_is_an_error_and_the_others_are_there(text: str, others: Doc, reason: str) -> None:
    made = decoded(HEADER + text)
    assert made["error"] == {"message": reason, "type": "decode_cef"}
    assert made["cef"].get("extensions", {}) == others


def test_empty_values_can_be_left_out() -> None:
    made = decoded(f"{HEADER}spt= cs1= x=1", "ignore_empty_values: true")
    assert made["cef"]["extensions"] == {"x": "1"}
    assert "error" not in made
    assert of_extensions("cs1= x=1") == {"deviceCustomString1": "", "x": "1"}


def test_escapes_and_empty_parts_of_the_header() -> None:
    message = parse(r"CEF:0|security\\compliance|threat\|->=manager||100|a\b|10|")
    assert message.header == {
        "device.vendor": r"security\compliance",
        "device.product": "threat|->=manager",
        "device.event_class_id": "100",
        "name": r"a\b",
        "severity": "10",
    }


def test_a_header_that_is_cut_off_is_an_error_and_the_rest_is_there() -> None:
    made = decoded("CEF:0|SentinelOne|Mgmt|activityID=111 siteId=None")
    assert made["error"]["message"] == "the header ends before its device.version"
    assert made["cef"]["device"] == {"vendor": "SentinelOne", "product": "Mgmt"}
    assert made["cef"]["extensions"] == {"activityID": "111", "siteId": "None"}


@pytest.mark.parametrize("text", ["plain", "CEF:x|a|b|c|d|e|f|", "CEF:", "cef:0|a|b|c|d|e|f|"])
def test_what_is_not_cef_stays_as_it_is(text: str) -> None:
    made = decoded(text)
    assert made["message"] == text
    assert made["error"]["message"].startswith("field message cannot be decoded as CEF: no CEF header")
    assert "cef" not in made
    assert "error" not in decoded(text, "ignore_failure: true")


def test_a_missing_field_is_an_error_unless_it_is_ignored() -> None:
    assert decoded("x", "field: cef")["error"]["message"] == "field cef is missing"
    assert "error" not in decoded("x", "field: cef, ignore_missing: true")


def test_the_number_of_extensions_is_bounded() -> None:
    message = parse(HEADER + " ".join(f"k{number}=v" for number in range(MAX_EXTENSIONS + 5)))
    assert len(message.extensions) == MAX_EXTENSIONS
    assert message.wrong == [f"it has more than {MAX_EXTENSIONS} extensions; the rest are dropped"]


@pytest.mark.parametrize("part", ["\\", "a ", "=", "|", "a=", " \\=", "CEF:0|"])
def test_a_hostile_text_is_decoded_in_linear_time(part: str) -> None:
    for text in (part * 300_000, HEADER + part * 300_000):
        try:
            parse(text)
        except NotCefError:
            assert not text.startswith("CEF:0|")
