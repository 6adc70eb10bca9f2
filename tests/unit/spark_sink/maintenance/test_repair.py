"""Records of the dead letter become lines, once, wherever the command is killed."""

import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest
from deltalake import write_deltalake

from log_shipper.spark_sink import logs
from log_shipper.spark_sink.errors import Refused
from log_shipper.spark_sink.landing.startup import open_writer
from log_shipper.spark_sink.landing.tasks import LocalTasks
from log_shipper.spark_sink.maintenance.repair_dead_letter import DeadLetterRepair
from log_shipper.spark_sink.options.tables import ColumnConfig, TableConfig
from tests.unit.spark_sink.landing.landing_lab import NOON, Killed, LandingLab, MortalWriter, OpenStand

BEFORE = datetime(2025, 1, 1, tzinfo=UTC)
LEVEL = ColumnConfig(name="level", path="level", type="int", required=True)


@pytest.fixture
def lab(tmp_path: Path) -> LandingLab:
    """Two lines; three records that lack a column which is required; one that is no JSON."""
    lab = LandingLab(tmp_path, columns=(LEVEL,))
    lab.start()
    lab.send_lines(0, 30, level=1)
    lab.send_lines(10, 20, level="warn")
    lab.send_lines(0, file="g", partition=1)
    lab.send(b"no JSON")
    lab.land()
    assert lab.lines() == [("f", 0), ("f", 30)]
    return lab


def not_required(lab: LandingLab) -> None:
    lab.config = replace(lab.config, columns=(replace(LEVEL, required=False),))


def repair(lab: LandingLab, reason: str = "level", dry_run: bool = False, dies: str = "") -> str:
    """Run the repair and return its last message."""
    out = io.StringIO()
    logs.set_up(text=False, out=out)
    writer = open_writer(LocalTasks(), lab.config, lambda: OpenStand(lab.kafka), lambda: lab.now, lab.logged.append)
    mortal = MortalWriter(writer.tables, writer.ranges, writer.marks, writer.orphaned, lambda: lab.now, dies=dies)
    DeadLetterRepair(mortal, dry_run).land(reason)
    return str(json.loads(out.getvalue().splitlines()[-1])["message"])


def expect_repaired(lab: LandingLab) -> None:
    assert lab.lines() == [("f", 0), ("f", 10), ("f", 20), ("f", 30), ("g", 0)]
    assert lab.reasons() == {"not JSON": 1}


def test_what_a_new_configuration_makes_good_lands_and_leaves_the_dead_letter(lab: LandingLab) -> None:
    not_required(lab)
    assert repair(lab, "LEVEL") == "removed 3 repaired records from the dead-letter table: 3 rows landed"
    expect_repaired(lab)
    [row] = lab.rows(where='"offset" = 10')
    assert (row.level, row.message, row.kafka_offset) == (None, "f@10", 2)
    lab.start()  # nothing is missing, as far as `run` can see
    lab.send_lines(40, file="f", level=1)
    lab.send_lines(0, file="g", level=1, partition=1)  # sent again
    landed = lab.land()
    assert (landed.rows, landed.repeats) == (1, 1)


def test_a_text_lands_with_the_headers_that_it_was_kept_with(lab: LandingLab) -> None:
    lab.send_texts(40, 50)
    lab.land()
    not_required(lab)
    assert repair(lab) == "removed 5 repaired records from the dead-letter table: 5 rows landed"
    assert lab.lines() == [("f", 0), ("f", 10), ("f", 20), ("f", 30), ("f", 40), ("f", 50), ("g", 0)]
    [row] = lab.rows(where='"offset" = 50')
    assert (row.message, row.path, row.length) == ("f@50", "/f", 10)


def test_what_is_still_bad_stays(lab: LandingLab) -> None:
    before = lab.dead()
    for reason, message in {
        "level": "3 records in .* have a reason with 'level', and all are still bad; nothing moved",
        "nothing like it": "no record in .* has a reason with 'nothing like it': .*status",
        "%": "no record in .* has a reason with '%'",
    }.items():
        assert re.match(message, repair(lab, reason))
    assert lab.dead() == before
    assert len(lab.lines()) == 2


def test_a_dry_run_reports_how_many_and_changes_nothing(lab: LandingLab) -> None:
    not_required(lab)
    before = files(lab)
    assert repair(lab, dry_run=True) == (
        "3 of 3 records whose reason contains 'level' can now be parsed; nothing changed (dry run)"
    )
    assert files(lab) == before


def files(lab: LandingLab) -> list[Path]:
    return sorted(lab.directory.rglob("*"))


@pytest.mark.parametrize("moment", ["after rows", "after marks"])
def test_killed_and_run_again_it_lands_each_line_once(lab: LandingLab, moment: str) -> None:
    not_required(lab)
    with pytest.raises(Killed):
        repair(lab, dies=moment)
    assert sum(lab.reasons().values()) == 4
    assert repair(lab).startswith("removed 3 repaired records from the dead-letter table")
    expect_repaired(lab)
    assert "no record" in repair(lab)
    expect_repaired(lab)
    lab.start()
    lab.send_lines(0, file="g", partition=1)  # by its mark it is known, whoever wrote it
    assert lab.land().repeats == 1


