"""A batch is landed once, wherever an earlier run of it was cut off, whatever became of the checkpoint."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from log_shipper.spark_sink.errors import Refused
from log_shipper.spark_sink.kafka.bounds import Bounds
from log_shipper.spark_sink.options.bounds import Start
from log_shipper.spark_sink.options.parts import CheckpointConfig
from tests.unit.spark_sink.landing.landing_lab import Killed, LandingLab

# What is on disk then differs; killed before the bad records is as killed after the rows.
MOMENTS = ["before rows", "after rows", "after bad", "after marks"]
SECOND_RUN = "another process is writing to the table .*_marks: a second spark-sink run"
each_moment = pytest.mark.parametrize("moment", MOMENTS)


def send_a_batch(lab: LandingLab, first: int) -> None:
    lab.send_lines(*range(first, first + 50, 10))
    lab.send_lines(first, file="g", partition=1)
    lab.send(b"no JSON", lab.line(0, log={}), partition=1)


def expect_all(lab: LandingLab) -> None:
    rows = [(row.file_id, row.offset) for row in lab.rows(where="file_id IS NOT NULL")]
    assert sorted(rows) == [("f", offset) for offset in range(0, 150, 10)] + [("g", 0), ("g", 50), ("g", 100)]
    assert len(lab.rows(where="file_id IS NULL")) == 3
    assert lab.reasons() == {"not JSON": 3}


def expect_the_rest_of_the_next_run(lab: LandingLab) -> None:
    """After one with bounds."""
    lab.bounds = None
    lab.start()
    lab.catch_up()
    for first in (50, 100):
        send_a_batch(lab, first)
        lab.land()
    expect_all(lab)


def new_checkpoint(lab: LandingLab, start: Start) -> None:
    path = f"{lab.config.checkpoint.path}_new"
    lab.config = replace(lab.config, checkpoint=CheckpointConfig(path=path), start=start)


seldom = pytest.mark.slow("the other moments of the first batch and all of the second are in the gate")


@pytest.mark.parametrize(
    ("moment", "batch"),
    [
        pytest.param(moment, batch, marks=[seldom] if (moment, batch) in [("before rows", 0), ("after bad", 0)] else [])
        for moment in MOMENTS
        for batch in (0, 1)
    ],
)
def test_a_batch_that_is_killed_lands_once_when_it_runs_again(lab: LandingLab, moment: str, batch: int) -> None:
    lab.start()
    for number in range(batch):
        send_a_batch(lab, 50 * number)
        lab.land()
    send_a_batch(lab, 50 * batch)
    with pytest.raises(Killed):
        lab.land(moment)
    lab.start()
    lab.land()
    for number in range(batch + 1, 3):
        send_a_batch(lab, 50 * number)
        lab.land()
    expect_all(lab)
    lab.send_lines(*range(100, 150, 10))  # a shipper that sends again what was landed before the kill
    assert lab.land().repeats == 5


@each_moment
def test_a_lost_checkpoint_loses_nothing(lab: LandingLab, moment: str) -> None:
    lab.start()
    send_a_batch(lab, 0)
    lab.land()
    send_a_batch(lab, 50)
    with pytest.raises(Killed):
        lab.land(moment)
    new_checkpoint(lab, "earliest")
    lab.start()
    assert f"the checkpoint {lab.config.checkpoint.path} is new; resuming where the marks end" in lab.logged[-2:][0]
    send_a_batch(lab, 100)
    lab.land()
    expect_all(lab)


def test_a_new_checkpoint_begins_once_also_where_there_was_nothing_to_land(lab: LandingLab) -> None:
    lab.start()
    send_a_batch(lab, 0)
    lab.land()
    new_checkpoint(lab, "table")
    lab.start()
    lab.config = replace(lab.config, start="earliest")
    lab.start()
    for first in (50, 100):
        send_a_batch(lab, first)
        lab.land()
    expect_all(lab)


def test_a_second_process_with_the_same_checkpoint_is_refused_instead_of_skipped(lab: LandingLab) -> None:
    lab.start()
    send_a_batch(lab, 0)
    with pytest.raises(Killed):
        lab.land("before rows")
    first = lab.writer, lab.callback
    lab.start()
    lab.land()
    lab.writer, lab.callback = first
    (Path(lab.config.checkpoint.path) / "commits" / "0").unlink()
    lab.send_lines(0, file="h")
    with pytest.raises(Refused, match=SECOND_RUN):
        lab.land()


def test_a_second_process_with_another_checkpoint_is_refused_before_it_lands_anything(lab: LandingLab) -> None:
    lab.start()
    send_a_batch(lab, 0)
    lab.land()
    config, first = lab.config, (lab.checkpoint, lab.writer, lab.callback)
    lab.config = replace(config, checkpoint=CheckpointConfig(path=str(lab.directory / "other")), start="table")
    lab.start()
    landed = len(lab.rows())
    lab.config, (lab.checkpoint, lab.writer, lab.callback) = config, first
    lab.send_lines(100)
    with pytest.raises(Refused, match=SECOND_RUN):
        lab.land()
    assert len(lab.rows()) == landed


def set_back(lab: LandingLab) -> None:
    """Land two batches, and let the checkpoint know the first one only."""
    lab.start()
    for number in range(2):
        send_a_batch(lab, 50 * number)
        lab.land()
    for name in ("offsets/1", "commits/1"):
        (Path(lab.config.checkpoint.path) / name).unlink()


def test_a_checkpoint_that_was_set_back_is_renamed_and_a_new_one_continues(lab: LandingLab) -> None:
    set_back(lab)
    path = Path(lab.config.checkpoint.path)
    path.with_name(f"{path.name}.1").mkdir()  # of an earlier time
    lab.start()
    assert f"{lab.config.table.path} has batch 1, but the last planned batch is 0" in lab.logged[0]
    assert f"renamed to {path}.2; a new one resumes" in lab.logged[0]
    assert [(path.with_name(f"{path.name}.2") / "offsets" / "0").exists(), (path / "offsets" / "0").exists()] == [
        True,
        False,
    ]
    send_a_batch(lab, 100)
    lab.land()
    expect_all(lab)


def test_a_checkpoint_that_was_set_back_before_a_batch_of_repeats_is_renamed(lab: LandingLab) -> None:
    """Only the marks have the batch: the name of its commit there is used."""
    lab.start()
    send_a_batch(lab, 0)
    lab.land()
    path = Path(lab.config.checkpoint.path)
    shutil.rmtree(path)
    lab.start()  # a new checkpoint, with no batch yet
    backup = shutil.copytree(path, path.with_name("backup"))
    lab.send_lines(0, 10, 20)
    assert lab.land().rows == 0
    shutil.rmtree(path)
    backup.rename(path)
    lab.start()
    assert f"{lab.config.state_path} has batch 0, but the last planned batch is -1" in lab.logged[-2]
    send_a_batch(lab, 50)
    lab.land()
    send_a_batch(lab, 100)
    lab.land()
    expect_all(lab)


def test_a_checkpoint_that_was_set_back_is_refused_where_the_marks_are_lost_too(lab: LandingLab) -> None:
    set_back(lab)
    lab.delta(lab.config.state_path).delete()
    with pytest.raises(Refused, match=r"has batch 1, but the last planned batch is 0\. .*start: table"):
        lab.start()
    assert Path(lab.config.checkpoint.path).exists()


def test_without_checkpoint_and_marks_rows_are_not_landed_again(lab: LandingLab) -> None:
    lab.start()
    send_a_batch(lab, 0)
    lab.land()
    lab.delta(lab.config.state_path).delete()
    new_checkpoint(lab, "earliest")
    with pytest.raises(Refused, match=r"already has rows of logs.* has no entry for these topics.*start: table"):
        lab.start()


def test_a_restored_table_is_refused_and_the_repair_named(lab: LandingLab) -> None:
    lab.start()
    for number in range(3):
        send_a_batch(lab, 50 * number)
        lab.land()
    lab.delta().restore(1)
    with pytest.raises(Refused, match=r"version 4 is a RESTORE.*repair --from-kafka"):
        lab.start()


def test_a_table_with_a_column_of_another_type_is_refused_and_stays_as_it_is(lab: LandingLab) -> None:
    rows = {"date": [date(2026, 11, 21)], "topic": ["logs"], "partition": [0], "kafka_offset": [0], "doc": [1]}
    write_deltalake(lab.config.table.path, pa.table(rows), partition_by=["date"])
    lab.config = replace(lab.config, start="table")
    with pytest.raises(Refused, match=r"the column doc of the table \S+ is bigint, but string in the configuration"):
        lab.start()
    assert lab.delta().version() == 0


@pytest.mark.parametrize("moment", ["", "after rows", "before commit"])
def test_a_run_with_bounds_leaves_the_rest_to_the_next_one(lab: LandingLab, moment: str) -> None:
    lab.bounds = Bounds({("logs", 0): 2, ("logs", 1): 1})
    lab.start()
    send_a_batch(lab, 0)
    if moment:
        with pytest.raises(Killed):
            lab.land(moment)
        lab.start()
    lab.land()
    assert lab.batches[-1].ends == {("logs", 0): 2, ("logs", 1): 1}
    assert lab.lines() == [("f", 0), ("f", 10), ("g", 0)]
    expect_the_rest_of_the_next_run(lab)


def test_tables_without_marks_are_adopted(lab: LandingLab, make_lab: Callable[..., LandingLab]) -> None:
    lab.start()
    send_a_batch(lab, 0)
    lab.land()
    lab.delta(lab.config.state_path).delete()
    lab.start()
    assert "rebuilding the marks from the rows" in lab.logged[-1]
    lab.send_lines(40, 50)
    assert lab.land().repeats == 1
    lab.start()
    assert lab.writer.marks.of_table(lab.config.table.path)["web-1", "g"].offset == 0


def test_marks_that_were_lost_after_a_run_with_bounds_cost_no_line(lab: LandingLab) -> None:
    """The checkpoint has read all of it; the tables hold what lay below the bounds."""
    lab.bounds = Bounds({("logs", 0): 2, ("logs", 1): 1})
    lab.start()
    send_a_batch(lab, 0)
    lab.land()
    lab.delta(lab.config.state_path).delete()
    expect_the_rest_of_the_next_run(lab)


def test_what_kafka_deleted_before_it_was_read_is_recorded(lab: LandingLab) -> None:
    lab.start()
    lab.send_lines(0, 10)
    lab.land()
    lab.send_lines(20, 30, 40)
    lab.kafka.deleted["logs", 0] = 4
    landed = lab.land()
    assert (landed.rows, landed.lost, landed.bad) == (1, 2, 0)
    [row] = lab.dead()
    assert (row.topic, row.partition, row.kafka_offset, row.last_offset) == ("logs", 0, 2, 3)
