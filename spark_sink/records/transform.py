"""From Kafka's records to typed rows and bad records: DataFrame in, DataFrame out, nothing is read or written.

Everything is a SQL expression: no Python runs beside the executors. Each value is parsed once, which shows the records
that are bad. The reason is computed only when they go to the dead letter (`reasons`): bad records are rare.
"""

from collections.abc import Collection
from dataclasses import dataclass

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from config.sink.model import SinkConfig
from spark_sink.records import headers, parsing
from spark_sink.records.columns import OwnColumn
from spark_sink.records.reasons import explained
from spark_sink.records.routes import Routes
from spark_sink.records.schema import BAD_RECORDS, FIELDS, LINES, Column, names

REASON = "reason"
TABLE = "table"
RAW = ("key", "value", "headers", "topic", "partition", "kafka_offset", "kafka_ts")

_UNREADABLE = "not JSON"  # the reason until it is explained, and where no other one applies


@dataclass(frozen=True, slots=True)
class Transform:
    """Parses records as the configuration says."""

    config: SinkConfig

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns of a table of lines, in its order."""
        return (*LINES, *(own.column for own in self._own))

    def parse(self, records: DataFrame) -> DataFrame:
        """Return one row for each record of Spark's Kafka source, with the columns of both kinds of table. A good row
        has no `reason`; with a template it has its `table`.

        Observe, persist or fence (`fenced`) the result before it is filtered: Spark pushes a filter below the parsing
        and repeats the parsing's expressions in it; that takes ten times as long, and minutes with configured columns.
        """
        raw = records.selectExpr(
            "key",
            "value",
            "headers",
            f"{headers.text()} AS text",
            f"{headers.reason()} AS wrong_headers",
            "is_valid_utf8(CAST(value AS STRING)) AS valid",
            "topic",
            "partition",
            "offset AS kafka_offset",
            "timestamp AS kafka_ts",
        )
        parsed = raw.selectExpr("*", f"{parsing.json()} AS json")
        docs = parsed.selectExpr("*", f"{parsing.doc()} AS doc")
        typed = docs.selectExpr(
            "*",
            *(f"{parsing.value(field)} AS `{field.column}`" for field in FIELDS),
            *(f"{own.value()} AS `{own.column.name}`" for own in self._own),
        )
        judged = typed.selectExpr("*", "CAST(ts AS DATE) AS date", f"{self._reason()} AS {REASON}")
        kept = [*RAW, *(name for name in names(self.columns) if name not in RAW), REASON]
        if self.config.has_template:
            table = f"CASE WHEN {REASON} IS NULL THEN {self._routes.table()} END AS `{TABLE}`"
            return judged.selectExpr(*(f"`{name}`" for name in kept), table)
        return judged.select(*kept)

    def good(self, parsed: DataFrame) -> DataFrame:
        """Return the rows of tables of lines, columns in their order."""
        return parsed.where(F.col(REASON).isNull()).select(*names(self.columns))

    def bad(self, parsed: DataFrame) -> DataFrame:
        """Return the rows of the dead-letter table, columns in its order."""
        rows = explained(fenced(parsed).where(F.col(REASON).isNotNull()).select(*RAW, REASON), "explained")
        reason = (
            f"CASE WHEN {REASON} = '{_UNREADABLE}' THEN coalesce(explained, {REASON}) ELSE {REASON} END AS {REASON}"
        )
        rows = rows.selectExpr(*RAW, reason, "CAST(NULL AS BIGINT) AS last_offset", "current_timestamp() AS at")
        return rows.select(*names(BAD_RECORDS))

    def tables(self, parsed: DataFrame, existing: Collection[str] = ()) -> tuple[list[str], int]:
        """Return the tables that the rows belong in, and how many records are bad; with a template only.

        `existing`: the tables that exist. Raises SinkError where there would be more than table.max_tables.
        """
        return self._routes.distinct(parsed, set(existing))

    @property
    def _own(self) -> tuple[OwnColumn, ...]:
        return tuple(OwnColumn(column) for column in self.config.columns)

    @property
    def _routes(self) -> Routes:
        return Routes(self.config.table.template, self.config.table.max_tables)

    def _reason(self) -> str:
        branches = [*(own.reason() for own in self._own), *self._routes.reasons()]
        return f"""CASE
            WHEN valid IS NULL THEN 'no value'
            WHEN wrong_headers IS NOT NULL THEN wrong_headers
            WHEN ({parsing.is_good()}) IS NOT TRUE THEN '{_UNREADABLE}'
            {" ".join(branches)}
        END"""


def fenced(parsed: DataFrame) -> DataFrame:
    """Return the same rows, with a fence that Spark moves no filter over: an observation."""
    return parsed.observe(Observation(), F.count(F.lit(1)).alias("rows"))
