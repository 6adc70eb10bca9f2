"""A record's text to its VARIANT and its typed values, by one call of Spark's JSON parser a row.

`from_json` keeps its parser from row to row, and takes a type for each field as it goes: cutting the fields out of the
VARIANT afterwards costs more, and `try_parse_json` makes a new parser for every row, which costs most of all. The text
stands twice in what is parsed, once for the VARIANT and once for the fields:

    {"a": [ VALUE ], "b": [[ VALUE ]]}

at two depths of brackets, so that no VALUE which closes one of them on its own passes for JSON: a record with a tail
behind it is bad, not cut. `from_json` turns whatever does not fit its type into NULL and notes the failure, with one
exception: where text is wanted it takes anything, as its JSON. So a text that could be JSON is asked for once more.
"""

from collections.abc import Iterable

from spark_sink.records.schema import FIELDS, TIME, Field
from spark_sink.records.variants import IN_RANGE, path_of, text, time_of

# What is no JSON for anybody else is none here; the parser is too kind, if it is let.
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
    "object": "STRUCT<>",  # whether it is one; what it holds comes from the VARIANT
}
# How JSON begins and ends that is no text and not null, as Spark writes it: a number beyond doubles as "Infinity".
_DIGITS = ", ".join(f"'{digit}'" for digit in range(10))
_BEGINNINGS = f"'{{', '[', '\"', 't', 'f', '-', {_DIGITS}"
_ENDS = f"'}}', ']', '\"', 'e', {_DIGITS}"

# `get`, because `[0]` of an empty list ends the job, and a bad record must not.
_RECORD = "get(get(json.b, 0), 0)"


def json() -> str:
    """SQL over the record's `text`: what the others here call `json`."""
    options = ", ".join(f"{text(key)}, {text(value)}" for key, value in _OPTIONS.items())
    schema = f"a ARRAY<VARIANT>, b ARRAY<ARRAY<{_struct(FIELDS)}>>, failed STRING"
    wrapped = "concat('{\"a\":[', text, '],\"b\":[[', text, ']]}')"
    return f"from_json({wrapped}, {text(schema)}, map({options}))"


def doc() -> str:
    return "get(json.a, 0)"


def value(field: Field) -> str:
    """SQL over `json` and `doc`."""
    found = f"{_RECORD}.{_path(field)}"
    match field.kind:
        case "timestamp":
            return time_of(found)
        case "object":
            return f"CASE WHEN {found} IS NOT NULL THEN try_variant_get(doc, {path_of(field.path)}, 'variant') END"
        case _:
            return found


def is_good() -> str:
    """SQL over `valid` (the text is UTF-8), `json`, `doc` and the fields' columns: whether the record is one and
    all of it fits; NULL or false where not."""
    checks = ["json.failed IS NULL", "size(json.a) = 1", "size(get(json.b, 0)) = 1", f"{TIME.column} {IN_RANGE}"]
    return " AND ".join((*checks, "valid", *(_is_text(field) for field in FIELDS if field is not TIME)))


def _is_text(field: Field) -> str:
    """A number has no T at its eleventh place, so the time is one."""
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


def _path(field: Field) -> str:
    return ".".join(f"`{step}`" for step in field.path.split("."))


def _struct(fields: Iterable[Field]) -> str:
    """The type of an object with these fields in it, at whatever depth."""
    below: dict[str, list[Field]] = {}
    for field in fields:
        step, _, rest = field.path.partition(".")
        below.setdefault(step, []).append(Field(field.column, rest, field.kind))
    return "STRUCT<" + ", ".join(f"`{step}`: {_type(inner)}" for step, inner in below.items()) + ">"


def _type(fields: list[Field]) -> str:
    return _struct(fields) if fields[0].path else _TYPES[fields[0].kind]
