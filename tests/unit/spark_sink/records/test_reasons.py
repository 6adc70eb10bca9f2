from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession

from spark_sink.records.local_rows import local_rows
from spark_sink.records.reasons import without_rows
from spark_sink.records.schema import Column

pytestmark = pytest.mark.spark

Place = tuple[str, int, int]

TOPIC, PARTITION = Column("topic", "STRING", ""), Column("partition", "INT", "")


def without_rows_of(spark: SparkSession, records: Sequence[Place], *tables: Sequence[Place]) -> list[Place]:
    read = local_rows(spark, (TOPIC, PARTITION, Column("offset", "BIGINT", "")), records)
    rows = [local_rows(spark, (TOPIC, PARTITION, Column("kafka_offset", "BIGINT", "")), table) for table in tables]
    remaining = without_rows(read, rows)
    assert remaining.columns == read.columns
    return sorted((row.topic, row.partition, row.offset) for row in remaining.collect())


def test_records_that_are_rows_are_left_out_wherever_they_lie_in_a_block(spark: SparkSession) -> None:
    far = 2**62
    offsets = [*range(200), far - 1, far, far + 63, far + 64]
    bad = {0, 31, 63, 64, 127, 199, far, far + 63}
    records = [("logs", 0, offset) for offset in offsets]
    rows = [place for place in records if place[2] not in bad]
    assert without_rows_of(spark, records, rows) == [("logs", 0, offset) for offset in sorted(bad)]


def test_an_offset_is_one_of_its_topic_and_partition(spark: SparkSession) -> None:
    records = [(topic, partition, 7) for topic in ("logs", "more") for partition in (0, 1)]
    assert without_rows_of(spark, records, [("logs", 0, 7)], [("more", 1, 7)]) == [("logs", 1, 7), ("more", 0, 7)]


def test_where_no_row_landed_all_records_are_asked(spark: SparkSession) -> None:
    assert without_rows_of(spark, [("logs", 0, 1)]) == [("logs", 0, 1)]
