"""What travels beside a payload that is a text."""

from log_shipper.shipper.event import DELETED, MULTILINE
from log_shipper.shipper.output.place_headers import PlaceHeaders
from tests.builders import batch
from tests.processing import batch_of

OF_FILE = [("log.file.id", "f1"), ("log.file.path", "/var/log/app.log"), ("host.name", "web-1")]
TIME = ("@timestamp", "1970-01-01T00:00:00.000Z")


def test_the_headers_of_an_event_are_its_place_its_time_and_its_host() -> None:
    events = batch(["a", "bc"], start=7)
    assert PlaceHeaders()(events) == [
        [*OF_FILE, ("log.offset", "7"), ("log.length", "2"), TIME],
        [*OF_FILE, ("log.offset", "9"), ("log.length", "3"), TIME],
    ]


def test_flags_are_there_where_an_event_has_some() -> None:
    events = batch(["a", "b"])
    events.messages.flags[1] = (MULTILINE, "truncated")
    plain, flagged = PlaceHeaders()(events)
    assert dict(plain).get("log.flags") is None
    assert dict(flagged)["log.flags"] == "multiline,truncated"


def test_what_an_event_has_of_its_own_is_what_its_headers_have() -> None:
    path = {"file": {"path": "/moved", "id": "f1"}}
    events = batch_of(
        [
            {"message": "a", "@timestamp": "2026-11-21T09:30:00.000Z"},
            {"message": "b", "host": {"name": "other"}},
            {"message": "c", "log": path},
            {"message": "d", "host": DELETED},
            {"message": "e", "log": {"level": "info"}, "host": {"name": 5}},
            {"message": "f"},
        ]
    )
    time, host, moved, hidden, number, plain = map(dict, PlaceHeaders()(events))
    assert time["@timestamp"] == "2026-11-21T09:30:00.000Z"
    assert (host["host.name"], host["log.file.path"]) == ("other", "/var/log/app.log")
    assert (moved["log.file.path"], moved["host.name"]) == ("/moved", "web-1")
    assert "host.name" not in hidden
    assert (number["host.name"], number["log.file.path"]) == ("5", "/var/log/app.log")
    assert plain == dict([*OF_FILE, ("log.offset", "10"), ("log.length", "2"), TIME])
    assert {each["log.file.id"] for each in (time, host, moved, hidden, number)} == {"f1"}


def test_their_size_is_known_before_the_payload_is_written() -> None:
    events = batch(["a"])
    (headers,) = PlaceHeaders()(events)
    assert sum(len(name) + len(value) + 10 for name, value in headers) <= PlaceHeaders().size(events)
