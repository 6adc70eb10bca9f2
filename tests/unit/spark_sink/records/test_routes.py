"""Which table each record goes to."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from config.sink.tables import TableConfig
from spark_sink.errors import SinkError
from spark_sink.records.transform import Transform
from tests.unit.spark_sink.conftest import sink_config
from tests.unit.spark_sink.kafka_records import records

pytestmark = pytest.mark.spark

LACKS = "no fields.service, by which table.path chooses the table"

# A value of fields.service -> its directory; None where there is none
VALUES: dict[str, str | None] = {
    '"shop"': "shop",
    '"Shop-1.0_b"': "Shop-1.0_b",
    '"a/b"': "a_b",
    '"../../etc"': "__.._etc",
    '".."': "_",
    '"."': "_",
    '".hidden"': "_hidden",
    '"_delta_log"': "_delta_log_",
    '"größe ☃"': "gr__e__",
    '"it\'s"': "it_s",
    '"{curly}"': "_curly_",
    f'"{"a" * 300}"': "a" * 128,
    "7": "7",
    "true": "true",
    '""': None,
    "null": None,
    "{}": None,
    '["a"]': None,
}


def record(service: str | None) -> bytes:
    fields = f',"fields":{{"service":{service}}}' if service is not None else ""
    return ('{"@timestamp":"2026-11-21T09:30:00.123Z"' + fields + "}").encode()


def transform(path: str, max_tables: int = 100) -> Transform:
    config = sink_config(Path("/data"))
    return Transform(replace(config, table=TableConfig(path=path, max_tables=max_tables)))


@pytest.fixture(scope="module")
def routed(spark: SparkSession) -> dict[str, tuple[str | None, str | None]]:
    rows = transform("/data/%{[fields.service]}/lines").parse(records(spark, [("", record(v)) for v in VALUES]))
    return {list(VALUES)[row.kafka_offset]: (row.table, row.reason) for row in rows.drop("doc", "fields").collect()}


@pytest.mark.parametrize("value", VALUES)
def test_a_value_becomes_one_directory(value: str, routed: dict[str, tuple[str | None, str | None]]) -> None:
    directory = VALUES[value]
    assert routed[value] == ((None, LACKS) if directory is None else (f"/data/{directory}/lines", None))


def test_what_lacks_the_field_goes_by_the_default_and_every_topic_has_its_table(spark: SparkSession) -> None:
    values = [("", record(service)) for service in (None, None, '"shop"', "{}")]
    way = transform("s3a://it's/%{[topic]}-%{[fields.service]:nobody}")
    parsed = way.parse(records(spark, values, topics=("web", "db.1"))).persist()
    assert [row.table for row in parsed.orderBy("kafka_offset").collect()] == [
        "s3a://it's/web-nobody",
        "s3a://it's/db.1-nobody",
        "s3a://it's/web-shop",
        "s3a://it's/db.1-nobody",
    ]
    assert way.tables(parsed) == (["s3a://it's/db.1-nobody", "s3a://it's/web-nobody", "s3a://it's/web-shop"], 0)
    parsed.unpersist()


def test_the_tables_and_the_bad_records_of_a_batch_are_counted(spark: SparkSession) -> None:
    services = ('"a"', '"b"', None, '"a"')
    way = transform("/data/%{[fields.service]}", max_tables=2)
    parsed = way.parse(records(spark, [*(("", record(service)) for service in services), ("", b"no JSON")]))
    assert way.tables(parsed) == (["/data/a", "/data/b"], 2)
    assert way.tables(parsed, existing=["/data/b"]) == (["/data/a", "/data/b"], 2)


@pytest.mark.parametrize(("services", "existing"), [(("a", "b", "c"), ()), (("a",), ("/data/x", "/data/y"))])
def test_more_tables_than_there_may_be_are_not_made(
    services: tuple[str, ...], existing: tuple[str, ...], spark: SparkSession
) -> None:
    way = transform("/data/%{[fields.service]}", max_tables=2)
    parsed = way.parse(records(spark, [("", record(json.dumps(service))) for service in services]))
    with pytest.raises(SinkError, match=r"table.max_tables \(2\) tables, the next one /data/a"):
        way.tables(parsed, existing)


def test_without_a_template_rows_have_no_table(spark: SparkSession) -> None:
    assert "table" not in transform("/data/lines").parse(records(spark, [])).columns
