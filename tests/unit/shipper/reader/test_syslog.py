import logging
from typing import Any

import pytest

from log_shipper.shipper.event import Messages
from log_shipper.shipper.parsers.syslog import SyslogParserConfig
from log_shipper.shipper.reader import chain
from tests.builders import input_config, messages, parsed
from tests.fakes import ManualClock
from tests.given_runs import GivenRuns
from tests.short_reads import LogOnDisk

LINE = "<13>Oct 11 22:14:15 web-1 su[1024]: this is the message"
SYSLOG: dict[str, Any] = {
    "priority": 13,
    "facility": {"code": 1, "name": "user-level"},
    "severity": {"code": 5, "name": "Notice"},
    "hostname": "web-1",
    "appname": "su",
    "procid": "1024",
}
SHARED = {"log": {"file": {"path": "/var/log/messages"}}}


def read(run: Messages, config: SyslogParserConfig | None = None) -> Messages:
    config = config or SyslogParserConfig(timezone="UTC")
    read = parsed(GivenRuns(run), config, shared=SHARED).next()
    assert read is not None
    return read


def test_a_syslog_message_becomes_its_text_with_the_members_of_its_header() -> None:
    run = read(messages([LINE]))
    assert run.texts == ["this is the message"]
    assert run.docs == [{"log": {"syslog": SYSLOG}, "@timestamp": "2025-10-11T22:14:15.000Z"}]
    assert run.lengths == [len(LINE) + 1]


def test_the_zone_is_that_of_the_configuration() -> None:
    run = read(messages([LINE]), SyslogParserConfig(timezone="+02:00"))
    assert run.documents()[0]["@timestamp"] == "2025-10-11T20:14:15.000Z"


def test_what_an_earlier_parser_found_stays() -> None:
    run = messages([LINE])
    run.docs = [{"stream": "stdout", "log": {"level": "info"}}]
    assert read(run).docs == [
        {"stream": "stdout", "log": {"level": "info", "syslog": SYSLOG}, "@timestamp": "2025-10-11T22:14:15.000Z"}
    ]


def test_what_is_not_a_syslog_message_stays_as_it_is_with_the_reason() -> None:
    run = read(messages(["Not of syslog.", LINE, ""]))
    assert run.texts == ["Not of syslog.", "this is the message", ""]
    docs = run.documents()
    assert docs[0]["error"]["message"].startswith("Error parsing syslog message: no timestamp")
    assert docs[0].keys() == {"error"}
    assert docs[2] == {}


def test_the_reason_is_left_out_where_it_is_not_wanted() -> None:
    assert read(messages(["Not of syslog."]), SyslogParserConfig(add_error_key=False)).docs == [{}]


def test_it_is_logged_where_that_is_wanted(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        read(messages(["Not of syslog."]))
        assert caplog.messages == []
        read(messages(["Not of syslog." + "x" * 10_000]), SyslogParserConfig(log_errors=True))
    (line,) = caplog.messages
    assert line.startswith("/var/log/messages: not a syslog message, shipped unchanged: no timestamp")
    assert "Not of syslog." in line
    assert len(line) < 400


def test_a_message_without_text_is_an_event_all_the_same(log: LogOnDisk) -> None:
    log.write(b"<13>1 - - - - - -\n\n")
    run = chain.build(input_config(SyslogParserConfig()), log.open(), 1000, ManualClock()).next()
    assert run is not None
    assert run.texts == [""]
    assert run.documents()[0]["log"]["syslog"]["version"] == "1"
