"""A view's table, its checkpoint and its text belong together: what is changed apart is refused, with the ways out."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.options.views import ViewConfig
from log_shipper.spark_sink.storage.layout import retention_properties
from tests.java import needs_delta
from tests.loggers import restored_loggers
from tests.unit.spark_sink.views.views_lab import A_HOST, ERRORS, ERRORS_A_MINUTE, ViewsLab

pytestmark = [pytest.mark.spark, needs_delta]

FILTER = ViewConfig(name="errors", sql=ERRORS)
HOSTS = ViewConfig(name="hosts", sql=A_HOST, mode="complete")
REBUILD = r"Either rename the view; or, .* delete both its table .* and its checkpoint .*checkpoint_views/errors"


@pytest.fixture(scope="module")
def once_made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a copy beside it: making it is most of what a test of it takes."""
    directory = tmp_path_factory.mktemp("made") / "views"
    with restored_loggers():
        lab = ViewsLab(spark, directory)
        lab.land("09:00:10 a error 1")
        lab.run(FILTER)
    shutil.copytree(directory, directory.with_name("copy"))
    return directory


@pytest.fixture
def made(spark: SparkSession, once_made: Path) -> ViewsLab:
    """With a view that has read one line."""
    shutil.rmtree(once_made)
    shutil.copytree(once_made.with_name("copy"), once_made)
    return ViewsLab(spark, once_made)


def refused(lab: ViewsLab, view: ViewConfig, message: str) -> None:
    with pytest.raises(Refused, match=rf"(?s){message}"):
        lab.views(view).check()


def test_the_table_is_made_with_the_views_columns_and_what_it_is_made_from(lab: ViewsLab) -> None:
    sql = "SELECT window, date, host, count(*) AS n FROM lines GROUP BY window(ts, '1 hour'), date, host"
    lab.views(ViewConfig(name="v", sql=f"\n   {sql};\n", watermark=60.0, partition_by=("date",))).check()
    detail = lab.spark.sql(f"DESCRIBE DETAIL delta.`{lab.table('v')}`").first()
    assert detail is not None
    assert detail.partitionColumns == ["date"]
    properties = {name.removeprefix("spark_sink.view."): value for name, value in detail.properties.items()}
    assert properties == {
        "sql": sql,
        "mode": "append",
        "stateful": "true",
        "from": "0",
        "delta.autoOptimize.optimizeWrite": "true",
        **retention_properties(lab.views().config.maintenance.vacuum.retain),
    }
    schema = lab.spark.read.format("delta").load(str(lab.table("v"))).schema
    assert schema.simpleString() == (
        "struct<window:struct<start:timestamp,end:timestamp>,date:date,host:string,n:bigint>"
    )
    assert all(field.nullable for field in schema)


def test_a_start_that_was_killed_before_the_first_batch_is_no_obstacle(lab: ViewsLab) -> None:
    lab.land("09:00:10 a error 1")
    lab.views(FILTER).check()
    lab.views(FILTER).check()
    lab.run(FILTER)
    assert len(lab.rows("errors")) == 1


def test_a_lost_checkpoint_is_refused(made: ViewsLab) -> None:
    shutil.rmtree(made.checkpoint("errors"))
    refused(
        made,
        FILTER,
        f"has rows, but its checkpoint .* is missing or new: .* written twice.* move the view's checkpoint.*{REBUILD}",
    )


def test_a_checkpoint_that_was_set_back_is_refused(made: ViewsLab) -> None:
    old = made.keep_checkpoint("errors")
    for second in (20, 30):
        made.land(f"09:00:{second} a error")
        made.run(FILTER)
    shutil.rmtree(made.checkpoint("errors"))
    shutil.move(old, made.checkpoint("errors"))
    refused(
        made,
        FILTER,
        f"has batch 2 of its checkpoint, but the last batch in .* is 0: the checkpoint was set back.*{REBUILD}",
    )


def test_a_lost_table_is_refused(made: ViewsLab) -> None:
    shutil.rmtree(made.table("errors"))
    refused(
        made,
        FILTER,
        r"is missing, but its checkpoint .* resumes after.*Restore the table as it was.*delete the checkpoint too",
    )


def test_a_view_without_table_and_checkpoint_is_made_again_from_all_lines(made: ViewsLab) -> None:
    made.land("09:00:20 a error 2")
    shutil.rmtree(made.table("errors"))
    shutil.rmtree(made.checkpoint("errors"))
    made.run(FILTER)
    assert len(made.rows("errors")) == 2


def test_a_table_of_another_program_is_refused(lab: ViewsLab) -> None:
    refused(lab, replace(FILTER, path=lab.lines), "has a table that no view created. Set another views.path")


