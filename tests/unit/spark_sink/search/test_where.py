"""`--where`: SQL of the user, which can only judge rows."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.rows.schema import arrow_schema
from log_shipper.spark_sink.search.query import NUMBER, Selection
from log_shipper.spark_sink.search.sealed import FUNCTIONS
from tests.unit.spark_sink.search.search_lab import COLUMNS, JUDGE, Table, line, search


@pytest.fixture
def filled(table: Table) -> Table:
    table.land(
        [
            line("ok", 1, status=200, tags=["audit"], fields='{"env":"prod"}', doc='{"took":{"ms":7}}'),
            line("bad", 2, status=503, doc='{"took":{"ms":"slow"}}'),
            line("none", 3),
        ]
    )
    return table


@pytest.mark.parametrize(
    ("where", "messages"),
    [
        ("status >= 500", ["bad"]),
        ("STATUS IS NULL", ["none"]),
        ("TRY_CAST(doc ->> '$.took.ms' AS INT) = 7", ["ok"]),
        ("fields ->> 'env' = 'prod'", ["ok"]),
        ("list_contains(tags, 'audit')", ["ok"]),
        ("date = '2026-11-21' AND ts > '2026-11-21 12:00:02'", ["none"]),
        ("lines.status = 200 OR message LIKE 'b%'", ["bad", "ok"]),
        ('"offset" = 20', ["bad"]),
        ("status = 503 -- and so on", ["bad"]),
    ],
)
def test_a_condition_on_columns_and_members(where: str, messages: list[str], filled: Table) -> None:
    assert search(filled, "--where", where).messages == messages


def refused(table: Table, where: str) -> str:
    with pytest.raises(SinkError) as refusal:
        search(table, "--where", where)
    return str(refusal.value)


def test_a_column_that_does_not_exist_is_named_with_those_that_do(filled: Table) -> None:
    text = refused(filled, "statuz >= 500")
    assert text.startswith("--where 'statuz >= 500': ")
    assert "statuz" in text
    assert text.endswith("doc, topic, partition, kafka_offset, kafka_ts, status")


def test_what_is_not_sql_is_shown_with_the_place(filled: Table) -> None:
    assert "syntax error at or near" in refused(filled, "status >= ")


def test_a_condition_that_a_row_cannot_answer_ends_the_search(filled: Table) -> None:
    assert "slow" in refused(filled, "(doc ->> '$.took.ms')::INT > 1")


@pytest.mark.parametrize(
    "where",
    [
        "true) UNION SELECT 1 FROM lines WHERE (true",
        "true) LIMIT (1",
        "true) GROUP BY (status",
        "true); COPY lines TO '/tmp/x.csv'; SELECT 1 FROM lines WHERE (true",
        "true); SET threads = 8; SELECT (1",
        "status IN (SELECT 200)",
        "EXISTS (FROM read_text('/etc/passwd'))",
        "(SELECT count(*) FROM lines) > 0",
        "",
    ][:-1],
)
def test_anything_but_a_condition_is_refused(where: str, filled: Table) -> None:
    assert refused(filled, where)


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("length(repeat(message, 1000000)) > 0", "calls repeat, which is not allowed"),
        ("Repeat(message, 2) = rpad(message, 9, 'x')", "calls repeat, rpad, which"),
        ("main.repeat(message, 2) = ''", "calls repeat, which"),
        ("len(range(100000000)) > 0", "calls range, which"),
        ("message || message = ''", "calls ||, which"),
        ("current_setting('memory_limit') = ''", "calls current_setting, which"),
        ("count(*) > 0", "calls count_star, which"),
        ("'x' = (tags::VARCHAR[100000])[1]", "contains an array of a fixed length"),
        ("row_number() OVER () = 1", "contains something that is not allowed: window"),
        ("x -> x = 1", "lambda"),
        ("'1' = " + "lower(" * 51 + "message" + ")" * 51, "calls 51 functions (maximum: 50)"),
    ],
)
def test_what_makes_large_values_or_reads_settings_is_refused(where: str, reason: str, filled: Table) -> None:
    assert reason in refused(filled, where)


def test_every_function_that_a_condition_may_call_is_documented() -> None:
    page = (Path(__file__).parents[4] / "docs" / "guides" / "search.md").read_text()
    listed = page[page.index("These functions are allowed") :].partition("\n## ")[0]
    assert {name for name in FUNCTIONS if name.isidentifier()} <= set(re.findall(r"\w+", listed))


def test_the_database_reads_and_writes_no_file_even_if_the_check_let_it(tmp_path: Path) -> None:
    secret, target = tmp_path / "secret.txt", tmp_path / "written.csv"
    secret.write_text("secret")
    rows = arrow_schema(COLUMNS).append(pa.field(NUMBER, pa.int64())).empty_table()
    for clause in (
        f"WHERE EXISTS (FROM read_text('{secret}'))",
        f"; COPY (SELECT 1) TO '{target}'",
        f"; ATTACH '{target}'",
        "; SET enable_external_access = true",
        "; INSTALL httpfs",
        "WHERE EXISTS (FROM rows)",  # a variable of ours
    ):
        with pytest.raises(SinkError):
            JUDGE.chosen(rows, Selection(clause, ()))
    assert not target.exists()


def test_the_table_as_a_row_is_not_a_column(filled: Table) -> None:
    with pytest.raises(SinkError, match="has lines, which is not a column"):
        search(filled, "--where", "lines::VARCHAR LIKE '%prod%'")
