"""What is refused as a view before anything is made, and with which words."""

import pytest
from pyspark.sql import SparkSession

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.options.views import ViewConfig
from log_shipper.spark_sink.views import catalyst
from log_shipper.spark_sink.views.query import explain
from tests.java import needs_delta
from tests.unit.spark_sink.views.views_lab import A_HOST, ERRORS, ERRORS_A_MINUTE, ViewsLab

pytestmark = [pytest.mark.spark, needs_delta]

BAD = [
    (ViewConfig(name="v", sql="SELCT host FROM lines"), r"Syntax error at or near 'SELCT'; line 1, column 1: SELCT"),
    (
        ViewConfig(name="v", sql="SELECT hots\nFROM lines"),
        r"UNRESOLVED_COLUMN.*`hots` cannot be resolved.*`host`.*; line 1, column 8: SELECT hots",
    ),
    (
        ViewConfig(name="v", sql="SELECT host\nFROM lines\n  WHERE shout(host)"),
        r"Cannot resolve routine `shout`.*; line 3, column 9: WHERE shout\(host\)",
    ),
    (ViewConfig(name="v", sql="SELECT * FROM logs"), r"`logs` cannot be found.*the stream is called lines"),
    (ViewConfig(name="v", sql="DROP VIEW lines"), r"Syntax error at or near 'DROP'.*a view is one SELECT"),
    (ViewConfig(name="v", sql="DELETE FROM lines"), r"Syntax error at or near 'DELETE'.*a view is one SELECT"),
    (ViewConfig(name="v", sql="SELECT 1 AS one"), r"the query does not read from `lines`; the view would stay empty"),
    (
        ViewConfig(name="v", sql="SELECT variant_get(doc, '$.pod', 'string') AS pod FROM lines"),
        r"doc and fields are texts: write get_json_object",
    ),
    (ViewConfig(name="v", sql=A_HOST), r"without watermark.*set `watermark` and group by window\(ts"),
    (
        ViewConfig(
            name="v",
            watermark=60.0,
            sql="SELECT window.start AS minute, count(*) AS n FROM lines GROUP BY window(ts, '1 minute').start",
        ),
        r"not by its start",
    ),
    (ViewConfig(name="v", sql=ERRORS, mode="complete"), r"mode: complete is for a GROUP BY"),
    (ViewConfig(name="v", sql="SELECT host FROM lines ORDER BY host"), r"Sorting is not.*sort when you read it"),
    (
        ViewConfig(name="v", sql="SELECT row_number() OVER (PARTITION BY host ORDER BY ts) AS n FROM lines"),
        r"only supports time-window aggregation",
    ),
    (ViewConfig(name="v", sql="SELECT host, upper(host) FROM lines"), r"the column `upper\(host\)` needs a plain name"),
    (ViewConfig(name="v", sql="SELECT NULL AS nothing, host FROM lines"), r"`nothing` has no type"),
    (ViewConfig(name="v", sql="SELECT ts - kafka_ts AS took FROM lines"), r"`took` is an interval.*timestampdiff"),
    (ViewConfig(name="v", sql="SELECT host, path AS Host FROM lines"), r"several columns are called `host`"),
]


def test_a_text_that_is_no_view_is_refused_in_words(lab: ViewsLab, subtests: pytest.Subtests) -> None:
    """All of them with one table of lines: making and opening one is half of what a text takes."""
    for view, message in BAD:
        with subtests.test(view.sql):
            with pytest.raises(SinkError, match=rf"(?s)^views\[0\]\.sql \(v\): .*{message}") as raised:
                lab.views(view).check()
            assert "Project" not in str(raised.value)  # no plan
            assert "SQLSTATE" not in str(raised.value)
            assert not lab.table("v").exists()


def test_a_watermark_needs_a_column_of_time(lab: ViewsLab) -> None:
    for column in ("host", "none"):
        view = ViewConfig(name="v", sql=ERRORS, watermark=60.0, watermark_column=column)
        with pytest.raises(SinkError, match=rf"^views\[0\]\.watermark_column \(v\): .*{column}"):
            lab.views(view).check()


def test_a_column_to_partition_by_must_be_in_the_view(lab: ViewsLab) -> None:
    with pytest.raises(SinkError, match=r"views\[0\]\.partition_by \(v\): 'date' is not a column.*: ts, host, message"):
        lab.views(ViewConfig(name="v", sql=ERRORS, partition_by=("date",))).check()


def test_all_that_is_wrong_is_reported_at_once_and_nothing_is_made(lab: ViewsLab) -> None:
    good = ViewConfig(name="good", sql=ERRORS)
    bad = [ViewConfig(name=f"bad{number}", sql=f"SELECT c{number} FROM lines") for number in (1, 2)]
    with pytest.raises(SinkError, match=r"(?s)views\[1\]\.sql \(bad1\).*`c1`.*\nviews\[2\]\.sql \(bad2\).*`c2`"):
        lab.views(good, *bad).check()
    assert not lab.table("good").exists()


def test_a_table_of_lines_that_is_not_there_is_named(lab: ViewsLab) -> None:
    view = ViewConfig(name="v", sql=ERRORS, source=f"{lab.lines}_none")
    with pytest.raises(SinkError, match=r"views\[0\]\.source \(v\): the table .*lines_none does not exist before"):
        lab.views(view).check()


def test_it_is_known_which_queries_remember_rows(lab: ViewsLab, subtests: pytest.Subtests) -> None:
    stateful = {
        ERRORS: False,
        ERRORS_A_MINUTE: True,
        "SELECT DISTINCT host FROM lines": True,
        "SELECT host FROM lines LIMIT 3": True,
        "SELECT a.host FROM lines a JOIN lines b ON a.host = b.host": True,
        "SELECT a.host FROM lines a JOIN (SELECT 1 AS n) b ON a.offset = b.n": False,
        "SELECT a.host FROM lines a JOIN (SELECT max(id) AS n FROM range(3)) b ON a.offset = b.n": False,
        "SELECT host FROM lines UNION ALL (SELECT host FROM (SELECT host FROM lines GROUP BY host))": True,
    }
    lab.spark.readStream.format("delta").load(lab.lines).createOrReplaceTempView("lines")
    for sql, expected in stateful.items():
        with subtests.test(sql):
            assert catalyst.is_stateful(lab.spark.sql(sql)) == expected


def test_columns_are_made_without_promises_and_with_their_comments(spark: SparkSession) -> None:
    rows = spark.sql("SELECT 1 AS one, named_struct('a', 'x') AS two")
    assert catalyst.columns(rows) == "one INT,two STRUCT<a: STRING>"


def test_there_is_an_explanation_also_where_spark_names_no_place() -> None:
    assert explain("[X] Something.\nIt went on. SQLSTATE: 1", "SELECT 1") == "[X] Something. It went on"
    assert explain("[X] Bad; line 7 pos 2", "SELECT 1") == "[X] Bad; line 7, column 3"
