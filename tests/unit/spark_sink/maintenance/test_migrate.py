"""A table of an earlier release becomes one of the present form, wherever the command is killed."""

import io
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from log_shipper.spark_sink import delta, logs
from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.maintenance.migrate import Migration
from log_shipper.spark_sink.maintenance.repair import repair_writer
from tests.unit.spark_sink.landing.landing_lab import Killed, LandingLab, OpenStand

pytestmark = pytest.mark.spark

RECORD = """'{"@timestamp":"2026-11-21T12:00:00Z","message":"' || message || '","took":1.5,"fields":{"env":"prod"}}'"""
VARIANTS = {"fields": """parse_json('{"env":"prod"}')""", "doc": f"parse_json({RECORD})"}


@pytest.fixture
def lab(spark: SparkSession, tmp_path: Path) -> LandingLab:
    """Three lines that an earlier release has landed, and their marks, with a version that the copy does not have."""
    lab = LandingLab(spark, tmp_path)
    lab.start()
    lab.send_lines(0, 10)
    lab.land()
    lab.send_lines(20)
    lab.land()
    replace_table(lab, VARIANTS)
    return lab


def replace_table(lab: LandingLab, columns: dict[str, str], layout: str = "PARTITIONED BY (date)") -> None:
    """Have Spark write the rows into a table of its own, with these columns, and put that in the place of the table."""
    path, other = lab.config.table.path, f"{lab.directory}/other"
    lab.rows().selectExpr(
        *(f"{columns.get(name, f'`{name}`')} AS `{name}`" for name in lab.rows().columns)
    ).createOrReplaceTempView("landed")
    lab.spark.sql(f"CREATE TABLE delta.`{other}` USING DELTA {layout} AS SELECT * FROM landed WHERE offset = 0")
    for offset in (10, 20):
        lab.spark.sql(f"INSERT INTO delta.`{other}` SELECT * FROM landed WHERE offset = {offset}")
    lab.spark.catalog.dropTempView("landed")
    shutil.rmtree(path)
    shutil.move(other, path)
    delta.forget_logs(lab.spark)


@dataclass(slots=True)
class MortalMigration(Migration):
    """A run whose process dies after one of its steps."""

    dies: str = ""
    renames: int = 0

    def _copy(self, *given: Any) -> int:
        return int(self._step("copy", lambda: Migration._copy(self, *given)))

    def _save_version(self, *given: Any) -> None:
        self._step("mark", lambda: Migration._save_version(self, *given))

    def _rename(self, *given: Any) -> None:
        self.renames += 1
        self._step(f"rename {self.renames}", lambda: Migration._rename(self, *given))

    def _step(self, name: str, action: Callable[[], Any]) -> Any:
        done = action()
        if self.dies == name:
            raise Killed
        return done


def migrate(lab: LandingLab, dies: str = "", dry_run: bool = False) -> list[str]:
    """What was logged."""
    out = io.StringIO()
    logs.set_up(text=False, out=out)
    delta.forget_logs(lab.spark)
    MortalMigration(lab.spark, lab.config, dry_run, dies=dies).run()
    return [json.loads(line)["message"] for line in out.getvalue().splitlines()]


def expect_migrated(lab: LandingLab) -> None:
    """The table is an open one, and the sink resumes where it was."""
    table = DeltaTable(lab.config.table.path)
    assert (table.protocol().min_reader_version, table.protocol().min_writer_version) == (1, 2)
    assert table.metadata().partition_columns == ["date"]
    rows = lab.rows().orderBy("offset").collect()
    assert [json.loads(row.fields) for row in rows] == [{"env": "prod"}] * 3
    assert [json.loads(row.doc) for row in rows] == [
        {"@timestamp": "2026-11-21T12:00:00Z", "message": row.message, "took": 1.5, "fields": {"env": "prod"}}
        for row in rows
    ]
    lab.start()
    lab.send_lines(10, 20, 30)
    result = lab.land()
    assert (result.rows, lab.lines()) == (1, [("f", 0), ("f", 10), ("f", 20), ("f", 30)])


def test_a_table_of_an_earlier_release_is_refused_with_the_way_to_move_it(lab: LandingLab) -> None:
    way_out = r"fields, doc are VARIANT.*Run spark-sink migrate"
    with pytest.raises(Refused, match=way_out):
        lab.start()
    with pytest.raises(Refused, match=way_out):
        repair_writer(lab.spark, lab.config, lambda: OpenStand(lab.kafka))


def test_its_rows_move_to_a_table_of_the_present_form_at_the_same_path(lab: LandingLab) -> None:
    last = migrate(lab)[-1]
    path = lab.config.table.path
    assert last.startswith(f"the table {path} has the present form. The old one is {path}_before_migration")
    assert lab.rows(f"{path}_before_migration").count() == 3
    expect_migrated(lab)


@dataclass(slots=True)
class InterruptedMigration(Migration):
    """A run beside which another program writes to the table in the last moment before it is renamed."""

    interruption: Callable[[], object] = int

    def _swap(self, *given: Any) -> None:
        self.interruption()
        Migration._swap(self, *given)


