import pytest

from spark_sink.kafka.lost import Lost, ranges, suspects

P = ("logs", 0)


@pytest.mark.parametrize(
    ("start", "end", "came", "earliest", "missing"),
    [
        pytest.param(10, 20, 10, 0, None, id="all is there"),
        pytest.param(10, 20, 15, 0, None, id="a gap alone, as transactions leave it"),
        pytest.param(10, 20, None, 0, None, id="nothing but a transaction's markers"),
        pytest.param(10, 20, 10, 10, None, id="the first record is the broker's first"),
        pytest.param(10, 20, 13, 13, (10, 12), id="deleted before it was read"),
        pytest.param(10, 20, 15, 12, (10, 11), id="deleted, and a gap behind it"),
        pytest.param(10, 20, 13, 18, (10, 12), id="more was deleted after the reading"),
        pytest.param(10, 20, 10, 18, None, id="all of it was deleted after the reading"),
        pytest.param(10, 20, None, 30, (10, 19), id="the whole batch"),
        pytest.param(10, 20, None, 20, (10, 19), id="the whole batch and no more"),
        pytest.param(None, 20, 5, 5, (0, 4), id="a new partition that does not begin at 0"),
        pytest.param(None, 20, 0, 0, None, id="a new partition"),
        pytest.param(20, 20, None, 30, None, id="an empty batch"),
        pytest.param(20, 5, None, 0, (0, 4), id="re-created, and Spark reads on from the new end"),
        pytest.param(20, 5, None, 2, (2, 4), id="re-created, and shortened"),
        pytest.param(20, 5, 0, 0, None, id="re-created, and read from its beginning"),
        pytest.param(20, 30, 0, 0, None, id="re-created, and longer than the old one"),
        pytest.param(20, 0, None, 0, None, id="re-created, and empty"),
    ],
)
def test_only_what_the_broker_deleted_before_it_came_is_lost(
    start: int | None, end: int, came: int | None, earliest: int, missing: tuple[int, int] | None
) -> None:
    starts = {} if start is None else {P: start}
    expected = [] if missing is None else [Lost("logs", 0, *missing)]
    firsts = {} if came is None else {P: came}
    assert ranges(starts, {P: end}, firsts, {P: earliest}) == expected
    if expected:
        assert suspects(starts, {P: end}, {P: earliest}) == {P}


def test_in_an_ordinary_batch_no_partition_has_to_be_asked() -> None:
    assert suspects({P: 10, ("b", 1): 0}, {P: 20, ("b", 1): 5}, {P: 10, ("b", 1): 0}) == set()


def test_a_lost_range_is_described_by_topic_partition_and_offsets() -> None:
    assert str(Lost("logs", 0, 10, 1999)) == "topic logs, partition 0: offsets 10 to 1999"
    assert Lost("logs", 0, 10, 1999).count == 1990
