"""Bad records, and the reason why each of them is not a line. Exact and slow: good records never come here.

Spark's casts are too lenient to be a check (5 becomes "5", "12" becomes 12), so the kind of each value is looked at.
What looks roundabout, and why:

- The value is parsed inside brackets. `try_parse_json` stops behind the first value and would accept `{…} and a tail`;
  inside brackets only one whole value, or several with commas, which `$[1]` shows, are JSON.
- `doc` and its parts are columns of their own stages: Spark does not merge stages when that would parse twice.
- The kind of a whole object is a long text. It is computed only where something is missing.
"""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_sink.records.schema import FIELDS, PARENTS, TIME, Kind, TypedField
from spark_sink.records.variants import IN_RANGE, KIND_SHOWN, path_of, sql_literal, time_of

# The offsets in one number, a bit each: the side that is joined with is small, and the records are not shuffled.
_BLOCK = 64

# The condition that a JSON kind fits, as schema_of_variant names it. A list's kind comes from its elements, VOID if it
# has none.
_FITS: dict[Kind, str] = {
    "timestamp": "{kind} = 'STRING'",
    "string": "{kind} = 'STRING'",
    "bigint": "{kind} = 'BIGINT'",
    "array<string>": "{kind} IN ('ARRAY<STRING>', 'ARRAY<VOID>')",
    "object": "startswith({kind}, 'OBJECT<')",
}
_WORDS: dict[Kind, str] = {
    "timestamp": "a time as text",
    "string": "text",
    "bigint": "a whole number",
    "array<string>": "a list of texts",
    "object": "an object",
}


def without_rows(records: DataFrame, tables: Sequence[DataFrame]) -> DataFrame:
    """Return the records of Spark's Kafka source whose topic, partition and offset no row of the tables has: those of a
    batch that did not become rows."""
    if not tables:
        return records
    rows = reduce(DataFrame.union, (table.select("topic", "partition", "kafka_offset") for table in tables))
    landed = rows.groupBy("topic", "partition", F.expr(f"kafka_offset DIV {_BLOCK} AS block")).agg(
        F.expr(f"bit_or(shiftleft(1L, CAST(kafka_offset % {_BLOCK} AS INT))) AS bits")
    )
    blocks = records.selectExpr("*", f"offset DIV {_BLOCK} AS block")
    joined = blocks.join(F.broadcast(landed), ["topic", "partition", "block"], "left")
    is_row = F.expr(f"coalesce(getbit(bits, CAST(offset % {_BLOCK} AS INT)), 0) = 1")
    return joined.where(~is_row).select(*records.columns)


def explained(records: DataFrame, column: str) -> DataFrame:
    """Return the records, which have a BINARY `value`, with a column of the reason; NULL where none applies."""
    kept = records.columns
    parsed = records.selectExpr("*", "try_parse_json(concat('[', CAST(value AS STRING), ']')) AS _parsed")
    parts = parsed.selectExpr(
        *_quoted(kept),
        "try_variant_get(_parsed, '$[0]', 'variant') AS _doc",
        "try_variant_get(_parsed, '$[1]', 'variant') IS NOT NULL AS _several",
        *(f"try_variant_get(_parsed, {path_of(field.path, '$[0]')}, 'variant') AS {_part(field)}" for field in FIELDS),
    )
    kinds = parts.selectExpr("*", *(f"schema_of_variant({_part(field)}) AS {_kind(field)}" for field in FIELDS))
    return kinds.selectExpr(*_quoted(kept), f"{_reason()} AS {column}")


def _quoted(names: list[str]) -> list[str]:
    return [f"`{name}`" for name in names]


def _part(field: TypedField) -> str:
    return f"_{field.column}"


def _kind(field: TypedField) -> str:
    return f"_{field.column}_kind"


def _reason() -> str:
    time = f"try_variant_get({_part(TIME)}, '$', 'string')"
    return f"""CASE
        WHEN NOT is_valid_utf8(CAST(value AS STRING)) THEN 'not UTF-8'
        WHEN _doc IS NULL AND length(value) >= 16 * 1024 * 1024 THEN 'too large: a VARIANT holds 16 MiB'
        WHEN _doc IS NULL OR _several THEN 'not JSON'
        WHEN {_kind(TIME)} IS NULL OR {_kind(TIME)} = 'VOID' THEN
            CASE WHEN startswith(schema_of_variant(_doc), 'OBJECT<') THEN 'no @timestamp' ELSE 'not an object' END
        {" ".join(_wrong_kind(field) for field in FIELDS)}
        WHEN {time_of(time)} IS NULL THEN concat('@timestamp is not an ISO 8601 time: ', left({time}, 80))
        WHEN ({time_of(time)} {IN_RANGE}) IS NOT TRUE THEN
            concat('@timestamp is in no year from 1 to 9999: ', left({time}, 80))
        {" ".join(_no_object(path, below) for path, below in PARENTS)}
    END"""


def _wrong_kind(field: TypedField) -> str:
    """Return a branch of the CASE. Absent and null (VOID) fit every type."""
    kind = _kind(field)
    fits = _FITS[field.kind].format(kind=kind)
    return f"WHEN {kind} <> 'VOID' AND NOT ({fits}) THEN {wrong_type(field.path, kind, _WORDS[field.kind])}"


def _no_object(path: str, below: tuple[str, ...]) -> str:
    kind = f"schema_of_variant(try_variant_get(_doc, {path_of(path)}, 'variant'))"
    nothing = " AND ".join(f"_{column} IS NULL" for column in below)
    return (
        f"WHEN {nothing} AND {kind} <> 'VOID' AND NOT startswith({kind}, 'OBJECT<') "
        f"THEN {wrong_type(path, kind, 'an object')}"
    )


def wrong_type(path: str, kind: str, wanted: str) -> str:
    """Return SQL for the reason; `kind` is SQL, too."""
    before, behind = sql_literal(f"wrong type: {path} is "), sql_literal(f", not {wanted}")
    return f"concat({before}, left({kind}, {KIND_SHOWN}), {behind})"
