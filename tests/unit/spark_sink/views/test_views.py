"""What comes out of views, whatever happens to the table of lines meanwhile."""

import shutil
from datetime import date, datetime

import pytest

from log_shipper.spark_sink.maintenance import optimize
from log_shipper.spark_sink.options.views import ViewConfig, ViewTriggerConfig
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import Table as StoredTable
from log_shipper.spark_sink.views.views import Views
from tests.e2e.running import await_true
from tests.java import needs_delta
from tests.unit.spark_sink.views.views_lab import A_HOST, ERRORS, ERRORS_A_MINUTE, ViewsLab

pytestmark = [pytest.mark.spark, needs_delta]

AT_ONCE = ViewTriggerConfig(interval=0.0)
MINUTES = ViewConfig(name="minutes", sql=ERRORS_A_MINUTE, watermark=300.0, trigger=AT_ONCE)
FILTER = ViewConfig(name="errors", sql=ERRORS, trigger=AT_ONCE)
HOSTS = ViewConfig(name="hosts", sql=A_HOST, mode="complete", trigger=AT_ONCE)


def minute(number: int, hour: int = 9) -> datetime:
    return datetime(2026, 11, 21, hour, number)


def test_a_window_is_written_once_when_the_watermark_has_passed_it(lab: ViewsLab) -> None:
    lab.land("09:00:10 a error 1", "09:00:50 a error 2", "09:00:20 b error", "09:00:30 b fine")
    with lab.running(MINUTES):
        lab.await_read()
        assert lab.rows("minutes") == []  # a row of 09:00 may still come
        lab.land("09:00:59 b error, a little late", "09:05:59 a fine")
        lab.await_read()
        assert lab.rows("minutes") == []
        lab.land("09:06:00 a fine")  # dropped by the WHERE, and moves the watermark all the same
        lab.await_read()
    assert lab.rows("minutes") == [(minute(0), "a", 2), (minute(0), "b", 2)]


def test_a_row_behind_the_watermark_is_reported_and_counted(lab: ViewsLab) -> None:
    lab.land("09:00:10 a error", "10:00:00 a fine")
    lab.run(MINUTES)
    assert lab.rows("minutes") == [(minute(0), "a", 1)]
    lab.land("09:00:30 a error, an hour late", "10:30:00 a fine")
    views = lab.run(MINUTES)
    assert lab.rows("minutes") == [(minute(0), "a", 1)]
    assert views.figures()["minutes"].late == 1
    assert (
        "view minutes: dropped 1 rows older than the watermark; their lines are in the table of lines" in lab.logged()
    )


@pytest.mark.slow("writes and reads a thousand files")
def test_a_new_view_with_a_watermark_loses_no_row_of_a_table_whose_files_are_out_of_order(lab: ViewsLab) -> None:
    """Delta's source takes 1,000 files a batch, in the order of writing: the last of these would all be late."""
    files = 1010
    rows = lab.spark.range(0, files, 1, files).selectExpr(
        f"timestamp'2026-11-21 00:00:00' + make_interval(0, 0, 0, 0, 0, {files} - id) AS ts",
        "'error' AS message",
        "DATE'2026-11-21' AS date",
    )
    rows.write.format("delta").option("optimizeWrite", "false").mode("append").save(lab.lines)
    views = lab.run(MINUTES)
    assert views.figures()["minutes"].late == 0
    assert views.figures()["minutes"].rows_in == files
    assert len(lab.rows("minutes")) == files - 6  # a line a minute, and the last ones are open


def test_only_what_lands_after_it_is_made_is_in_a_view_that_starts_at_the_latest(lab: ViewsLab) -> None:
    late = ViewConfig(name="errors", sql=ERRORS, start="latest")
    lab.land("09:00:10 a error 1")
    views = lab.views(late)
    views.check()
    lab.land("09:00:20 a error 2")  # between check and start; a process killed here begins at the same place
    again = lab.views(late)
    again.check()
    lab.land("09:00:30 a error 3")
    again.catch_up()
    assert [row[2] for row in lab.rows("errors")] == ["error 2", "error 3"]


def test_a_group_in_complete_mode_is_rewritten_each_time(lab: ViewsLab) -> None:
    lab.land("09:00:10 a x", "09:00:20 b x")
    with lab.running(HOSTS):
        lab.await_read()
        assert lab.rows("hosts") == [("a", 1), ("b", 1)]
        lab.land("09:00:30 a x")
        lab.await_read()
    assert lab.rows("hosts") == [("a", 2), ("b", 1)]


