"""From `table.path` to the table of each row: the template as a SQL expression.

A value becomes the name of one directory, whatever a record contains: it can lead neither to another place of the file
system nor to a table's log.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from config.sink.template import Template, TemplateField
from spark_sink.errors import SinkError
from spark_sink.records.variants import path_of, sql_literal

LONGEST = 128  # characters of a value; a file system allows names of 255 bytes


@dataclass(frozen=True, slots=True)
class Routes:
    """Chooses the table of each row. `max_tables`: how many tables the template may create."""

    template: Template
    max_tables: int

    def table(self) -> str:
        """Return SQL for the path of a row's table; NULL where the record lacks a field that has no default."""
        parts = (sql_literal(part) if isinstance(part, str) else _directory(part) for part in self.template.parts)
        return f"concat({', '.join(parts)})"

    def reasons(self) -> list[str]:
        """Return branches of a CASE, SQL: the reasons why a record belongs in no table."""
        required = [field for field in self.template.fields if field.default is None and not field.is_topic]
        return [f"WHEN {_value(field)} IS NULL THEN {_missing(field)}" for field in required]

    def distinct(self, parsed: DataFrame, existing: set[str]) -> tuple[list[str], int]:
        """Return the tables that the rows belong in, and how many records are bad. `existing`: the tables that exist.

        Raises SinkError where the template would make more tables than it may.
        """
        most = self.max_tables + 2  # one table more than allowed, and the bad records
        counts = parsed.groupBy("table").agg(F.count(F.lit(1)).alias("rows")).limit(most).collect()
        tables = sorted(row.table for row in counts if row.table is not None)
        if len({*tables, *existing}) > self.max_tables:
            new = next((f", the next one {table}" for table in tables if table not in existing), "")
            raise SinkError(
                f"table.path would make more than table.max_tables ({self.max_tables}) tables{new}; "
                "choose the tables by a field with fewer values, or raise table.max_tables"
            )
        return tables, sum(row.rows for row in counts if row.table is None)


def _directory(field: TemplateField) -> str:
    value = f"left(regexp_replace({_value(field)}, '[^A-Za-z0-9._-]', '_'), {LONGEST})"
    # `.` and `..` are other directories, a name that begins with a dot is hidden from Spark.
    value = f"regexp_replace({value}, '^[.]+', '_')"
    # A directory of this name would make a table of the one that it is in.
    value = f"regexp_replace({value}, '^_delta_log$', '_delta_log_')"
    return value if field.default is None else f"coalesce({value}, {sql_literal(field.default)})"


def _missing(field: TemplateField) -> str:
    return sql_literal(f"no {field.name}, by which table.path chooses the table")


def _value(field: TemplateField) -> str:
    """Return SQL for the field as text: a text, a number or a truth value; NULL for an empty text."""
    if field.is_topic:
        return "topic"
    path = path_of(field.name)
    value = f"try_variant_get(doc, {path}, 'string')"
    # Lists and objects would give their JSON. Only a text gives bytes.
    plain = f"left({value}, 1) NOT IN ('{{', '[') OR try_variant_get(doc, {path}, 'binary') IS NOT NULL"
    return f"CASE WHEN {plain} THEN nullif({value}, '') END"
