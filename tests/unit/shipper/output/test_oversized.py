import json
from typing import Any

import pytest

from log_shipper.shipper.event import MULTILINE, SPLIT, TRUNCATED, Batch
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.output.format_codec import FormatCodec
from log_shipper.shipper.output.oversized import PayloadRoom, RefusingCodec, Splitter
from log_shipper.shipper.output.place_headers import PlaceHeaders
from tests.builders import batch, encoder

LIMIT = 2000
LARGE = "0123456789" * 500


def split(made: Batch, limit: int = LIMIT) -> list[dict[str, Any]]:
    metrics = Metrics()
    Splitter(PayloadRoom(encoder(), limit), metrics)(made)
    payloads = encoder(limit).encode(made)
    assert max(len(payload.encode()) for payload in payloads) <= limit
    return [json.loads(payload) for payload in payloads]


def test_an_event_that_is_too_large_is_refused_whole_with_its_size() -> None:
    codec = RefusingCodec(PayloadRoom(encoder(), LIMIT))
    made = batch(["a", LARGE, "b"])
    size = len(encoder().encode(made)[1])
    assert codec.refused(made) == {
        1: f"record too large: {size} bytes; output.kafka.max_message_bytes has room for {LIMIT}"
    }
    assert codec.encode(made.part([0, 2])) == encoder().encode(made.part([0, 2]))


def test_an_event_that_fits_exactly_is_not_refused() -> None:
    made = batch([LARGE])
    size = len(encoder().encode(made)[0])
    assert RefusingCodec(PayloadRoom(encoder(), size)).refused(made) == {}
    assert RefusingCodec(PayloadRoom(encoder(), size - 1)).refused(made).keys() == {0}


@pytest.mark.parametrize("text", [LARGE, "\xe4\u20ac" * 3000, "a" * 3000 + "\x01" * 1000, "\U0001f600" * 1500])
def test_parts_are_numbered_flagged_and_together_the_message(text: str) -> None:
    records = split(batch(["before", text, "after"], start=100))
    parts = records[1:-1]
    assert "".join(part["message"] for part in parts) == text
    assert [part["log"]["part"] for part in parts] == [
        {"number": number, "count": len(parts)} for number in range(1, len(parts) + 1)
    ]
    assert all(part["log"]["flags"] == [SPLIT] for part in parts)
    assert [record["message"] for record in (records[0], records[-1])] == ["before", "after"]
    assert "part" not in records[0]["log"]


def test_parts_divide_the_bytes_of_the_event_among_them() -> None:
    made = batch(["before", LARGE, "after"], start=100)
    before = (made.messages.start, made.messages.end)
    places = [(record["log"]["offset"], record["log"]["length"]) for record in split(made)]
    assert (made.messages.start, made.messages.end) == before
    end = 100
    for offset, length in places:
        assert offset == end
        assert length > 0
        end = offset + length
    assert end == before[1]


def test_the_same_event_is_split_into_the_same_parts_each_time() -> None:
    assert split(batch([LARGE])) == split(batch([LARGE]))


def test_members_and_flags_of_the_event_are_those_of_each_part() -> None:
    made = batch([LARGE])
    made.messages.flags[0] = (MULTILINE,)
    made.messages.docs = [{"user": {"id": 7}, "log": {"level": "warn"}}]
    for record in split(made):
        assert (record["user"], record["log"]["level"], record["log"]["flags"]) == (
            {"id": 7},
            "warn",
            [MULTILINE, SPLIT],
        )


def test_an_event_without_a_text_or_without_room_for_one_stays_as_it_is() -> None:
    made = batch(["", "x"])
    made.messages.docs = [{"message": {"large": LARGE}}, {"large": LARGE}]
    made.grown = 1  # processors have added much
    before = made.messages
    metrics = Metrics()
    Splitter(PayloadRoom(encoder(), LIMIT), metrics)(made)
    assert (made.messages.texts, made.messages.docs) == (before.texts, before.docs)
    assert metrics.events_split == 0


def test_a_batch_whose_events_fit_is_not_touched() -> None:
    made = batch(["a", "b"])
    before = made.messages
    Splitter(PayloadRoom(encoder(), LIMIT), Metrics())(made)
    assert made.messages is before


def test_what_processors_enlarged_is_measured_although_its_line_was_short() -> None:
    made = batch(["x" * 50])
    made.messages.texts[0] = "y" * 40_000
    made.grown = 40_000
    assert len(split(made, 100_000)) == 1
    made.grown = 40_000
    assert len(split(made, 30_000)) == 2


def test_a_payload_that_is_a_text_has_the_number_of_its_part_as_a_header() -> None:
    made = batch([LARGE])
    made.messages.docs = [{"log": {"part": "of the event"}}]
    Splitter(PayloadRoom(encoder(), LIMIT), Metrics())(made)
    headers = [dict(place) for place in PlaceHeaders()(made)]
    assert [place["log.part"] for place in headers] == [f"{n}/{len(headers)}" for n in range(1, len(headers) + 1)]


def plain_texts(batch: Batch) -> tuple[list[str], dict[int, str]]:
    return list(batch.messages.texts), {}


def test_texts_with_headers_beside_them_are_split_so_that_no_part_is_cut(subtests: pytest.Subtests) -> None:
    for size in range(1500, 6000, 50):
        with subtests.test(f"{size} bytes"):
            places = PlaceHeaders()
            made = batch(["x" * size])
            Splitter(PayloadRoom(FormatCodec(plain_texts, 2**31), LIMIT, places.size), Metrics())(made)
            assert "".join(FormatCodec(plain_texts, LIMIT, places.size).encode(made)) == "x" * size
            assert all(TRUNCATED not in flags for flags in made.messages.flags.values())


def test_a_text_that_is_longer_than_its_bytes_in_the_file_is_split() -> None:
    made = batch([LARGE])
    made.messages.lengths[0] = 20  # as of a container's message whose parts lie between those of another stream
    made.messages.end = 20
    assert "".join(record["message"] for record in split(made)) == LARGE


@pytest.mark.parametrize(
    "log", [{}, {"part": "x"}, {"part": {"number": 1}}, {"part": {"number": "\ud83d", "count": []}}]
)
def test_content_that_claims_to_be_a_part_ends_nothing(log: dict[str, Any]) -> None:
    made = batch(["x"])
    made.messages.flags[0] = (SPLIT,)
    made.messages.docs = [{"log": log}] if log else [{}]
    assert len(PlaceHeaders()(made)) == 1
