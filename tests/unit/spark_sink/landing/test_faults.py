"""Faults that were found by thinking of what may happen between two steps; each lost a row, or landed it twice."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.kafka.bounds import Bounds
from log_shipper.spark_sink.options.bounds import Start
from log_shipper.spark_sink.options.parts import CheckpointConfig, DeadLetterConfig, DedupeConfig, StateConfig
from log_shipper.spark_sink.options.tables import TableConfig
from tests.capabilities import without_capabilities
from tests.unit.spark_sink.landing.landing_lab import Killed, LandingLab

Make = Callable[..., LandingLab]


@pytest.fixture
def routed(lab: LandingLab) -> LandingLab:
    """A table for each topic."""
    lab.config = replace(lab.config, table=TableConfig(path=f"{lab.directory}/of/%{{[topic]}}"))
    return lab


def new_checkpoint(lab: LandingLab, start: Start, name: str = "new") -> None:
    path = f"{lab.directory}/checkpoint_{name}"
    lab.config = replace(lab.config, checkpoint=CheckpointConfig(path=path), start=start)


def kill(lab: LandingLab, moment: str) -> None:
    with pytest.raises(Killed):
        lab.land(moment)
    lab.start()


def without_file(lab: LandingLab) -> bytes:
    """Nothing but its place in Kafka tells it from others."""
    return lab.line(0, log={})


@pytest.mark.parametrize("checkpoint", ["kept", "lost"])
def test_rows_in_a_table_that_the_killed_batch_made_are_found(routed: LandingLab, checkpoint: str) -> None:
    routed.start()
    routed.send_lines(0, topic="a")
    routed.land()
    routed.send(without_file(routed), topic="b")
    routed.send(without_file(routed), b"no JSON", topic="c")
    with pytest.raises(Killed):
        routed.land("after rows")
    if checkpoint == "lost":
        new_checkpoint(routed, "table")
    routed.start()
    routed.land()
    assert [len(routed.rows(f"{routed.directory}/of/{topic}")) for topic in "abc"] == [1, 1, 1]
    assert routed.reasons() == {"not JSON": 1}


def test_the_first_batch_of_all_is_whole_although_it_was_to_start_from_the_table(make_lab: Make) -> None:
    lab = make_lab(start="table")
    lab.start()
    lab.send_lines(0, 10)
    lab.send(b"no JSON")
    lab.send_lines(20)
    kill(lab, "after rows")
    lab.land()
    assert lab.lines() == [("f", 0), ("f", 10), ("f", 20)]
    assert lab.reasons() == {"not JSON": 1}


def test_rows_of_a_topic_that_was_recreated_are_not_orphans_of_the_old_one(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(*range(0, 100, 10))
    lab.land()
    lab.kafka.recreate("logs")
    lab.kafka.made.clear()  # a broker that gives topics no ids
    lab.now += 60
    lab.send_lines(100)
    lab.land()  # Spark reads on from the end that it finds
    lab.start()
    lab.send_lines(110, 120)
    assert lab.land().rows == 2


def test_a_topic_that_was_recreated_is_recognised_however_long_it_is(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0)
    lab.send_lines(0, topic="other")
    lab.land()
    lab.start()  # nothing is new
    lab.send_lines(10)
    lab.land()
    lab.kafka.recreate("other")
    lab.send_lines(*range(0, 50, 10), topic="other")
    with pytest.raises(
        Refused, match=r"topic other was deleted and re-created.*made 0 times, and is.*made 1.*repair --from-kafka"
    ):
        lab.start()


def test_a_topic_that_a_running_sink_has_found_is_recognised_when_it_is_recreated(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0)
    lab.land()
    lab.send_lines(0, 10, topic="later")
    lab.land()
    lab.kafka.recreate("later")
    lab.send_lines(*range(0, 50, 10), topic="later")
    with pytest.raises(Refused, match="the topic later was deleted and re-created"):
        lab.start()


def test_a_new_topic_that_kafka_does_not_know_delays_nothing(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0)
    lab.land()
    known = lab.kafka.ids({"later"})
    answers: Iterator[SinkError | dict[str, str]] = iter([SinkError("gone"), known])
    asked: list[set[str]] = []

    class Broker:
        earliest = lab.kafka.earliest

        def ids(self, topics: set[str]) -> dict[str, str]:
            asked.append(topics)
            if isinstance(answer := next(answers), SinkError):
                raise answer
            return answer

    lab.callback.broker = Broker()
    for offset in (0, 10, 20):
        lab.send_lines(offset, file="g", topic="later")
        assert lab.land().rows == 1
    assert asked == [{"later"}, {"later"}]  # with the first batch, again with the second, and never more


def test_what_a_killed_batch_left_in_a_table_does_not_land_in_another_one(routed: LandingLab) -> None:
    routed.start()
    routed.send_lines(0, topic="a")
    routed.land()
    routed.send(without_file(routed), b"no JSON", topic="b")
    with pytest.raises(Killed):
        routed.land("after bad")
    other = f"{routed.directory}/of/other/%{{[topic]}}"
    routed.config = replace(
        routed.config,
        table=replace(routed.config.table, path=other),
        state=StateConfig(path=routed.config.state_path),
        dead_letter=DeadLetterConfig(path=routed.config.dead_letter_path),
    )
    routed.start()
    routed.send_lines(20, topic="b")
    assert routed.land().rows == 0
    assert routed.land().rows == 1
    assert len(routed.rows(f"{routed.directory}/of/b")) == 1
    assert routed.lines(f"{routed.directory}/of/other/b") == [("f", 20)]
    assert routed.reasons() == {"not JSON": 1}


def test_a_restore_beside_the_running_sink_is_refused_before_more_lands(lab: LandingLab) -> None:
    """The next commit would be the version from which on the next start looks for one."""
    lab.start()
    for offset in (0, 10):
        lab.send_lines(offset)
        lab.land()
    lab.delta().optimize.compact()
    lab.send_lines(20)
    assert lab.land().rows == 1
    lab.delta().restore(1)
    lab.send_lines(30)
    with pytest.raises(Refused, match=r"is a RESTORE.*repair --from-kafka"):
        lab.land()
    with pytest.raises(Refused, match=r"is a RESTORE.*repair --from-kafka"):
        lab.start()
    assert lab.lines() == [("f", 0)]


def test_a_lost_range_that_is_recorded_already_is_no_bad_record_less(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0)
    lab.land()
    lab.send_lines(10, 20)
    lab.kafka.deleted["logs", 0] = 2
    kill(lab, "after bad")
    lab.send(b"no JSON")
    assert lab.land().bad == 0
    assert lab.land().bad == 1
    assert len(lab.dead()) == 2


def test_a_deleted_topic_that_brings_nothing_delays_nothing(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0)
    lab.send_lines(0, topic="other")
    lab.land()
    lab.send_lines(10)
    kill(lab, "before rows")
    del lab.kafka.records["other", 0]
    lab.start()
    assert lab.land().rows == 1


def test_a_batch_is_cut_by_the_marks_only_where_they_are_its_own(lab: LandingLab) -> None:
    """Somebody empties the table and lands the topic again, by a new checkpoint."""
    lab.start()
    lab.send_lines(0, 10, 20)
    lab.land()
    lab.delta().delete()
    new_checkpoint(lab, "earliest")
    lab.start()
    kill(lab, "before rows")
    lab.land()
    assert lab.lines() == [("f", 0), ("f", 10), ("f", 20)]


def test_a_batch_that_a_bounded_run_left_half_landed_goes_on_without_the_bounds(lab: LandingLab) -> None:
    lab.bounds = Bounds({("logs", 0): 2})
    lab.start()
    lab.send(b"no JSON")
    lab.send_lines(0, 10)
    lab.send(b"no JSON either")
    with pytest.raises(Killed):
        lab.land("after bad")
    lab.bounds = None
    lab.start()
    lab.land()
    assert lab.lines() == [("f", 0), ("f", 10)]
    assert lab.reasons() == {"not JSON": 2}


def test_what_landed_while_dedupe_was_off_is_known_when_it_is_on_again(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0)
    lab.land()
    on, lab.config = lab.config, replace(lab.config, dedupe=DedupeConfig(enabled=False))
    lab.start()
    lab.send_lines(10, 20)
    lab.send_lines(0, file="g")
    lab.land()
    lab.config = on
    lab.start()
    lab.send_lines(10, 20, 30)
    lab.send_lines(0, file="g")
    landed = lab.land()
    assert (landed.rows, landed.repeats) == (1, 3)


def overtake_checkpoint(lab: LandingLab) -> None:
    """Land a record by the checkpoint of the configuration, and one more by a new one; then configure the old again."""
    lab.start()
    lab.send(without_file(lab))
    lab.land()
    old = lab.config
    new_checkpoint(lab, "table")
    lab.start()
    lab.send(without_file(lab))
    lab.land()
    lab.config = old


def test_an_older_checkpoint_is_renamed_after_another_one_went_on(lab: LandingLab) -> None:
    overtake_checkpoint(lab)
    lab.start()
    assert (
        "it resumes topic logs, partition 0 at 1, but offsets up to 1 have landed. It was renamed to" in lab.logged[-2]
    )
    lab.send(without_file(lab))
    assert [lab.land().rows, len(lab.rows())] == [1, 3]


def test_an_older_checkpoint_that_cannot_be_renamed_is_moved_away_by_hand(lab: LandingLab) -> None:
    """Its directory is a mount point, or the one above is read-only."""
    new_checkpoint(lab, "earliest", "volume/old")
    overtake_checkpoint(lab)
    path = Path(lab.config.checkpoint.path)
    path.parent.chmod(0o555)
    message = f"{path} was set back, .*: Permission denied. Move its contents away"
    with without_capabilities(), pytest.raises(Refused, match=message):
        lab.start()
    path.parent.chmod(0o755)
    path.rename(path.with_name("away"))
    path.mkdir()
    lab.start()
    lab.send(without_file(lab))
    assert [lab.land().rows, len(lab.rows())] == [1, 3]


def test_a_checkpoint_of_a_first_batch_is_renamed_after_another_one_went_on(lab: LandingLab) -> None:
    """Its batch would set the ends back, and the bad records behind them would land again."""
    lab.start()
    lab.send(b"no JSON")
    with pytest.raises(Killed):
        lab.land("before commit")
    old = lab.config
    new_checkpoint(lab, "earliest")
    lab.start()
    lab.send(b"no JSON either")
    lab.land()
    lab.config = old
    lab.start()
    lab.send(b"nor this")
    lab.land()
    assert lab.reasons() == {"not JSON": 3}


def test_a_time_that_python_has_no_date_for_does_not_end_the_job(lab: LandingLab) -> None:
    lab.start()
    for time in ("0001-01-01T00:00:00+05:00", "0000-01-01T00:00:00Z", "9999-12-31T23:00:00-05:00"):
        stamped: dict[str, Any] = {"@timestamp": time}
        lab.send(lab.line(0, **stamped))
    lab.send_lines(10)
    landed = lab.land()
    assert (landed.rows, landed.bad) == (1, 3)
