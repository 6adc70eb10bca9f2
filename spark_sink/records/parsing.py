"""A record's text to its VARIANT and its typed values, by one call of Spark's JSON parser a row.

`from_json` keeps its parser from row to row, and takes a type for each field as it goes: cutting the fields out of the
VARIANT afterwards costs more, and `try_parse_json` makes a new parser for every row, which costs most of all. The text
is parsed twice, once for the VARIANT and once for the fields:

    {"a": [ VALUE ], "b": [[ VALUE ]]}

at two depths of brackets, so that no VALUE that closes one of them on its own passes for JSON: a record with a tail
behind it is bad, not cut. `from_json` turns whatever does not fit its type into NULL and records the failure, with one
exception: where text is wanted it accepts anything, as its JSON. So a text that could be JSON is checked again.
"""

from collections.abc import Iterable

from spark_sink.records.schema import FIELDS, TIME, TypedField
from spark_sink.records.variants import IN_RANGE, path_of, sql_literal, time_of

# Only what RFC 8259 calls JSON: the parser's own defaults are more lenient.
_OPTIONS = {
    "allowSingleQuotes": "false",
    "allowNonNumericNumbers": "false",
    "columnNameOfCorruptRecord": "failed",
}
_TYPES = {
    "timestamp": "STRING",
    "string": "STRING",
    "bigint": "BIGINT",
    "array<string>": "ARRAY<STRING>",
    "object": "STRUCT<>",  # shows that it is an object; its content comes from the VARIANT
}
# How JSON other than text and null begins and ends, as Spark writes it: a number beyond doubles as "Infinity".
_DIGITS = ", ".join(f"'{digit}'" for digit in range(10))
_BEGINNINGS = f"'{{', '[', '\"', 't', 'f', '-', {_DIGITS}"
_ENDS = f"'}}', ']', '\"', 'e', {_DIGITS}"

# `get`, because `[0]` of an empty list ends the job, and a bad record must not.
_RECORD = "get(get(json.b, 0), 0)"


def json() -> str:
    """Return SQL over the record's `text`: the column that is called `json` below."""
    options = ", ".join(f"{sql_literal(key)}, {sql_literal(value)}" for key, value in _OPTIONS.items())
    schema = f"a ARRAY<VARIANT>, b ARRAY<ARRAY<{_struct(FIELDS)}>>, failed STRING"
    wrapped = "concat('{\"a\":[', text, '],\"b\":[[', text, ']]}')"
    return f"from_json({wrapped}, {sql_literal(schema)}, map({options}))"


def doc() -> str:
    return "get(json.a, 0)"


def value(field: TypedField) -> str:
    """Return SQL over `json` and `doc`: the value of a typed column."""
    parsed = f"{_RECORD}.{_path(field)}"
    match field.kind:
        case "timestamp":
            return time_of(parsed)
        case "object":
            return f"CASE WHEN {parsed} IS NOT NULL THEN try_variant_get(doc, {path_of(field.path)}, 'variant') END"
        case _:
            return parsed


def is_good() -> str:
    """Return SQL over `valid` (the text is UTF-8), `json`, `doc` and the columns of the fields: true if the record is
    JSON and all of it fits its types; NULL or false where not."""
    checks = ["json.failed IS NULL", "size(json.a) = 1", "size(get(json.b, 0)) = 1", f"{TIME.column} {IN_RANGE}"]
    return " AND ".join((*checks, "valid", *(_is_text(field) for field in FIELDS if field is not TIME)))


def _is_text(field: TypedField) -> str:
    """Return SQL that is true if the value is text. The time needs no check: a number has no T as its eleventh
    character."""
    column = field.column
    match field.kind:
        case "string":
            asked = f"try_variant_get(doc, {path_of(field.path)}, 'binary') IS NOT NULL"
            # The last byte, because `right` counts all characters of the text to find the last one.
            last = f"CAST(substring(CAST({column} AS BINARY), -1, 1) AS STRING)"
            doubtful = f"left({column}, 1) IN ({_BEGINNINGS}) AND {last} IN ({_ENDS})"
            return f"CASE WHEN {doubtful} THEN {asked} ELSE true END"
        case "array<string>":
            asked = f"CAST(try_variant_get(doc, {path_of(field.path)}, 'array<binary>') AS ARRAY<STRING>)"
            return f"CASE WHEN size({column}) > 0 THEN {asked} <=> {column} ELSE true END"
        case _:
            return "true"


def _path(field: TypedField) -> str:
    return ".".join(f"`{step}`" for step in field.path.split("."))


def _struct(fields: Iterable[TypedField]) -> str:
    """Return the type of an object with these fields in it, at whatever depth."""
    below: dict[str, list[TypedField]] = {}
    for field in fields:
        step, _, remainder = field.path.partition(".")
        below.setdefault(step, []).append(TypedField(field.column, remainder, field.kind))
    return "STRUCT<" + ", ".join(f"`{step}`: {_type(inner)}" for step, inner in below.items()) + ">"


def _type(fields: list[TypedField]) -> str:
    return _struct(fields) if fields[0].path else _TYPES[fields[0].kind]