def test_a_new_text_that_makes_a_row_of_a_line_goes_on_with_its_new_columns(made: ViewsLab) -> None:
    made.run(replace(FILTER, sql=ERRORS.replace("message", "message, upper(host) AS name", 1)))
    made.land("09:00:20 a error 2", "09:00:30 a fine")
    made.run(replace(FILTER, sql=ERRORS.replace("message", "message, upper(host) AS name", 1)))
    assert [row[2:] for row in made.rows("errors")] == [("error 1", None), ("error 2", "A")]
    assert "the sql of the view errors was changed; it applies to new rows, with the new columns name" in made.logged()
    assert len([line for line in made.logged() if "it applies to new rows" in line]) == 1


@pytest.mark.slow("new columns of a changed text are in the gate")
def test_a_column_that_the_lines_have_got_comes_into_a_view_of_all_columns(lab: ViewsLab) -> None:
    view = ViewConfig(name="errors", sql="SELECT * FROM lines WHERE message LIKE 'error%'")
    lab.land("09:00:10 a error 1")
    lab.run(view)
    lab.change("ALTER TABLE {lines} ADD COLUMNS (status INT)")
    lab.land("09:00:20 a error 2")
    lab.run(view)
    assert len(lab.rows("errors")) == 2
    assert "status" in lab.spark.read.format("delta").load(str(lab.table("errors"))).columns
    assert "the sql of the view errors now returns more columns, status; it applies to new rows" in lab.logged()[-1]


def test_a_view_of_what_lands_from_now_on_is_not_made_again_from_all_lines(lab: ViewsLab) -> None:
    lab.land("09:00:10 a error 1")
    view = replace(FILTER, start="latest")
    lab.run(view)
    shutil.rmtree(lab.table("errors"))
    refused(lab, view, r"delete the checkpoint too.*with views\[0\]\.start \(errors\): earliest")
    lab.run(replace(FILTER, name="other"))
    shutil.rmtree(lab.table("other"))
    refused(
        lab,
        replace(FILTER, name="other"),
        r"the view is re-created from all existing lines, and its rows of deleted lines are lost$",
    )


def test_indents_are_no_change_of_the_text(made: ViewsLab) -> None:
    made.run(replace(FILTER, sql=f"\n\t  {FILTER.sql} ;\n"))
    assert not [line for line in made.logged() if "it applies to new rows" in line]


def test_a_text_that_changes_columns_that_are_there_is_refused(made: ViewsLab) -> None:
    changed = replace(FILTER, sql="SELECT ts, offset AS host FROM lines")
    refused(made, changed, f"columns with it: host was string, is bigint, message was string, is missing. {REBUILD}")


def test_a_text_that_groups_cannot_be_changed(lab: ViewsLab) -> None:
    lab.land("09:00:10 a error 1")
    lab.run(HOSTS)
    changes: list[dict[str, Any]] = [
        {"sql": A_HOST.replace("host", "path")},
        {"sql": "SELECT host, 1L AS lines FROM lines", "mode": "append"},
        {"mode": "append", "sql": ERRORS_A_MINUTE, "watermark": 60.0},
    ]
    for change in changes:
        refused(lab, replace(HOSTS, **change), r"views\[0\]\.(sql|mode) \(hosts\) was changed.*Either rename the view")


def test_a_filter_cannot_become_a_group(made: ViewsLab) -> None:
    sql = "SELECT window.start AS ts, host, max(message) AS message FROM lines GROUP BY window(ts, '1 minute'), host"
    refused(made, replace(FILTER, sql=sql, watermark=60.0), f"belongs to the old query.*{REBUILD}")


def test_other_partitions_are_refused(made: ViewsLab) -> None:
    refused(made, replace(FILTER, partition_by=("host",)), "is partitioned by no column")


def test_a_restored_table_of_lines_is_refused_until_the_view_is_made_again(made: ViewsLab) -> None:
    made.land("09:00:20 a error 2")
    made.run(FILTER)
    made.change("RESTORE {lines} TO VERSION AS OF 1")
    refused(made, FILTER, rf"was restored to an earlier version \(version 3 is a RESTORE\).*{REBUILD}")
    shutil.rmtree(made.table("errors"))
    shutil.rmtree(made.checkpoint("errors"))
    made.run(FILTER)
    assert len(made.rows("errors")) == 1


@pytest.mark.slow("views that run in threads of their own; the restore before a start is in the gate")
def test_a_restore_that_a_running_view_has_read_past_is_refused_too(made: ViewsLab) -> None:
    with made.running(FILTER):
        made.change("RESTORE {lines} TO VERSION AS OF 0")
        made.land("09:00:10 a error 1")
        made.await_read()
    assert len(made.rows("errors")) == 2  # what it had, and what landed again
    refused(made, FILTER, "was restored to an earlier version")


def test_a_damaged_checkpoint_is_named(made: ViewsLab) -> None:
    (made.checkpoint("errors") / "offsets" / ".0.crc").unlink()
    (made.checkpoint("errors") / "offsets" / "0").write_text("v1\n{}\nnothing")
    with pytest.raises(SinkError, match=rf"offsets/0 is damaged.*{REBUILD}"):
        made.views(FILTER).check()
