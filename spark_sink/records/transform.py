"""From Kafka's records to typed rows and bad records: DataFrame in, DataFrame out, nothing is read or written.

Everything is a SQL expression: no Python runs beside the executors. Each value is parsed once. Whether a record is bad
is told at once, and in words only when it goes to the dead letter (`reasons`): bad records are rare.
"""

from collections.abc import Collection
from dataclasses import dataclass

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from config.sink.model import SinkConfig
from spark_sink.records import parsing
from spark_sink.records.columns import OwnColumn
from spark_sink.records.reasons import explained
from spark_sink.records.routes import Routes
from spark_sink.records.schema import BAD_RECORDS, FIELDS, LINES, Column, names

REASON = "reason"
TABLE = "table"
RAW = ("key", "value", "topic", "partition", "kafka_offset", "kafka_ts")

_UNREADABLE = "not JSON"  # what it says until it is explained, and where no other reason is found


@dataclass(frozen=True, slots=True)
class Transform:
    """What the configuration makes of records."""

    config: SinkConfig

    @property
    def columns(self) -> tuple[Column, ...]:
        """Of a table of lines, in its order."""
        return (*LINES, *(each.column for each in self._own))

    def parse(self, records: DataFrame) -> DataFrame:
        """Records of Spark's Kafka source -> a row each, with the columns of both kinds of table. A good row has no
        `reason`; with a template it has its `table`.

        Observe, keep, or fence what comes before it is filtered: Spark pushes a filter below the parsing, whose steps
        it writes out in it again and again; that takes ten times as long, and minutes with columns of one's own.
        """
        raw = records.selectExpr(
            "key",
            "value",
            "CAST(value AS STRING) AS text",
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
        """The rows of tables of lines, columns in their order."""
        return parsed.where(F.col(REASON).isNull()).select(*names(self.columns))

    def bad(self, parsed: DataFrame) -> DataFrame:
        """The rows of the dead-letter table, columns in its order."""
        rows = explained(fenced(parsed).where(F.col(REASON).isNotNull()).select(*RAW, REASON), "explained")
        reason = (
            f"CASE WHEN {REASON} = '{_UNREADABLE}' THEN coalesce(explained, {REASON}) ELSE {REASON} END AS {REASON}"
        )
        rows = rows.selectExpr(*RAW, reason, "CAST(NULL AS BIGINT) AS last_offset", "current_timestamp() AS at")
        return rows.select(*names(BAD_RECORDS))

    def tables(self, parsed: DataFrame, there: Collection[str] = ()) -> tuple[list[str], int]:
        """The tables that the rows belong in, and how many records are bad; with a template only.

        `there`: the tables that there are. Raises SinkError where it would become more than table.max_tables.
        """
        return self._routes.distinct(parsed, set(there))

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
            WHEN ({parsing.is_good()}) IS NOT TRUE THEN '{_UNREADABLE}'
            {" ".join(branches)}
        END"""


def fenced(parsed: DataFrame) -> DataFrame:
    """The same rows, with a filter behind it left where it is: Spark moves none over an observation."""
    return parsed.observe(Observation(), F.count(F.lit(1)).alias("rows"))
