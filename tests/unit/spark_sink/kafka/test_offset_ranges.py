"""Ranges of offsets, and their shares."""

import random

from log_shipper.spark_sink.kafka.offset_ranges import OffsetRange, ranges_between, split_into_shares
from tests.model.seeds import for_each_seed


def test_a_range_lies_between_each_start_and_end() -> None:
    starts = {("a", 0): 5, ("a", 1): 3}
    ends = {("a", 1): 3, ("a", 0): 8, ("c", 2): 2}
    assert ranges_between(starts, ends) == [OffsetRange("a", 0, 5, 8), OffsetRange("c", 2, 0, 2)]


def test_a_partition_that_ends_before_its_start_was_recreated_and_is_read_from_its_first_record() -> None:
    assert ranges_between({("b", 0): 9}, {("b", 0): 7}) == [OffsetRange("b", 0, 0, 7)]
    assert ranges_between({("b", 0): 9}, {("b", 0): 0}) == []


def test_few_offsets_are_one_share() -> None:
    ranges = [OffsetRange("a", 0, 0, 40), OffsetRange("a", 1, 7, 60)]
    assert split_into_shares(ranges, max_shares=4, min_offsets=50) == [ranges]
    assert split_into_shares([], max_shares=4, min_offsets=50) == []


def test_a_large_partition_is_cut_between_the_cores() -> None:
    assert split_into_shares([OffsetRange("a", 0, 10, 110)], max_shares=2, min_offsets=10) == [
        [OffsetRange("a", 0, 10, 60)],
        [OffsetRange("a", 0, 60, 110)],
    ]


@for_each_seed(200)
def test_shares_are_equal_and_have_every_offset_once(seed: int) -> None:
    dice = random.Random(seed)
    starts = {("a", number): dice.randrange(50) for number in range(dice.randrange(1, 6))}
    ranges = ranges_between(starts, {place: start + dice.randrange(80) for place, start in starts.items()})
    most, least = dice.randrange(1, 8), dice.randrange(1, 60)
    made = split_into_shares(ranges, most, least)
    offsets = [(piece.place, offset) for share in made for piece in share for offset in range(piece.start, piece.end)]
    assert offsets == [(piece.place, offset) for piece in ranges for offset in range(piece.start, piece.end)]
    sizes = [sum(map(len, share)) for share in made]
    assert len(sizes) <= most
    assert not sizes or max(sizes) - min(sizes) <= 1
    assert len(sizes) <= 1 or min(sizes) >= least
