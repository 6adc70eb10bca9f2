"""Which records of a batch have not become rows: parsed once more, they say what is wrong with them."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

# The offsets that one number holds, a bit each: what is joined with is small, and no record has to move.
_BLOCK = 64


def without(records: DataFrame, tables: Sequence[DataFrame]) -> DataFrame:
    """`records` as Spark's Kafka source gives them, without those whose topic, partition and offset is in a row."""
    if not tables:
        return records
    rows = reduce(DataFrame.union, (each.select("topic", "partition", "kafka_offset") for each in tables))
    landed = rows.groupBy("topic", "partition", F.expr(f"kafka_offset DIV {_BLOCK} AS block")).agg(
        F.expr(f"bit_or(shiftleft(1L, CAST(kafka_offset % {_BLOCK} AS INT))) AS bits")
    )
    asked = records.selectExpr("*", f"offset DIV {_BLOCK} AS block")
    joined = asked.join(F.broadcast(landed), ["topic", "partition", "block"], "left")
    there = F.expr(f"coalesce(getbit(bits, CAST(offset % {_BLOCK} AS INT)), 0) = 1")
    return joined.where(~there).select(*records.columns)
