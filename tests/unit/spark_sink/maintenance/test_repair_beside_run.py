"""`repair` beside a `run` that was not stopped: one of the two is refused, and each line is there once."""

from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.spark_sink.errors import Refused
from log_shipper.spark_sink.kafka.offset_ranges import ranges_between
from log_shipper.spark_sink.landing.batch_writer import BatchWriter
from log_shipper.spark_sink.landing.startup import open_writer
from log_shipper.spark_sink.landing.tasks import LocalTasks
from log_shipper.spark_sink.maintenance.repair_dead_letter import DeadLetterRepair
from log_shipper.spark_sink.options.tables import ColumnConfig
from log_shipper.spark_sink.storage.tables import Unnamed
from tests.unit.spark_sink.landing.landing_lab import LandingLab, OpenStand

LEVEL = ColumnConfig(name="level", path="level", type="int", required=True)
REFUSED = (
    r"another process is writing to the table .*_marks: .*Stop the other process, or let it finish, and start this"
)


@pytest.fixture
def lab(tmp_path: Path) -> LandingLab:
    """A line, and a record that lacks a column which was required. `run` has landed them, and runs."""
    lab = LandingLab(tmp_path, columns=(LEVEL,))
    lab.start()
    lab.send_lines(0, level=1)
    lab.send_lines(10, level="warn")
    lab.land()
    lab.config = replace(lab.config, columns=(replace(LEVEL, required=False),))
    return lab


def repair(lab: LandingLab) -> BatchWriter:
    """Return the command after it has read what has landed."""
    return open_writer(LocalTasks(), lab.config, lambda: OpenStand(lab.kafka), lambda: lab.now, lab.logged.append)


def test_where_run_lands_a_batch_the_repair_is_refused_before_it_lands_anything(lab: LandingLab) -> None:
    writer = repair(lab)
    lab.send_lines(20, level=1)
    lab.land()
    with pytest.raises(Refused, match=REFUSED):
        DeadLetterRepair(writer, dry_run=False).land("level")
    assert (lab.lines(), sum(lab.reasons().values())) == ([("f", 0), ("f", 20)], 1)
    lab.send_lines(30, level=1)
    assert lab.land().rows == 1
    DeadLetterRepair(repair(lab), dry_run=False).land("level")  # `run` has been stopped
    assert (lab.lines(), lab.reasons()) == ([("f", 0), ("f", 10), ("f", 20), ("f", 30)], {})


def test_where_run_is_idle_the_repair_lands_and_run_is_refused_until_it_is_started_again(lab: LandingLab) -> None:
    DeadLetterRepair(repair(lab), dry_run=False).land("level")
    lab.send_lines(20, level=1)
    lab.send_lines(10, level=1)  # sent twice: the repair has landed it, and the `run` beside does not know
    with pytest.raises(Refused, match=REFUSED):
        lab.land()
    lab.start()
    lab.land()
    assert (lab.lines(), lab.reasons()) == ([("f", 0), ("f", 10), ("f", 20)], {})


def test_a_repair_from_kafka_is_refused_before_run_could_overwrite_that_it_has_begun(lab: LandingLab) -> None:
    writer = repair(lab)
    lab.send_lines(20, level=1)
    lab.land()
    with pytest.raises(Refused, match=REFUSED):
        writer.begin_repair()
    lab.start()  # which would be refused where a repair has begun
    assert lab.lines() == [("f", 0), ("f", 20)]


def test_while_a_repair_from_kafka_runs_an_idle_run_lands_nothing_and_is_not_started(lab: LandingLab) -> None:
    lab.delta().delete()
    writer = repair(lab)
    writer.begin_repair()
    lab.send_lines(20, level=1)
    for action in (lab.land, lab.start):
        with pytest.raises(Refused):
            action()
    writer.land(ranges_between({}, {("logs", 0): 1}), {}, Unnamed.NOT_A_BATCH)
    writer.finish_repair({})
    lab.start()
    lab.land()
    assert lab.lines() == [("f", 0), ("f", 20)]
