"""Tables that were emptied or deleted, with the checkpoint that they had or a new one."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.spark_sink.errors import Refused
from log_shipper.spark_sink.options.parts import CheckpointConfig
from tests.unit.spark_sink.landing.landing_lab import Killed, LandingLab

EVERYTHING = [("f", 0), ("f", 10), ("f", 20), ("g", 0)]


@pytest.fixture
def landed(lab: LandingLab) -> LandingLab:
    """Two batches."""
    lab.start()
    lab.send_lines(0, 10)
    lab.send_lines(0, file="g", partition=1)
    lab.land()
    lab.send_lines(20)
    lab.send(b"no JSON")
    lab.land()
    return lab


def empty(lab: LandingLab) -> None:
    for path in (lab.config.table.path, lab.config.dead_letter_path):
        lab.delta(path).delete()


def set_checkpoint(lab: LandingLab, name: str) -> None:
    lab.config = replace(lab.config, checkpoint=CheckpointConfig(path=str(lab.directory / name)))


seldom = pytest.mark.slow("test_kills.py has each moment with tables that are new; the others are here in the gate")
MOMENTS = [
    "",
    "after rows",
    "before commit",
    *(pytest.param(moment, marks=seldom) for moment in ("before rows", "after bad")),
]


@pytest.mark.parametrize("moment", MOMENTS)
def test_with_a_new_checkpoint_emptied_tables_get_everything_again_once(landed: LandingLab, moment: str) -> None:
    empty(landed)
    set_checkpoint(landed, "new")
    landed.start()
    if moment:
        with pytest.raises(Killed):
            landed.land(moment)
        landed.start()
    landed.land()
    landed.start()
    assert landed.lines() == EVERYTHING
    assert landed.reasons() == {"not JSON": 1}
    landed.send_lines(20, 30)  # the first one a second time
    assert landed.land().repeats == 1
    assert landed.lines() == sorted([*EVERYTHING, ("f", 30)])


def test_with_a_new_checkpoint_tables_of_which_one_has_rows_get_what_is_new(landed: LandingLab) -> None:
    landed.delta().delete()
    set_checkpoint(landed, "new")
    landed.start()
    landed.send_lines(30)
    landed.land()
    assert (landed.lines(), landed.reasons()) == ([("f", 30)], {"not JSON": 1})


def test_with_their_checkpoint_emptied_tables_get_what_is_new(landed: LandingLab) -> None:
    """Whoever deletes rows does not want them back."""
    empty(landed)
    landed.start()
    landed.send_lines(20, 30)
    landed.land()
    assert landed.lines() == [("f", 20), ("f", 30)]
    assert landed.reasons() == {}


def test_deleted_tables_are_refused_with_their_checkpoint_and_made_again_with_a_new_one(landed: LandingLab) -> None:
    paths = (landed.config.table.path, landed.config.dead_letter_path, landed.config.state_path)
    for path in paths:
        shutil.rmtree(path)
    message = (
        rf"{paths[0]} and the marks table {paths[2]} are missing, but .* Restore both .* or move the checkpoint away"
    )
    with pytest.raises(Refused, match=message):
        landed.start()
    assert not any(Path(path).exists() for path in paths)
    set_checkpoint(landed, "new")
    landed.start()
    landed.land()
    assert landed.lines() == EVERYTHING
    assert landed.reasons() == {"not JSON": 1}


def test_a_deleted_table_that_the_marks_know_is_refused_with_either_checkpoint(landed: LandingLab) -> None:
    shutil.rmtree(landed.config.table.path)
    with pytest.raises(Refused, match=r"is missing, so landed rows are missing\. Run spark-sink repair"):
        landed.start()
    shutil.rmtree(landed.config.dead_letter_path)
    set_checkpoint(landed, "new")
    with pytest.raises(Refused, match=r"is missing, so landed rows are missing\. Run spark-sink repair"):
        landed.start()
