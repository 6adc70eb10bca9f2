"""Where a batch is taken apart, and what its pieces have of it."""

import pytest

from log_shipper.shipper.event import Batch, Doc, Growth, Messages
from log_shipper.shipper.pipeline.pieces import PIECE_BYTES, size_of, split_batch
from tests.builders import batch, messages, nothing, source


@pytest.mark.parametrize(
    ("lengths", "growth", "pieces"),
    [
        ([10] * 5, Growth(PIECE_BYTES // 20, PIECE_BYTES), [2, 2, 1]),
        ([10] * 5, Growth(PIECE_BYTES // 20, PIECE_BYTES // 6), [5]),  # however much it grows, an event adds no more
        ([10] * 5, Growth(PIECE_BYTES, PIECE_BYTES), [1] * 5),
        ([10] * 5, Growth(PIECE_BYTES // 50, PIECE_BYTES), [5]),
        ([1, 1, 100, 1, 1], Growth(PIECE_BYTES // 10, 10 * PIECE_BYTES), [2, 1, 2]),
        ([10], Growth(PIECE_BYTES, PIECE_BYTES), [1]),
    ],
)
def test_a_piece_ends_before_the_event_with_which_it_could_become_too_much(
    lengths: list[int], growth: Growth, pieces: list[int]
) -> None:
    made = batch(["x" * (length - 1) for length in lengths])
    parts = split_batch(made, growth)
    assert [part.events for part in parts] == pieces
    assert [text for part in parts for text in part.messages.texts] == made.messages.texts
    assert sum(part.size for part in parts) == made.size
    assert [part.messages.start for part in parts[1:]] == [part.messages.end for part in parts[:-1]]


def test_pieces_resolve_their_batch_once_all_of_them_are_resolved() -> None:
    resolved: list[str] = []
    parts = split_batch(
        batch(["a", "b", "c"], resolve=lambda: resolved.append("yes")), Growth(PIECE_BYTES, PIECE_BYTES)
    )
    for part in (parts[2], parts[0], parts[0]):
        part.resolve()
    assert resolved == []
    parts[1].resolve()
    parts[1].resolve()
    assert resolved == ["yes"]


def test_dropped_lines_and_entangled_messages_are_counted_once() -> None:
    """Between messages there may be dropped ones, and a message may begin before the one in front of it ends."""
    run = Messages(
        100, 200, ["a", "b", "c"], [110, 105, 150], [30, 60, 10], {1: ("multiline",)}, docs=[{}, {"n": 1}, {}]
    )
    made = Batch(source(), run, 0.0, nothing)
    parts = split_batch(made, Growth(PIECE_BYTES, PIECE_BYTES))
    assert [(part.messages.start, part.messages.end) for part in parts] == [(100, 105), (105, 150), (150, 200)]
    assert [part.messages.flags for part in parts] == [{}, {0: ("multiline",)}, {}]
    assert [part.messages.docs for part in parts] == [[{}], [{"n": 1}], [{}]]


def test_the_size_is_that_of_texts_and_of_all_that_is_in_documents() -> None:
    run = messages(["x" * 1000])
    run.docs = [{"a": {"b" * 1000: ["c" * 1000, b"d" * 1000]}, "e": "\U0001f600" * 1000}]
    assert 8000 < size_of(run, 10**9) < 10_000
    assert size_of(run, 1) < 10_000


def test_looking_for_the_size_ends_when_it_is_enough() -> None:
    run = messages(["x"])
    run.docs = [{"a": [[] for _ in range(100_000)]}]
    assert 10**6 <= size_of(run, 10**6) < 2 * 10**6


@pytest.mark.parametrize("docs", [None, [{"headers": [{"body": "y" * 15}]}, {}]])
def test_what_is_counted_by_records_is_taken_apart_by_its_texts(docs: list[Doc] | None) -> None:
    """The offsets of Kafka and of a journal say nothing of the size."""
    run = Messages(7, 9, ["x" * 20, "x" * 20], [7, 8], [1, 1], docs=docs)
    made = Batch(source(), run, 0.0, nothing, raw=400)
    growth = Growth(PIECE_BYTES // 30, PIECE_BYTES)
    assert [part.events for part in split_batch(made, growth)] == [1, 1]
    assert [part.size for part in split_batch(made, growth)] == [200, 200]
    small = Batch(source(), Messages(7, 9, ["x" * 5, "x" * 5], [7, 8], [1, 1]), 0.0, nothing)
    assert len(split_batch(small, growth)) == 1