def test_a_join_with_a_table_sees_what_is_in_it_when_the_batch_runs(lab: ViewsLab) -> None:
    teams = lab.directory / "teams"
    lab.spark.sql(f"CREATE TABLE delta.`{teams}` USING DELTA AS SELECT 'a' AS host, 'red' AS team")
    sql = f"SELECT message, team FROM lines LEFT JOIN delta.`{teams}` USING (host)"
    lab.land("09:00:10 a 1", "09:00:10 b 2")
    with lab.running(ViewConfig(name="teams", sql=sql, trigger=AT_ONCE, path=f"{lab.lines}_by_team")):
        lab.await_read()
        lab.spark.sql(f"INSERT INTO delta.`{teams}` VALUES ('b', 'blue')")
        lab.land("09:00:20 b 3")
        lab.await_read()
    assert lab.rows("by_team") == [("1", "red"), ("2", None), ("3", "blue")]


@pytest.mark.slow("a join with a table is in the gate; this one is of two streams, which Spark makes")
def test_lines_are_joined_with_lines(lab: ViewsLab) -> None:
    sql = """
        SELECT a.host, a.ts AS began, b.ts AS ended FROM lines a JOIN lines b
        ON a.host = b.host AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 10 MINUTES
        WHERE a.message = 'start' AND b.message = 'stop'
    """
    runs = ViewConfig(name="runs", sql=sql, watermark=60.0)
    lab.land("09:00:00 a start", "09:00:00 b start")
    lab.run(runs)
    lab.land("09:05:00 a stop", "09:20:00 b stop")
    lab.run(runs)
    assert lab.rows("runs") == [("a", minute(0), minute(5))]


def test_deleting_and_optimizing_lines_neither_ends_a_view_nor_repeats_its_rows(lab: ViewsLab) -> None:
    lab.land("2026-11-20 09:00:10 a error 1")
    lab.land("09:00:10 a error 2")
    with lab.running(FILTER) as views:
        lab.await_read()
        lab.land("09:00:20 a error 3")
        assert optimize.compact(StoredTable(Location(lab.lines)), date(2026, 11, 21), optimize.TARGET).files_before == 2
        lab.await_read()
        lab.change("OPTIMIZE {lines}")
        lab.await_read()
        lab.change("DELETE FROM {lines} WHERE date = '2026-11-20'")  # whole files, as retention does
        lab.change("DELETE FROM {lines} WHERE message = 'error 2'")  # a file is written anew
        lab.land("09:00:30 a error 4")
        lab.await_read()
        assert views.failed() == []
    assert [row[2] for row in lab.rows("errors")] == ["error 1", "error 2", "error 3", "error 4"]


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(FILTER, marks=pytest.mark.slow("has no state, which the one in the gate has")),
        MINUTES,
        pytest.param(HOSTS, marks=pytest.mark.slow("the same, rewritten each time")),
    ],
    ids=lambda view: view.name,
)
def test_a_batch_that_was_killed_before_its_commit_in_the_checkpoint_is_written_once(
    lab: ViewsLab, view: ViewConfig
) -> None:
    lab.land("09:00:10 a error 1", "09:30:00 b error 2")
    lab.run(view)
    before = lab.rows(view.name)
    assert before
    lab.forget_commit(view.name)
    lab.run(view)
    assert lab.rows(view.name) == before
    lab.land("09:31:10 a fine")
    lab.run(view)
    assert lab.rows(view.name)[: len(before)] >= before


def test_a_view_that_fails_is_reported_once_and_leaves_the_others_running(lab: ViewsLab) -> None:
    cast = ViewConfig(name="casts", sql="SELECT CAST(message AS INT) AS number FROM lines", trigger=AT_ONCE)
    lab.land("09:00:10 a 1")
    with lab.running(FILTER, cast) as views:
        lab.await_read()
        lab.land("09:00:20 a error 2")
        lab.await_end("casts")
        lab.land("09:00:30 a error 3")
        lab.await_read()
        for _ in range(2):
            views.supervise()
        ((name, error),) = views.failed()
        assert views.figures()["casts"].failed
        assert not views.figures()["errors"].failed
    assert name == "casts"
    assert lab.logged("error") == [f"{error}. It restarts in 10 s, and resumes where it stopped"]
    assert "CAST_INVALID_INPUT" in str(error)
    assert len(lab.rows("errors")) == 2


@pytest.fixture
def teams(lab: ViewsLab) -> ViewConfig:
    """A view that fails while the number of a host's team is none."""
    path = lab.directory / "teams"
    lab.spark.sql(f"CREATE TABLE delta.`{path}` USING DELTA AS SELECT 'a' AS host, '1' AS team")
    sql = f"SELECT message, CAST(team AS INT) AS team FROM lines JOIN delta.`{path}` USING (host)"
    return ViewConfig(name="teams", sql=sql, trigger=AT_ONCE)


def set_team(lab: ViewsLab, team: str) -> None:
    lab.spark.sql(f"UPDATE delta.`{lab.directory}/teams` SET team = '{team}'")


def await_well(views: Views) -> None:
    def is_well() -> bool:
        views.supervise()
        return not views.failed()

    await_true(is_well, "it runs again")


