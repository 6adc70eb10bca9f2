"""The columns that the configuration adds to a table of lines: `columns:`, each a path in the record and a type.

A value of another type gives NULL and stays in `doc`. Spark's casts are too lenient to detect it: 5 would become "5".
"""

from dataclasses import dataclass

from config.sink.tables import ColumnConfig, ColumnType
from spark_sink.records.reasons import wrong_type
from spark_sink.records.schema import Column
from spark_sink.records.variants import path_of, sql_literal, time_of

_WHOLE = "{kind} = 'BIGINT'"
# The kind that the value must have, as schema_of_variant names it. Text needs no check: nothing else gives bytes.
_FITS: dict[ColumnType, str] = {
    "boolean": "{kind} = 'BOOLEAN'",
    "int": _WHOLE,
    "bigint": _WHOLE,
    "double": "{kind} IN ('BIGINT', 'DOUBLE') OR startswith({kind}, 'DECIMAL')",
    "array<string>": "{kind} IN ('ARRAY<STRING>', 'ARRAY<VOID>')",
}
_WORDS: dict[ColumnType, str] = {
    "string": "text",
    "boolean": "true or false",
    "int": "a whole number of 32 bits",
    "bigint": "a whole number of 64 bits",
    "double": "a number",
    "timestamp": "a time as text",
    "date": "a date as text",
    "array<string>": "a list of texts",
}


@dataclass(frozen=True, slots=True)
class OwnColumn:
    """One entry of `columns:`. Its methods return SQL over the column `doc`."""

    config: ColumnConfig

    @property
    def column(self) -> Column:
        return Column(self.config.name, self.config.type.upper(), self.config.comment or self.config.path)

    def value(self) -> str:
        path, kind = path_of(self.config.path), self._kind()
        as_text = f"CAST(try_variant_get(doc, {path}, 'binary') AS STRING)"
        match self.config.type:
            case "string":
                return as_text
            case "timestamp":
                return time_of(as_text)
            case "date":  # a cast takes "2026" as well, as its first day
                return f"CASE WHEN length({as_text}) >= 10 THEN try_cast({as_text} AS DATE) END"
            case other:
                return f"CASE WHEN {_FITS[other].format(kind=kind)} THEN try_variant_get(doc, {path}, '{other}') END"

    def reason(self) -> str:
        """Return a branch of a CASE, the reason why a record without the column is bad; empty where it is not
        required."""
        if not self.config.required:
            return ""
        name, path, kind = self.config.name, self.config.path, self._kind()
        wrong = wrong_type(path, kind, _WORDS[self.config.type])
        missing = sql_literal(f"no {path}, which the column {name} requires")
        return f"WHEN `{name}` IS NULL THEN CASE WHEN coalesce({kind}, 'VOID') = 'VOID' THEN {missing} ELSE {wrong} END"

    def _kind(self) -> str:
        return f"schema_of_variant(try_variant_get(doc, {path_of(self.config.path)}, 'variant'))"
