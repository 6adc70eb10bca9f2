"""Why a record is no line, in words. Exact and slow: only records that are known to be bad come here.

Spark's casts are too kind to be a check (5 becomes "5", "12" becomes 12), so the kind of each value is asked for. What
looks roundabout, and why:

- The value is parsed inside brackets. `try_parse_json` stops behind the first value and would take `{…} and a tail`;
  inside brackets only one whole value, or several with commas, which `$[1]` shows, are JSON.
- `doc` and its parts are columns of their own stages: Spark does not merge stages when that would parse twice.
- The kind of a whole object is a long text. It is asked for only where something is missing.
"""

from pyspark.sql import DataFrame

from spark_sink.records.schema import FIELDS, PARENTS, TIME, Field, Kind
from spark_sink.records.variants import IN_RANGE, KIND_SHOWN, path_of, text, time_of

# Whether a JSON kind fits, as schema_of_variant names it. A list's kind comes from its elements, VOID if it has none.
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


def explained(records: DataFrame, column: str) -> DataFrame:
    """The records, which have a BINARY `value`, with the reason; NULL where nothing is found."""
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


def _part(field: Field) -> str:
    return f"_{field.column}"


def _kind(field: Field) -> str:
    return f"_{field.column}_kind"


def _reason() -> str:
    found = f"try_variant_get({_part(TIME)}, '$', 'string')"
    return f"""CASE
        WHEN NOT is_valid_utf8(CAST(value AS STRING)) THEN 'not UTF-8'
        WHEN _doc IS NULL AND length(value) >= 16 * 1024 * 1024 THEN 'too large: a VARIANT holds 16 MiB'
        WHEN _doc IS NULL OR _several THEN 'not JSON'
        WHEN {_kind(TIME)} IS NULL OR {_kind(TIME)} = 'VOID' THEN
            CASE WHEN startswith(schema_of_variant(_doc), 'OBJECT<') THEN 'no @timestamp' ELSE 'not an object' END
        {" ".join(_wrong_kind(field) for field in FIELDS)}
        WHEN {time_of(found)} IS NULL THEN concat('@timestamp is not an ISO 8601 time: ', left({found}, 80))
        WHEN ({time_of(found)} {IN_RANGE}) IS NOT TRUE THEN
            concat('@timestamp is in no year from 1 to 9999: ', left({found}, 80))
        {" ".join(_no_object(path, below) for path, below in PARENTS)}
    END"""


def _wrong_kind(field: Field) -> str:
    """Absent and null (VOID) fit everything."""
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
    """SQL for the words; `kind` is SQL, too."""
    return f"concat({text(f'wrong type: {path} is ')}, left({kind}, {KIND_SHOWN}), {text(f', not {wanted}')})"