def test_a_line_that_landed_from_elsewhere_only_leaves_the_dead_letter(lab: LandingLab) -> None:
    lab.send_lines(10, level=1)  # sent again, by a shipper that was repaired
    lab.land()
    not_required(lab)
    assert repair(lab) == "removed 3 repaired records from the dead-letter table: 2 rows landed, 1 already in a table"
    expect_repaired(lab)


def test_the_same_offset_of_a_topic_that_was_recreated_is_another_record(lab: LandingLab) -> None:
    not_required(lab)
    lab.delta().update(new_values={"kafka_offset": 2, "kafka_ts": BEFORE}, predicate='"offset" = 0')
    repair(lab)
    expect_repaired(lab)


def test_of_two_lives_of_a_topic_only_the_repeat_is_left_out(lab: LandingLab) -> None:
    lab.send_lines(10, level="warn")  # sent twice
    lab.send_lines(40, level="warn")
    lab.land()
    offset = 5  # of the repeat
    lab.delta(lab.config.dead_letter_path).update(
        new_values={"kafka_offset": offset, "kafka_ts": BEFORE},
        predicate=f"partition = 0 AND kafka_offset = {offset + 1}",
    )
    not_required(lab)
    assert repair(lab) == "removed 5 repaired records from the dead-letter table: 4 rows landed, 1 already in a table"
    assert lab.lines() == [("f", 0), ("f", 10), ("f", 20), ("f", 30), ("f", 40), ("g", 0)]


def test_a_lost_range_is_no_record_and_stays(lab: LandingLab) -> None:
    lab.send_lines(40, 50, level=1)
    lab.kafka.deleted["logs", 0] = 6
    lab.land()
    assert "no record in" in repair(lab, "lost before it was read")
    assert any(row.last_offset == 5 for row in lab.dead())


def test_with_a_template_each_line_goes_to_its_table(tmp_path: Path) -> None:
    lab = LandingLab(tmp_path, columns=(LEVEL,), table=TableConfig(path=f"{tmp_path}/lines/%{{[topic]}}"))
    for topic in ("logs", "audit"):
        lab.send_lines(0, level="warn", topic=topic)
    lab.start()
    lab.land()
    not_required(lab)
    with pytest.raises(Killed):
        repair(lab, dies="before marks")
    repair(lab)
    assert [lab.lines(f"{tmp_path}/lines/{topic}") for topic in ("logs", "audit")] == [[("f", 0)], [("f", 0)]]
    assert lab.reasons() == {}


@pytest.mark.parametrize("created", ["date", "none"])
@pytest.mark.parametrize("path", ["lines", "lake/%{[topic]}"])
def test_the_repaired_rows_have_the_partitioning_of_the_table_not_that_of_a_new_one(
    tmp_path: Path, path: str, created: Literal["date", "none"]
) -> None:
    table = TableConfig(path=f"{tmp_path}/{path}", partition_by=created)
    lab = LandingLab(tmp_path, columns=(LEVEL,), table=table)
    lab.send_lines(0, level=1)
    lab.send_lines(10, level="warn")
    lab.start()
    lab.land()
    not_required(lab)
    lab.config = replace(lab.config, table=replace(table, partition_by="none" if created == "date" else "date"))
    with pytest.raises(Killed):
        repair(lab, dies="after rows")
    repair(lab)
    rows = lab.rows(f"{tmp_path}/{path}".replace("%{[topic]}", "logs"))
    assert [(row.offset, row.date) for row in rows] == [(0, NOON.date()), (10, NOON.date())]
    assert lab.reasons() == {}


def test_a_dry_run_refuses_a_table_with_a_partitioning_that_the_sink_does_not_support(lab: LandingLab) -> None:
    not_required(lab)
    rows = lab.delta().to_pyarrow_table()
    write_deltalake(lab.config.table.path, rows, mode="overwrite", schema_mode="overwrite", partition_by=["host"])
    with pytest.raises(Refused, match=r"partitioned by host: the sink supports only"):
        repair(lab, dry_run=True)


def test_before_the_first_run_there_is_nothing_to_repair(tmp_path: Path) -> None:
    assert "nothing to repair" in repair(LandingLab(tmp_path))
    assert not (tmp_path / "lines").exists()


def test_beside_a_restored_table_it_is_refused_for_it_would_hide_what_is_missing(lab: LandingLab) -> None:
    not_required(lab)
    lab.delta().restore(0)
    with pytest.raises(Refused, match=r"is a RESTORE.*repair --from-kafka"):
        repair(lab)
    assert lab.lines() == []


def test_from_kafka_that_was_killed_is_refused_by_run_until_it_ends(lab: LandingLab) -> None:
    lab.writer.begin_repair()
    lab.send_lines(40, level=1)
    lab.land()  # a piece of it
    for _ in range(2):
        with pytest.raises(Refused, match=r"has an incomplete repair.*repair --from-kafka"):
            lab.start()
    again = open_writer(LocalTasks(), lab.config, lambda: OpenStand(lab.kafka), lambda: lab.now, lab.logged.append)
    again.begin_repair()
    again.finish_repair({})
    lab.start()
