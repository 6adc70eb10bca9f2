"""The examples of the two RFCs themselves: RFC 5424, section 6.5, and RFC 3164, section 5.4; and the forms of messages
of real devices and programs that the tests of rsyslog and Vector have, with texts of our own."""

from datetime import UTC, datetime

import pytest

from log_shipper.shipper.formats.syslog import SyslogError, SyslogMessage, parse

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


# What follows the priority, and the host, the program, its process and the message that it has.
FORMS = [
    ("Mar  6 16:57:54 10.20.245.8 %PIX-7-710005: of a/b", ("10.20.245.8", "%PIX-7-710005", None, "of a/b")),
    ("Mar 27 19:06:53 h sshd(pam_unix)[12750]: opened", ("h", "sshd(pam_unix)", "12750", "opened")),
    ("AUG 10 22:18:24 h app: as loud", ("h", "app", None, "as loud")),
    (" Mar  7 19:06:53 h app: a blank before the month", ("h", "app", None, "a blank before the month")),
    ("Mar 7 19:06:53 h app: one blank before the day", ("h", "app", None, "one blank before the day")),
    ("Jun 13 16:33:35 haproxy[73411]: no host", (None, "haproxy", "73411", "no host")),
    ("Jun  8 11:54:08 h apache [Tue] [php:emerg] no colon", ("h", None, None, "apache [Tue] [php:emerg] no colon")),
    ("Feb 18 16:01:59 h -- MARK --", ("h", None, None, "-- MARK --")),
    ("Mar 10 01:00:00 h@example app:  two blanks", ("h@example", "app", None, " two blanks")),
    ("Mar 10 01:00:00 h/x app: a slash", ("h/x", "app", None, "a slash")),
    ("Aug 30 23:00:05 h ", ("h", None, None, "")),
    ("1 2019-02-13T19:48:34+00:00 h app 8449 - [empty] qwerty", ("h", "app", "8449", "qwerty")),
    ('1 2019-02-13T19:48:34Z h app 2 - [a@1 b= "c"] no data', ("h", "app", "2", '[a@1 b= "c"] no data')),
]
MALFORMED = [
    "Mar 7 2008 19:06:53 h app: a year",
    "Mar 7 19:06:53: h app: a colon behind the time",
    "Aug 30 23:00:05 h",
    "app: no time",
]


@pytest.mark.parametrize(("text", "expected"), FORMS, ids=range(len(FORMS)))
def test_a_form_that_others_read_is_read(text: str, expected: tuple[str | None, ...]) -> None:
    message = parse(f"<131>{text}", "auto", UTC, NOW)
    assert (*map(message.syslog.get, ("hostname", "appname", "procid")), message.text) == expected
    assert message.syslog["priority"] == 131


@pytest.mark.parametrize("text", MALFORMED)
def test_a_form_that_is_not_of_the_rfc_is_refused(text: str) -> None:
    with pytest.raises(SyslogError):
        parse(f"<131>{text}", "auto", UTC, NOW)
