from log_shipper.shipper.event import Rejection
from log_shipper.shipper.pipeline.letter_counts import MAX_REASONS, OTHERS, LetterCounts
from tests.builders import batch


def test_reasons_that_differ_in_numbers_are_one_row_with_the_last_example() -> None:
    counts = LetterCounts()
    rejected = batch(["a", "bb", "c"])
    counts.add(rejected, Rejection(0, "it has 10 bytes"), 100.0)
    counts.add(rejected, Rejection(2, "it has 99 bytes"), 200.0)
    counts.add(rejected, Rejection(1, "no topic"), 150.0)
    first, second = counts.rows()
    assert (first.reason, first.count, first.last, first.path) == ("it has 99 bytes", 2, 200.0, rejected.source.path)
    assert first.offset == rejected.messages.offsets[2]
    assert (second.reason, second.count) == ("no topic", 1)


def test_there_are_never_more_than_some_reasons() -> None:
    counts = LetterCounts()
    for number in range(MAX_REASONS + 30):
        counts.add(batch(["a"]), Rejection(0, "x" * (number + 1)), 100.0)
    assert len(counts.rows()) == MAX_REASONS + 1
    assert (counts.rows()[0].reason, counts.rows()[0].count) == (OTHERS, 30)
