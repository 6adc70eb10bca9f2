"""A topic that was taken out of the configuration and comes back: Spark reads it from Kafka's first record."""

import pytest

from tests.unit.spark_sink.landing.landing_lab import Killed, LandingLab


def send(lab: LandingLab, offset: int, *topics: str) -> None:
    """Four records: a line, one without a file's id, and two that are bad."""
    for topic in topics:
        lab.send_lines(offset, file=topic, topic=topic)
        lab.send(lab.line(offset, log={}), b"no JSON", None, topic=topic)


def expect(lab: LandingLab, *topics: str) -> None:
    """Eight records of each topic, each once."""
    landed = lab.rows()
    wanted = [(topic, offset) for topic in topics for offset in (0, 1, 4, 5)]
    assert sorted((row.topic, row.kafka_offset) for row in landed) == wanted
    bad = [row for row in lab.dead() if row.last_offset is None]
    wanted = [(topic, offset) for topic in topics for offset in (2, 3, 6, 7)]
    assert sorted((row.topic, row.kafka_offset) for row in bad) == wanted


def without(lab: LandingLab, topic: str) -> None:
    lab.left_out = {topic}
    lab.start()


def with_all(lab: LandingLab) -> None:
    lab.left_out = set()
    lab.start()


def land(lab: LandingLab, moment: str) -> None:
    """Kill a batch at that moment and continue after it; "" kills none."""
    if moment:
        with pytest.raises(Killed):
            lab.land(moment)
        lab.start()
    lab.land()


@pytest.mark.slow("five batches each; a topic that comes back is in the gate by the tests below")
@pytest.mark.parametrize(
    ("moment", "killed"),
    [
        ("", 0),
        ("before rows", 1),
        ("after marks", 1),
        ("after rows", 6),
        ("before commit", 6),
    ],
)
def test_of_a_topic_that_comes_back_each_record_lands_once(lab: LandingLab, moment: str, killed: int) -> None:
    """The batch that is killed ends in front of what had landed, or behind it."""
    lab.start()
    send(lab, 0, "back", "stays")
    lab.land()
    without(lab, "back")
    send(lab, 10, "back", "stays")
    assert lab.land().rows == 2
    with_all(lab)
    assert lab.logged[-2].startswith("back/0: missing from the checkpoint, although")
    for end in (1, 6, 8):
        lab.limits = {("back", 0): end}
        land(lab, moment if end == killed else "")
    expect(lab, "back", "stays")
    count = len(lab.logged)
    lab.start()
    assert len(lab.logged) == count  # all is as it was


@pytest.mark.parametrize(
    "ends", [(6,), pytest.param((6, 2), marks=pytest.mark.slow("the same once more, after the mark went back"))]
)
def test_a_topic_may_come_back_before_it_was_read_to_where_it_was(lab: LandingLab, ends: tuple[int, ...]) -> None:
    lab.start()
    send(lab, 0, "back", "stays")
    send(lab, 10, "back", "stays")
    lab.land()
    for end in ends:
        lab.limits = {("back", 0): end}
        without(lab, "back")
        lab.land()
        with_all(lab)
        land(lab, "before rows")
    lab.limits = {}
    lab.land()
    expect(lab, "back", "stays")


@pytest.mark.parametrize("moment", ["", "after rows", "after marks"])
def test_a_topic_may_come_back_while_a_batch_without_it_is_planned(lab: LandingLab, moment: str) -> None:
    lab.start()
    send(lab, 0, "back", "stays")
    lab.land()
    without(lab, "back")
    send(lab, 10, "back", "stays")
    if moment:
        with pytest.raises(Killed):
            lab.land(moment)
    with_all(lab)
    lab.catch_up()
    lab.land()  # the one without it
    lab.land()
    expect(lab, "back", "stays")


def test_a_topic_that_comes_back_as_another_one_loses_nothing(lab: LandingLab) -> None:
    """Of a broker that tells no ids, so the sink cannot know."""
    lab.kafka.has_ids = False
    lab.start()
    send(lab, 0, "back", "stays")
    lab.land()
    without(lab, "back")
    lab.land()
    lab.kafka.recreate("back")
    lab.now += 3600
    lab.send_lines(0, 10, file="new", topic="back")
    with_all(lab)
    assert lab.land().rows == 2


@pytest.mark.parametrize(("first", "lost"), [(2, []), (6, [(4, 5)])])
def test_what_kafka_deleted_of_a_topic_that_was_away_is_reported(
    lab: LandingLab, first: int, lost: list[tuple[int, int]]
) -> None:
    lab.start()
    send(lab, 0, "back", "stays")
    lab.land()
    without(lab, "back")
    send(lab, 10, "back", "stays")
    lab.land()
    lab.kafka.deleted["back", 0] = first
    with_all(lab)
    lab.land()
    assert [(row.kafka_offset, row.last_offset) for row in lab.dead() if row.last_offset is not None] == lost
    assert sorted(row.kafka_offset for row in lab.rows(where="topic = 'back'")) == sorted(
        {0, 1, 4, 5} - {offset for low, high in lost for offset in range(low, high + 1)}
    )
