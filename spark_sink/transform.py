"""From Kafka's records to typed rows and bad records: DataFrame in, DataFrame out, nothing is read or written.

Each value is parsed once, into a VARIANT; the typed columns are cut out of it. Spark's casts are too kind to be a check
(5 becomes "5", "12" becomes 12), so the kind of each value is asked for before it is cast. Everything is a SQL
expression: no Python runs beside the executors. What looks roundabout, and why:

- The value is parsed inside brackets. `try_parse_json` stops behind the first value and would take `{…} and a tail`,
  losing the tail; inside brackets only one whole value, or several with commas, which `$[1]` shows, are JSON.
- `doc` and its parts are columns of their own stages: Spark does not merge stages when that would parse twice.
- The kind of a whole object is a long text. It is asked for only where something is missing.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_sink.schema import BAD_RECORDS, FIELDS, LINES, PARENTS, TIME, Field, Kind, names

REASON = "reason"
RAW = ("key", "value", "topic", "partition", "kafka_offset", "kafka_ts")

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


def parse(records: DataFrame) -> DataFrame:
    """Records of Spark's Kafka source -> all columns of both tables. Keeps every record; a good row has no `reason`."""
    raw = records.selectExpr(
        "key", "value", "topic", "partition", "offset AS kafka_offset", "timestamp AS kafka_ts",
        "try_parse_json(concat('[', CAST(value AS STRING), ']')) AS parsed",
    )  # fmt: skip
    parts = raw.selectExpr(
        *RAW,
        "try_variant_get(parsed, '$[0]', 'variant') AS doc",
        "try_variant_get(parsed, '$[1]', 'variant') IS NOT NULL AS several",
        *(f"try_variant_get(parsed, \"$[0]{field.path}\", 'variant') AS {_part(field)}" for field in FIELDS),
    )
    kinds = parts.selectExpr("*", *(f"schema_of_variant({_part(field)}) AS {_kind(field)}" for field in FIELDS))
    typed = kinds.selectExpr(
        *RAW, "doc", "several", *map(_kind, FIELDS), *(f"{_value(field)} AS {field.column}" for field in FIELDS)
    )
    return typed.selectExpr("*", "CAST(ts AS DATE) AS date", f"{_reason()} AS {REASON}")


def good(parsed: DataFrame) -> DataFrame:
    """The rows of the table of lines, columns in its order."""
    return parsed.where(F.col(REASON).isNull()).select(*names(LINES))


def bad(parsed: DataFrame) -> DataFrame:
    """The rows of the dead-letter table, columns in its order."""
    return parsed.where(F.col(REASON).isNotNull()).select(*names(BAD_RECORDS))


def _part(field: Field) -> str:
    return f"{field.column}_part"


def _kind(field: Field) -> str:
    return f"{field.column}_kind"


def _value(field: Field) -> str:
    part = _part(field)
    match field.kind:
        case "object":  # JSON's null is a VARIANT of its own, and would not be NULL in SQL
            return f"CASE WHEN {_kind(field)} <> 'VOID' THEN {part} END"
        case "timestamp":
            text = f"try_variant_get({part}, '$', 'string')"
            # A cast also takes "12:30", as a time of the day of the query: only a date, a T and a time count.
            return f"CASE WHEN substr({text}, 11, 1) IN ('T', ' ') THEN try_cast({text} AS TIMESTAMP) END"
        case kind:
            return f"try_variant_get({part}, '$', '{kind}')"


def _reason() -> str:
    return f"""CASE
        WHEN value IS NULL THEN 'no value'
        WHEN NOT is_valid_utf8(CAST(value AS STRING)) THEN 'not UTF-8'
        WHEN doc IS NULL AND length(value) >= 16 * 1024 * 1024 THEN 'too large: a VARIANT holds 16 MiB'
        WHEN doc IS NULL OR several THEN 'not JSON'
        WHEN {_kind(TIME)} IS NULL OR {_kind(TIME)} = 'VOID' THEN {_no_time()}
        {" ".join(_wrong_kind(field) for field in FIELDS)}
        WHEN ts IS NULL THEN concat('@timestamp is not an ISO 8601 time: ', {_shown(TIME)})
        {" ".join(_no_object(path, below) for path, below in PARENTS)}
    END"""


def _no_time() -> str:
    return "CASE WHEN startswith(schema_of_variant(doc), 'OBJECT<') THEN 'no @timestamp' ELSE 'not an object' END"


def _wrong_kind(field: Field) -> str:
    """Absent and null (VOID) fit everything."""
    kind, name = _kind(field), field.path.strip(".[]'")
    fits = _FITS[field.kind].format(kind=kind)
    return (
        f"WHEN {kind} <> 'VOID' AND NOT ({fits}) "
        f"THEN concat('wrong type: {name} is ', left({kind}, 80), ', not {_WORDS[field.kind]}')"
    )


def _no_object(path: str, below: tuple[str, ...]) -> str:
    kind = f"schema_of_variant(try_variant_get(doc, '${path}', 'variant'))"
    nothing = " AND ".join(f"{column} IS NULL" for column in below)
    return (
        f"WHEN {nothing} AND {kind} <> 'VOID' AND NOT startswith({kind}, 'OBJECT<') "
        f"THEN concat('wrong type: {path[1:]} is ', left({kind}, 80), ', not an object')"
    )


def _shown(field: Field) -> str:
    return f"left(try_variant_get(doc, \"${field.path}\", 'string'), 80)"
