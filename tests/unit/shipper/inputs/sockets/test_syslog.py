"""`type: syslog`: the header becomes log.syslog, beside the sender."""

from tests.unit.shipper.inputs.sockets.conftest import Listen

RFC_3164 = b"<13>Oct 11 22:14:15 web-1 app[42]: hello"
RFC_5424 = b'<165>1 2026-10-11T22:14:15.003Z web-1 app 42 ID47 [a@1 b="c"] hello'


def test_the_header_becomes_fields_beside_the_sender(listen: Listen) -> None:
    listening = listen('type: syslog, protocol.udp: {host: "127.0.0.1:0"}, timezone: UTC')
    listening.send(RFC_3164 + b"\n")
    (event,) = listening.events(1)
    assert event["message"] == "hello"
    assert event["log"]["syslog"]["hostname"] == "web-1"
    assert event["log"]["syslog"]["appname"] == "app"
    assert event["log"]["source"]["address"].startswith("127.0.0.1:")
    assert event["@timestamp"].endswith("-10-11T22:14:15.000Z")
    assert event["input"]["type"] == "syslog"


def test_many_messages_of_one_sender_have_its_address_too(listen: Listen) -> None:
    listening = listen('type: syslog, protocol.udp: {host: "127.0.0.1:0"}')
    listening.send(*[RFC_3164] * 20)
    events = listening.events(20)
    assert len({event["log"]["source"]["address"] for event in events}) == 1
    assert {event["log"]["syslog"]["procid"] for event in events} == {"42"}


def test_the_format_is_recognised_for_each_message(listen: Listen) -> None:
    listening = listen('type: syslog, format: auto, protocol.tcp: {host: "127.0.0.1:0"}')
    listening.send_all(RFC_3164 + b"\n" + RFC_5424 + b"\0\n")
    events = listening.events(2)
    assert [event["message"] for event in events] == ["hello", "hello"]
    assert events[1]["log"]["syslog"]["structured_data"] == {"a@1": {"b": "c"}}


def test_counted_messages_may_have_line_feeds(listen: Listen) -> None:
    listening = listen('type: syslog, format: rfc5424, protocol.tcp: {host: "127.0.0.1:0", framing: rfc6587}')
    message = RFC_5424 + b"\nsecond line"
    listening.send_all(b"%d " % len(message) + message, RFC_5424 + b"\n")
    assert listening.texts(2) == ["hello\nsecond line", "hello"]


def test_what_is_not_syslog_is_shipped_as_it_is_with_the_reason(listen: Listen) -> None:
    listening = listen('type: syslog, format: rfc5424, protocol.udp: {host: "127.0.0.1:0"}')
    listening.send(b"nonsense")
    (event,) = listening.events(1)
    assert event["message"] == "nonsense"
    assert "no priority" in event["error"]["message"]
    assert event["log"]["source"]["address"]
