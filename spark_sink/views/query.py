"""Turns a view's SQL text into a streaming query on the table of lines, or reports why that is impossible.

Each view reads the table as a separate stream, where each landed row comes once. Commits that do not append:

- `dataChange=false` (OPTIMIZE): Delta's source skips it; its rows were read when they landed.
- a commit that removes files (retention's DELETE): `skipChangeCommits` skips the whole commit. Rows that the view
  already has stay.
- RESTORE is skipped too, unless it only adds files back: then their rows are read a second time. `view_storage` refuses
  to continue after one.

With a watermark, all existing rows are read in one batch. In several batches, Delta would read files by write time:
after an OPTIMIZE, old rows could follow new ones and be dropped as late.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DayTimeIntervalType, NullType, YearMonthIntervalType

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.options.views import ViewConfig
from log_shipper.spark_sink.platform.spark_errors import SPARK_ERRORS
from log_shipper.spark_sink.views import catalyst

LINES = "lines"  # the name of the stream in the SQL text
NO_LIMIT = str(2**31 - 1)


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """A view, and its index in the list `views` of the configuration."""

    view: ViewConfig
    index: int

    def option(self, name: str) -> str:
        return f"views[{self.index}].{name} ({self.view.name})"


def query(spark: SparkSession, entry: ViewEntry, source: str, from_version: int | None = None) -> DataFrame:
    """Return the stream of the view's rows. `from_version`: the first commit to read; None for all.

    Raises SinkError for a text that Spark cannot parse, resolve or run as a stream.
    """
    view, text = entry.view, text_of(entry.view)
    _register(spark, entry, source, from_version)
    try:
        catalyst.parse_query(spark, text)  # spark.sql alone would execute a DROP or a DELETE
        rows = spark.sql(text)
        if not rows.isStreaming:
            raise SinkError(f"{entry.option('sql')}: the query does not read from `{LINES}`; the view would stay empty")
        catalyst.check_streaming(spark, rows, view.mode)
    except SPARK_ERRORS as error:
        raise SinkError(f"{entry.option('sql')}: {explain(str(error), text)}") from error
    if problems := list(_problems(entry, rows)):
        raise SinkError("\n".join(problems))
    return rows


def text_of(view: ViewConfig) -> str:
    """Return the SQL text without a final semicolon."""
    return view.sql.rstrip().removesuffix(";")


def _register(spark: SparkSession, entry: ViewEntry, source: str, from_version: int | None) -> None:
    view = entry.view
    options = {"skipChangeCommits": "true"}
    if from_version is not None:
        options["startingVersion"] = str(from_version)
    if view.watermark is not None:
        options["maxFilesPerTrigger"] = NO_LIMIT
    try:
        lines = spark.readStream.format("delta").options(**options).load(source)
        if view.watermark is not None:
            lines = lines.withWatermark(view.watermark_column, f"{round(view.watermark * 1000)} milliseconds")
            # Spark pushes no filter below an observation, so rows that a filter drops advance the watermark too: for a
            # view of rare errors, the last minute would otherwise stay open until the next error.
            lines = lines.observe("lines", F.count(F.lit(1)).alias("lines"))
        lines.createOrReplaceTempView(LINES)
    except SPARK_ERRORS as error:
        option = "sql" if view.watermark is None else "watermark_column"
        raise SinkError(f"{entry.option(option)}: cannot read {source}: {explain(str(error), '')}") from error


def _problems(entry: ViewEntry, rows: DataFrame) -> Iterator[str]:
    """Yield columns that a table cannot contain, which Delta would report late or not at all."""
    names = [field.name for field in rows.schema]
    for field in rows.schema:
        if re.search(r"[ ,;{}()\n\t=]", field.name):
            yield f"{entry.option('sql')}: the column `{field.name}` needs a plain name: write ... AS name"
        if isinstance(field.dataType, NullType):
            yield f"{entry.option('sql')}: the column `{field.name}` has no type: write CAST(... AS STRING)"
        if isinstance(field.dataType, DayTimeIntervalType | YearMonthIntervalType):
            advice = "write timestampdiff(SECOND, ..., ...)"
            yield f"{entry.option('sql')}: the column `{field.name}` is an interval, which no table can store: {advice}"
        if [name.lower() for name in names].count(field.name.lower()) > 1:
            yield f"{entry.option('sql')}: several columns are called `{field.name}`: write ... AS another_name"
    for name in entry.view.partition_by:
        if name.lower() not in (column.lower() for column in names):
            columns = ", ".join(names)
            yield f"{entry.option('partition_by')}: {name!r} is not a column of the view; its columns are: {columns}"


# A pattern of Spark's message -> advice.
ADVICE: tuple[tuple[str, str], ...] = (
    (
        r"not supported for streaming aggregations without watermark",
        "to get each group once it is final, set `watermark` and group by window(ts, '1 minute') itself (not by its "
        "start; select window.start AS minute); to have the whole result rewritten each time, set mode: complete",
    ),
    (r"not supported for no streaming aggregations", "mode: complete is for a GROUP BY; leave it out here"),
    (r"Sorting is not supported", "a table has no order: sort when you read it"),
    (
        r"TABLE_OR_VIEW_NOT_FOUND",
        f"the stream is called {LINES}, and another Delta table delta.`/its/path`",
    ),
    (
        r'variant_.* requires the "VARIANT" type',
        "doc and fields are texts: write get_json_object(doc, '$.a.b'), or parse_json(doc) where a VARIANT is needed",
    ),
    (r"at or near '(insert|drop|delete|create|alter|merge|update|truncate)'", "a view is one SELECT"),
)


def explain(message: str, text: str) -> str:
    """Return Spark's message without internals, with the position in the SQL text and advice."""
    sentences = re.split(
        r"\.? SQLSTATE: |;?\s*\n(?:==|[~'+]|JVM)| \(line \d+, pos|; line \d+ pos", message.strip(), maxsplit=1
    )
    parts = [" ".join(sentences[0].split()).rstrip(".;")]
    if place := re.search(r"line (\d+),? pos (\d+)", message):
        line, position = int(place[1]), int(place[2])
        lines = text.splitlines()
        shown = f": {lines[line - 1].strip()}" if line <= len(lines) else ""
        parts.append(f"line {line}, column {position + 1}{shown}")
    parts += [advice for pattern, advice in ADVICE if re.search(pattern, message, re.IGNORECASE)]
    return "; ".join(parts)