def test_a_view_that_failed_is_started_again_after_longer_and_longer_waits_until_it_is_well(
    lab: ViewsLab, teams: ViewConfig
) -> None:
    lab.land("09:00:10 a 1")
    with lab.running(teams) as views:
        lab.await_read()
        set_team(lab, "none")
        lab.land("09:00:20 a 2")
        for failures, wait in enumerate((10, 20, 40), 1):
            lab.await_end("teams")
            views.supervise()
            assert views.figures()["teams"].failures == failures, "the one before this has been started, and has failed"
            lab.clock.advance(wait - 1)
            views.supervise()
            assert not lab.spark.streams.active
            lab.clock.advance(1)
            assert [name for name, _ in views.failed()] == ["teams"]
            if wait == 40:
                set_team(lab, "2")
            views.supervise()
        lab.await_read()
        await_well(views)
        assert views.figures()["teams"].failures == 3
        assert not views.figures()["teams"].failed
    assert lab.rows("teams") == [("1", 1), ("2", 2)]
    assert len(lab.logged("error")) == 1
    assert [line for line in lab.logged() if "runs again" in line] == [
        f"the view teams ({lab.table('teams')}) runs again"
    ]
    assert views.failed() == []


@pytest.mark.slow("a restart within a run is in the gate")
def test_a_view_that_fails_where_nothing_starts_it_again_resumes_at_the_next_start(
    lab: ViewsLab, teams: ViewConfig
) -> None:
    set_team(lab, "none")
    lab.land("09:00:10 a 1")
    ((_, error),) = lab.run(teams).failed()
    assert lab.logged("error") == [f"{error}. It restarts at the next start, and resumes where it stopped"]
    set_team(lab, "2")
    lab.run(teams)
    assert lab.rows("teams") == [("1", 2)]


@pytest.mark.slow("fails twice, as the view whose waits grow, which is in the gate")
def test_a_view_that_ran_long_is_started_again_soon(lab: ViewsLab, teams: ViewConfig) -> None:
    with lab.running(teams) as views:
        for longer in (0, 601):
            set_team(lab, "none")
            lab.land("09:00:10 a 1")
            lab.await_end("teams")
            lab.clock.advance(longer)
            views.supervise()
            set_team(lab, "2")
            lab.clock.advance(10)
            views.supervise()
            lab.await_read()
            await_well(views)
    assert len(lab.logged("error")) == 2


def test_lines_with_a_new_column_are_read_when_the_view_is_started_again(lab: ViewsLab) -> None:
    everything = ViewConfig(name="errors", sql="SELECT * FROM lines WHERE message LIKE 'error%'", trigger=AT_ONCE)
    lab.land("09:00:10 a error 1")
    with lab.running(everything) as views:
        lab.await_read()
        lab.change("ALTER TABLE {lines} ADD COLUMNS (pod STRING)")
        lab.land("09:00:20 a error 2")
        lab.await_end("errors")
        views.supervise()
        assert "the columns of the table of lines changed" in str(views.failed()[0][1])
        lab.clock.advance(10)
        views.supervise()
        lab.await_read()
    assert views.failed() == []
    table = lab.spark.read.format("delta").load(str(lab.table("errors")))
    assert sorted(table.select("message", "pod").collect()) == [("error 1", None), ("error 2", None)]


def test_a_view_that_needs_a_person_is_not_started_again(lab: ViewsLab, teams: ViewConfig) -> None:
    """Its table is gone, which a start of the sink refuses, too."""
    lab.land("09:00:10 a 1")
    with lab.running(teams) as views:
        lab.await_read()
        set_team(lab, "none")
        lab.land("09:00:20 a 2")
        lab.await_end("teams")
        views.supervise()
        shutil.rmtree(lab.table("teams"))
        lab.clock.advance(10)
        views.supervise()
        for _ in range(3):
            lab.clock.advance(1000)
            views.supervise()
        assert not lab.spark.streams.active
    ((_, error),) = views.failed()
    assert "cannot restart the view teams: " in str(error)
    assert "Restore the table as it was" in str(error)
    assert lab.logged("error")[-1] == str(error)


def test_groups_are_kept_outside_of_the_heap_unless_spark_is_configured_otherwise(lab: ViewsLab) -> None:
    key = "spark.sql.streaming.stateStore.providerClass"
    lab.views(FILTER)
    provider = lab.spark.conf.get(key)
    assert provider is not None
    assert provider.endswith("RocksDBStateStoreProvider")
    lab.spark.conf.set(key, "mine")
    lab.views(FILTER, spark={key: "mine"})
    assert lab.spark.conf.get(key) == "mine"
    lab.spark.conf.unset(key)


def test_catching_up_ends_when_it_is_asked_to_stop(lab: ViewsLab) -> None:
    lab.land("09:00:10 a error 1")
    views = lab.views(FILTER)
    views.check()
    views.catch_up(stopped=lambda: True)
    assert lab.rows("errors") == []
