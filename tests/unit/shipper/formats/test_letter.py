from typing import Any

import pytest

from log_shipper.shipper.event import DELETED, MULTILINE, Batch, Constants, Rejection
from log_shipper.shipper.formats.letter import Letter, written
from tests.builders import batch, encoder, nothing

NOW = 1_763_000_000.0


def sent_again(made: Batch, index: int) -> Batch:
    return Letter.parsed(written(made, Rejection(index, "x", "logs"), NOW)).batch(nothing)


@pytest.mark.parametrize("time", [0.0, 1.001, 1_763_000_000.123, 1_763_000_000.999, 1_763_000_000.0])
def test_an_event_that_is_sent_again_is_the_record_that_it_would_have_been(time: float) -> None:
    made = batch(["fine", "b\xe4d\x01", "last"], start=7, time=time)
    made.messages.flags[1] = (MULTILINE,)
    assert encoder().encode(sent_again(made, 1)) == [encoder().encode(made)[1]]


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"http": {"code": 200}, "host": {"name": "other"}},
        {"host": DELETED, "tags": DELETED},
        {"@timestamp": "2025-01-01T00:00:00.000Z", "log": {"level": "warn"}},
        {"n": 1.5, "none": None, "deep": [{"a": [1, "x"]}]},
    ],
)
def test_what_parsers_and_processors_added_is_sent_again_too(event: dict[str, Any]) -> None:
    made = batch(["text", ""])
    made.messages.docs = [event, {"message": {"a": 1}, **event}]
    for index in (0, 1):
        assert encoder().encode(sent_again(made, index)) == [encoder().encode(made)[index]]


def test_the_key_and_the_place_in_the_file_are_those_of_the_event() -> None:
    again = sent_again(batch(["a", "bc"], file_id="f9", start=5), 1)
    assert (again.source.file_id, again.messages.offsets, again.messages.lengths, again.size) == ("f9", [7], [3], 3)
    assert (again.source.input_id, again.source.input_type, again.source.inode) == ("app", "filestream", 811)


@pytest.mark.parametrize("line", [b"", b"{", b"[]\n", b"1", b'{"time":"x"}\n', b'{"message":"alone"}\n'])
def test_what_is_not_a_letter_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match="this release cannot read it as a dead letter"):
        Letter.parsed(line)


@pytest.mark.parametrize("origin", [None, "x", {"id": "app"}])
def test_an_event_of_which_processors_left_little_is_sent_again(origin: object) -> None:
    made = batch(["a"])
    made.constants = Constants({"log": {"file": {"id": "f1"}}, **({} if origin is None else {"input": origin})})
    again = sent_again(made, 0)
    assert encoder().encode(again) == encoder().encode(made)
    assert again.source.file_id == "f1"
