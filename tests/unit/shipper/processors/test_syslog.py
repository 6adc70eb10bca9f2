"""syslog: the header of a message, and its text."""

from typing import Any

import pytest

from log_shipper.shipper.event import Doc
from log_shipper.shipper.metrics import Metrics
from tests.processing import batch_of, chain_of, records

LINE = (
    "<165>1 2022-01-11T22:14:15.003Z mymachine.example.com eventslog 1024 ID47 "
    '[exampleSDID@32473 iut="3" eventID="1011"][examplePriority@32473 class="high"] this is the message'
)
SYSLOG = {
    "priority": 165,
    "facility": {"code": 20, "name": "local4"},
    "severity": {"code": 5, "name": "Notice"},
    "hostname": "mymachine.example.com",
    "appname": "eventslog",
    "procid": "1024",
    "msgid": "ID47",
    "version": "1",
    "structured_data": {
        "exampleSDID@32473": {"iut": "3", "eventID": "1011"},
        "examplePriority@32473": {"class": "high"},
    },
}


def run(options: str, doc: Doc, metrics: Metrics | None = None) -> Doc:
    batch = batch_of([doc])
    chain_of(f"- syslog: {{{options}}}", metrics)(batch)
    (record,) = records(batch)
    return record


def test_a_message_is_taken_apart() -> None:
    record = run("", {"message": LINE})
    assert record["message"] == "this is the message"
    assert record["@timestamp"] == "2022-01-11T22:14:15.003Z"
    assert record["log"]["syslog"] == SYSLOG
    assert record["log"]["file"]["path"] == "/var/log/app.log"


def test_the_text_goes_to_the_message_whatever_the_field_was() -> None:
    record = run("field: event.original", {"message": "x", "event": {"original": LINE}})
    assert record["message"] == "this is the message"
    assert record["event"] == {"original": LINE}


def test_without_overwriting_what_is_there_stays_but_for_the_time() -> None:
    record = run(
        "overwrite_keys: false", {"message": LINE, "log": {"syslog": {"priority": 1, "facility": {"code": 9}}}}
    )
    assert record["message"] == LINE
    assert record["@timestamp"] == "2022-01-11T22:14:15.003Z"
    assert record["log"]["syslog"] == SYSLOG | {"priority": 1, "facility": {"code": 9, "name": "local4"}}
    assert run("overwrite_keys: false", {"message": LINE, "log": {"syslog": "x"}})["log"]["syslog"] == "x"


def test_with_overwriting_what_it_does_not_say_stays() -> None:
    record = run("", {"message": LINE, "log": {"syslog": {"priority": 1, "mine": 2}}})
    assert record["log"]["syslog"] == SYSLOG | {"mine": 2}
    assert run("", {"message": LINE, "log": {"syslog": "x"}})["log"]["syslog"] == SYSLOG


def test_what_all_events_of_a_file_have_there_is_not_changed_for_the_others() -> None:
    batch = batch_of([{"message": LINE}, {"message": LINE.replace("1024", "7")}, {"message": "<13>1 - - - - - - x"}])
    chain_of("- add_fields: {target: log.syslog, fields: {mine: 2}}\n- syslog: {}")(batch)
    first, second, third = records(batch)
    assert first["log"]["syslog"] == SYSLOG | {"mine": 2}
    assert second["log"]["syslog"] == SYSLOG | {"mine": 2, "procid": "7"}
    assert third["log"]["syslog"].keys() == {"mine", "priority", "facility", "severity", "version"}


def test_a_message_without_text_leaves_the_message_as_it_is() -> None:
    record = run("", {"message": "<13>1 - - - - - -"})
    assert record["message"] == "<13>1 - - - - - -"
    assert record["log"]["syslog"]["priority"] == 13
    assert record["@timestamp"] == "1970-01-01T00:00:00.000Z"


def test_the_format_and_the_zone_are_those_that_were_set() -> None:
    line = "<13>Oct 11 22:14:15 web-1 su: x"
    assert run("timezone: '+02:00'", {"message": line})["@timestamp"] == "2025-10-11T20:14:15.000Z"
    assert "error" in run("format: rfc5424", {"message": line})


@pytest.mark.parametrize("value", ["Not of syslog.", "", None, 1, ["x"], {"a": 1}, "<" * 100_000])
def test_a_value_that_is_not_syslog_is_reported_in_the_event_which_is_otherwise_unchanged(value: Any) -> None:
    metrics = Metrics()
    record = run("field: f, tag: mine", {"f": value, "message": "x"}, metrics)
    assert (record["f"], record["message"]) == (value, "x")
    assert record["error"]["type"] == "syslog"
    assert record["error"]["message"].startswith("mine: field f is not a syslog message: ")
    assert metrics.processor_failures == 1
    assert "error" not in run("field: f, ignore_failure: true", {"f": value, "message": "x"})


def test_a_missing_field_is_an_error_unless_that_is_ignored() -> None:
    assert run("field: f", {"message": "x"})["error"]["message"] == "field f is not a syslog message: it is missing"
    assert "error" not in run("field: f, ignore_missing: true", {"message": "x"})
