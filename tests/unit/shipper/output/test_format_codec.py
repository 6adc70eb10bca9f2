"""Payloads that are texts."""

import pytest

from log_shipper.shipper.event import MULTILINE, TRUNCATED, Batch
from log_shipper.shipper.output.encode import rejections, sendable
from log_shipper.shipper.output.format_codec import FormatCodec
from log_shipper.shipper.processor.formatting import Formatter
from tests.builders import batch
from tests.processing import batch_of


def codec(string: str, max_bytes: int = 2**31, reserved: int = 0) -> FormatCodec:
    return FormatCodec(Formatter(string).texts, max_bytes, lambda batch: reserved)


def test_the_payload_is_the_text_of_the_format_string() -> None:
    events = batch_of([{"message": "a", "n": 1}, {"message": 'say "hi"\n', "n": 2.5}], {"fields": {"team": "web"}})
    assert codec("%{[message]}").encode(events) == ["a", 'say "hi"\n']
    assert codec("%{[fields.team]} %{[n]}: %{[message]}").encode(events) == ["web 1: a", 'web 2.5: say "hi"\n']
    assert codec("%{[log.offset]} %{+yyyy}").encode(events) == ["0 1970", "2 1970"]


def test_an_event_without_a_text_is_refused_with_the_reason_and_the_others_are_not() -> None:
    events = batch_of([{"message": "a", "user": "u"}, {"message": "b"}, {"message": "c", "user": "v"}])
    refused = codec("%{[user]}").refused(events)
    assert refused == {1: "the event has no field user"}
    assert [(each.index, each.reason) for each in rejections(refused)] == [(1, "the event has no field user")]
    assert codec("%{[user]}").encode(sendable(events, refused)) == ["u", "v"]
    assert codec("%{[message]}").refused(batch_of([{"message": "a"}, {"user": "u"}])) == {
        1: "the event has no field message"
    }
    assert codec("%{[user]:none}").refused(events) == {}


@pytest.mark.parametrize(("max_bytes", "reserved"), [(100, 0), (160, 60)])
def test_a_payload_beyond_the_room_is_cut_and_its_event_flagged(max_bytes: int, reserved: int) -> None:
    events: Batch = batch(["é" * 100, "x" * 100, "y" * 101])
    events.messages.flags[2] = (MULTILINE,)
    small = codec("%{[message]}", max_bytes, reserved)
    for _ in range(2):  # what is sent again is the same
        assert small.encode(events) == ["é" * 50, "x" * 100, "y" * 100]
        assert events.messages.flags == {0: (TRUNCATED,), 2: (MULTILINE, TRUNCATED)}
    assert events.messages.texts[0] == "é" * 100


def test_a_text_without_bytes_in_utf_8_is_written_with_question_marks() -> None:
    events = batch(["a", "b"])
    events.messages.texts[0] = "a\ud800"
    assert codec("%{[message]}").encode(events) == ["a?", "b"]
