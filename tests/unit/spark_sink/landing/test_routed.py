"""A table for each topic, by a template; the rows of a batch are landed once in each."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.options.tables import TableConfig
from tests.unit.spark_sink.landing.landing_lab import NOON, Killed, LandingLab


@pytest.fixture
def routed(make_lab: Callable[..., LandingLab], tmp_path: Path) -> LandingLab:
    return make_lab(table=TableConfig(path=f"{tmp_path}/lake/%{{[topic]}}"))


def path(lab: LandingLab, topic: str) -> str:
    return f"{lab.directory}/lake/{topic}"


def test_each_topic_has_its_table_and_one_file_may_be_in_both(routed: LandingLab) -> None:
    routed.start()
    for topic in ("a", "b"):
        routed.send_lines(0, 10, topic=topic)
    routed.send(b"no JSON", topic="b")
    landed = routed.land()
    assert (landed.rows, landed.bad, landed.tables) == (4, 1, 2)
    routed.send_lines(10, 20, topic="a")
    assert routed.land().repeats == 1
    assert routed.lines(path(routed, "a")) == [("f", 0), ("f", 10), ("f", 20)]
    assert routed.lines(path(routed, "b")) == [("f", 0), ("f", 10)]


def test_the_tables_of_a_template_need_not_be_partitioned(routed: LandingLab) -> None:
    routed.config = replace(routed.config, table=replace(routed.config.table, partition_by="none"))
    routed.start()
    routed.send_lines(0, topic="a")
    assert routed.land().rows == 1
    assert [row.date for row in routed.rows(path(routed, "a"))] == [NOON.date()]


def test_a_batch_that_is_killed_between_two_tables_lands_once_in_each(routed: LandingLab) -> None:
    routed.start()
    routed.send_lines(0, topic="a")
    routed.land()
    for topic in ("a", "b", "c"):
        routed.send_lines(10, 20, topic=topic)
    with pytest.raises(Killed):
        routed.land("after rows")  # of the first table
    routed.start()
    routed.land()
    assert routed.lines(path(routed, "a")) == [("f", 0), ("f", 10), ("f", 20)]
    assert routed.lines(path(routed, "b")) == routed.lines(path(routed, "c")) == [("f", 10), ("f", 20)]


def test_without_its_marks_a_template_does_not_know_its_tables(routed: LandingLab) -> None:
    routed.start()
    routed.send_lines(0, topic="a")
    routed.land()
    routed.delta(routed.config.state_path).delete()
    with pytest.raises(Refused, match="it has the only list of the tables"):
        routed.start()


def test_without_marks_and_checkpoint_nothing_lands_again_in_the_tables_of_a_template(routed: LandingLab) -> None:
    routed.start()
    routed.send_lines(0, topic="a")
    routed.land()
    lose(routed)
    routed.start()
    with pytest.raises(
        Refused, match=rf"{path(routed, 'a')} has rows of a, but the marks table .* has no entry for it"
    ):
        routed.land()
    assert routed.lines(path(routed, "a")) == [("f", 0)]


def test_bad_records_alone_do_not_show_where_the_tables_of_a_template_end(routed: LandingLab) -> None:
    routed.start()
    routed.send(b"no JSON", topic="a")
    routed.send_lines(0, topic="a")
    routed.land()
    lose(routed)
    routed.config = replace(routed.config, start="table")
    with pytest.raises(Refused, match="it has the only list of the tables"):
        routed.start()


def test_files_that_are_not_partitioned_like_their_table_are_not_committed(routed: LandingLab) -> None:
    """Only the marks name the tables of a template: without them, the first batch finds the table."""
    routed.start()
    routed.send_lines(0, topic="a")
    routed.land()
    routed.delta(path(routed, "a")).delete()
    lose(routed)
    routed.config = replace(routed.config, table=replace(routed.config.table, partition_by="none"))
    routed.start()
    with pytest.raises(SinkError, match=r"lake/a: its new files are not partitioned as it is \(by date\)"):
        routed.land()
    routed.start()
    routed.land()
    assert [row.date for row in routed.rows(path(routed, "a"))] == [NOON.date()]


def lose(lab: LandingLab) -> None:
    """Lose the volume of the marks and the checkpoint."""
    shutil.rmtree(lab.config.state_path)
    shutil.rmtree(lab.config.checkpoint.path)
