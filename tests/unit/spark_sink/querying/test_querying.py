"""The statements of docs/guides/queries.md, as they stand there, against small tables."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from log_shipper.spark_sink.platform import delta_jar
from tests.java import needs_delta
from tests.unit.spark_sink.querying.tables import PAGE, Tables, blocks

pytestmark = [pytest.mark.spark, needs_delta, pytest.mark.slow("a page of the documentation")]

STATEMENTS = blocks("sql")
NAMES = STATEMENTS.pop("With Spark")
REGISTRATION = STATEMENTS.pop("Tables by name")
RECENT = STATEMENTS.pop("What came in the last ten minutes")


def at(time: str) -> datetime:
    return datetime.fromisoformat(f"2026-10-05 {time}")


LONG = "E" * 97
EXPECTED: dict[str, list[tuple[Any, ...]]] = {
    "Errors of one host, in time order": [
        (at("09:30:02"), "/var/log/shop.log", "ERROR no answer\n  at Cart"),
        (at("09:31:03"), "/var/log/shop.log", "ERROR disk full"),
    ],
    "The lines around a match": [(60, "login of ada"), (73, LONG), (171, "ERROR disk full"), (187, "stop")],
    "One file, in order": [
        ("00aa", 0, "rotated away"),
        ("9f3c", 0, "start"),
        ("9f3c", 6, "GET /cart 200"),
        ("9f3c", 20, "GET /cart 500"),
        ("9f3c", 34, "ERROR no answer\n  at Cart"),
        ("9f3c", 60, "login of ada"),
        ("9f3c", 73, LONG),
        ("9f3c", 171, "ERROR disk full"),
        ("9f3c", 187, "stop"),
    ],
    "Lines and errors a minute": [
        (at("09:29:00"), "web-1", 1, 0),
        (at("09:30:00"), "web-1", 4, 1),
        (at("09:31:00"), "web-1", 4, 1),
        (at("09:31:00"), "web-2", 3, 1),
    ],
    "A field of the JSON": [(at("09:30:02"), "shop-1", "GET /cart 500")],
    "A field of the JSON 2": [(at("09:30:01"), None, 200), (at("09:30:02"), "shop-1", 500)],
    "The names of all fields without a column": [
        ("http", 3, "OBJECT<response: OBJECT<status_code: VARIANT>>"),
        ("kubernetes", 1, "OBJECT<pod: OBJECT<name: STRING>>"),
    ],
    "Which hosts write most": [("web-1", 9, 205, 2), ("web-2", 3, 35, 2)],
    "Lines with a tag": [(at("09:31:00"), "web-1", "login of ada")],
    "Cut and joined messages": [("web-1", "/var/log/shop.log", 1, 1)],
    "What came late": [("web-2", "88cc", 1, timedelta(hours=3))],
    "Bad records, by reason": [
        ("not JSON", 2, at("09:31:00"), "no JSON"),
        ("no @timestamp", 1, at("09:30:00"), "{}"),
    ],
    "The table as it was": [("web-1", 6)],
}


@pytest.fixture(scope="module", autouse=True)
def views(spark: SparkSession, tables: Tables) -> None:
    for statement in tables.here(NAMES).split(";\n"):
        if statement.strip():
            spark.sql(statement)


def test_every_statement_of_the_page_is_run() -> None:
    assert STATEMENTS.keys() == EXPECTED.keys()


@pytest.mark.parametrize("heading", EXPECTED)
def test_a_statement_gives_what_its_heading_promises(heading: str, spark: SparkSession, tables: Tables) -> None:
    rows = spark.sql(tables.here(STATEMENTS[heading])).collect()
    assert [tuple(row) for row in rows] == EXPECTED[heading]


def test_what_came_in_the_last_minutes_is_what_was_sent_then(spark: SparkSession, tables: Tables) -> None:
    rows = spark.sql(tables.here(RECENT).replace("10 MINUTES", "100 MINUTES")).collect()  # a slow machine
    assert [tuple(row) for row in rows] == [("logs", "web-3", 1, tables.now - timedelta(seconds=1))]


def test_the_shell_of_the_page_has_the_version_that_writes() -> None:
    assert f"--packages {delta_jar.package()} " in PAGE


def test_a_table_has_a_name_and_loses_no_row_with_it(spark: SparkSession, tables: Tables) -> None:
    for statement in filter(str.strip, tables.here(REGISTRATION).split(";\n")):
        spark.sql(statement)
    try:
        assert [row.tableName for row in spark.sql("SHOW TABLES IN logs").collect() if row.namespace] == ["lines"]
        by_path = spark.sql(f"SELECT count(*) FROM delta.`{tables.path}`").collect()
        assert spark.sql("SELECT count(*) FROM logs.lines").collect() == by_path
    finally:
        spark.sql("DROP SCHEMA logs CASCADE")
    assert spark.sql(f"SELECT count(*) FROM delta.`{tables.path}`").collect() == by_path