def test_a_line_that_lands_beside_it_is_not_left_behind(lab: LandingLab) -> None:
    """The `run` of the earlier release was not stopped."""
    table = f"delta.`{lab.config.table.path}`"
    columns = ", ".join("40L" if name == "offset" else f"`{name}`" for name in lab.rows().columns)
    line = f"INSERT INTO {table} SELECT {columns} FROM {table} WHERE offset = 20"
    migration = InterruptedMigration(lab.spark, lab.config, interruption=lambda: lab.spark.sql(line))
    with pytest.raises(Refused, match=r"another program wrote to the table .* while it was migrated.*run this command"):
        migration.run()
    assert len(lab.lines()) == 4
    migrate(lab)
    assert lab.lines() == [("f", 0), ("f", 10), ("f", 20), ("f", 40)]


LONG = pytest.mark.slow("migrates a table; a kill between the two renames is in the gate")
STEPS = [*(pytest.param(step, marks=LONG) for step in ("copy", "mark", "rename 2")), "rename 1"]


@pytest.mark.parametrize("dies", STEPS)
def test_the_command_may_be_killed_and_run_again(lab: LandingLab, dies: str) -> None:
    with pytest.raises(Killed):
        migrate(lab, dies)
    delta.forget_logs(lab.spark)
    if dies != "rename 2":
        with pytest.raises(Refused, match="spark-sink migrate"):
            lab.start()
    migrate(lab)
    expect_migrated(lab)


@LONG
def test_a_copy_of_a_table_that_was_written_to_since_is_made_again(lab: LandingLab) -> None:
    with pytest.raises(Killed):
        migrate(lab, "copy")
    lab.spark.sql(f"DELETE FROM delta.`{lab.config.table.path}` WHERE offset = 10")
    assert f"2 rows of {lab.config.table.path} are copied" in migrate(lab)
    assert lab.lines() == [("f", 0), ("f", 20)]


def test_a_table_that_lacks_rows_must_be_repaired_after_the_migration_as_before(lab: LandingLab) -> None:
    lab.spark.sql(f"RESTORE delta.`{lab.config.table.path}` TO VERSION AS OF 1")
    logged = migrate(lab)
    assert any("was restored to an earlier version" in line for line in logged)
    with pytest.raises(Refused, match=r"Run spark-sink repair --from-kafka"):
        lab.start()


@LONG
def test_what_needs_no_table_feature_is_kept(lab: LandingLab) -> None:
    name = f"delta.`{lab.config.table.path}`"
    lab.spark.sql(f"ALTER TABLE {name} ADD COLUMNS (pod DECIMAL(9, 2) COMMENT 'ours')")
    lab.spark.sql(
        f"ALTER TABLE {name} SET TBLPROPERTIES (team = 'red', delta.logRetentionDuration = 'interval 40 days')"
    )
    migrate(lab)
    table = DeltaTable(lab.config.table.path)
    (pod,) = (column for column in table.schema().fields if column.name == "pod")
    assert (str(pod.type), pod.metadata) == ('PrimitiveType("decimal(9,2)")', {"comment": "ours"})
    properties = table.metadata().configuration
    assert (properties["team"], properties["delta.logRetentionDuration"]) == ("red", "interval 40 days")
    expect_migrated(lab)


@LONG
def test_a_table_with_features_that_the_sink_does_not_write_is_moved(spark: SparkSession, tmp_path: Path) -> None:
    lab = LandingLab(spark, tmp_path)
    lab.start()
    lab.send_lines(0, 10, 20)
    lab.land()
    replace_table(lab, {}, "CLUSTER BY (ts)")
    with pytest.raises(Refused, match="table feature clustering"):
        lab.start()
    migrate(lab)
    lab.start()
    assert lab.lines() == [("f", 0), ("f", 10), ("f", 20)]


def test_a_table_of_the_present_form_stays(spark: SparkSession, tmp_path: Path) -> None:
    lab = LandingLab(spark, tmp_path)
    path = lab.config.table.path
    assert migrate(lab) == [f"there is no table {path} yet: nothing to migrate"]
    lab.start()
    lab.send_lines(0)
    lab.land()
    assert migrate(lab) == [f"the table {path} has the present form: nothing to migrate"]


def test_a_dry_run_changes_nothing(lab: LandingLab) -> None:
    assert migrate(lab, dry_run=True) == [
        f"the table {lab.config.table.path} has VARIANT columns (fields, doc): its rows would move to a new table; "
        "nothing is changed (dry run)"
    ]
    assert not Path(f"{lab.config.table.path}_migrated").exists()
    with pytest.raises(Refused):
        lab.start()


def test_an_original_that_is_kept_from_an_earlier_migration_is_not_overwritten(lab: LandingLab) -> None:
    Path(f"{lab.config.table.path}_before_migration").mkdir()
    with pytest.raises(SinkError, match=r"cannot rename .*_before_migration: it exists") as raised:
        migrate(lab)
    assert "run this command again" in str(raised.value)
    assert lab.rows().count() == 3


def test_another_table_in_the_place_of_the_copy_is_not_overwritten(lab: LandingLab) -> None:
    path = f"{lab.config.table.path}_migrated"
    lab.spark.sql(f"CREATE TABLE delta.`{path}` USING DELTA AS SELECT 1 AS one")
    with pytest.raises(Refused, match=f"{path} has a table that is not a copy of"):
        migrate(lab)
    assert lab.rows(path).columns == ["one"]
