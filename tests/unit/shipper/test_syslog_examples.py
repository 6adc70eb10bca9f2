"""The examples of the two RFCs themselves: RFC 5424, section 6.5, and RFC 3164, section 5.4."""

from datetime import UTC, datetime

import pytest

from shipper.syslog_format import SyslogError, SyslogMessage, parse

NOW = datetime(2003, 11, 1, tzinfo=UTC).timestamp()
AUTH_CRITICAL = {
    "priority": 34,
    "facility": {"code": 4, "name": "security/authorization"},
    "severity": {"code": 2, "name": "Critical"},
}
LOCAL4_NOTICE = {
    "priority": 165,
    "facility": {"code": 20, "name": "local4"},
    "severity": {"code": 5, "name": "Notice"},
}
EVENT_LOG = {"iut": "3", "eventSource": "Application", "eventID": "1011"}
MACHINE = {"hostname": "mymachine.example.com", "version": "1"}
EXAMPLES: list[tuple[str, SyslogMessage]] = [
    (
        "<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - "
        "\ufeff'su root' failed for lonvick on /dev/pts/8",
        SyslogMessage(
            "'su root' failed for lonvick on /dev/pts/8",
            "2003-10-11T22:14:15.003Z",
            AUTH_CRITICAL | MACHINE | {"appname": "su", "msgid": "ID47"},
        ),
    ),
    (
        "<165>1 2003-08-24T05:14:15.000003-07:00 192.0.2.1 myproc 8710 - - %% It's time to make the do-nuts.",
        SyslogMessage(
            "%% It's time to make the do-nuts.",
            "2003-08-24T12:14:15.000Z",
            LOCAL4_NOTICE | {"hostname": "192.0.2.1", "version": "1", "appname": "myproc", "procid": "8710"},
        ),
    ),
    (
        "<165>1 2003-10-11T22:14:15.003Z mymachine.example.com evntslog - ID47 "
        '[exampleSDID@32473 iut="3" eventSource="Application" eventID="1011"] \ufeffAn application event log entry...',
        SyslogMessage(
            "An application event log entry...",
            "2003-10-11T22:14:15.003Z",
            LOCAL4_NOTICE
            | MACHINE
            | {"appname": "evntslog", "msgid": "ID47", "structured_data": {"exampleSDID@32473": EVENT_LOG}},
        ),
    ),
    (
        "<165>1 2003-10-11T22:14:15.003Z mymachine.example.com evntslog - ID47 "
        '[exampleSDID@32473 iut="3" eventSource="Application" eventID="1011"][examplePriority@32473 class="high"]',
        SyslogMessage(
            "",
            "2003-10-11T22:14:15.003Z",
            LOCAL4_NOTICE
            | MACHINE
            | {
                "appname": "evntslog",
                "msgid": "ID47",
                "structured_data": {"exampleSDID@32473": EVENT_LOG, "examplePriority@32473": {"class": "high"}},
            },
        ),
    ),
    (
        "<34>Oct 11 22:14:15 mymachine su: 'su root' failed for lonvick on /dev/pts/8",
        SyslogMessage(
            "'su root' failed for lonvick on /dev/pts/8",
            "2003-10-11T22:14:15.000Z",
            AUTH_CRITICAL | {"hostname": "mymachine", "appname": "su"},
        ),
    ),
    # The time zone and the year are the message's, as the RFC says of it: they stand where the name of the host does.
    (
        "<165>Aug 24 05:34:00 CST 1987 mymachine myproc[10]: %% It's time to make the do-nuts.",
        SyslogMessage(
            "1987 mymachine myproc[10]: %% It's time to make the do-nuts.",
            "2003-08-24T05:34:00.000Z",
            LOCAL4_NOTICE | {"hostname": "CST"},
        ),
    ),
]


@pytest.mark.parametrize(("text", "expected"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_is_read_as_the_rfc_explains_it(text: str, expected: SyslogMessage) -> None:
    assert parse(text, "auto", UTC, NOW) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Use the BFG!",
        "<0>1990 Oct 22 10:52:01 TZ-6 scapegoat.dmz.example.org 10.1.2.3 sched[0]: That's All Folks!",
    ],
)
def test_what_the_rfc_calls_malformed_is_refused_and_stays_as_it_is(text: str) -> None:
    with pytest.raises(SyslogError):
        parse(text, "auto", UTC, NOW)
