"""Translates the search box to an SQL condition: words, "phrases", field:value and -not.

The message must contain a word or phrase; case is ignored if it has no upper case. `field:value` compares a column, or
a member of `fields` or `doc`; `*` in the value is any text, `field:*` any value, and >, >=, < and <= compare numbers or
texts such as dates. Of several values of one field one must match; all other terms must match. A term with - must not.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.records.schema import FIELDS
from log_shipper.spark_sink.search.query import Query, escaped, is_literal

_FIELD = r"[A-Za-z_@][\w@./-]*"
_TERM = re.compile(
    rf'(?P<minus>-?)(?:(?P<field>{_FIELD}):(?=[^/\s]|/[^/]))?(?:"(?P<phrase>(?:[^"\\]|\\.)*)"|(?P<word>\S+))'
)
_COMPARISON = re.compile(r"(>=|<=|>|<)(.+)", re.DOTALL)
_CHARACTERS = r'(?:[^"\\]|\\.)*'  # of a JSON string
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_RECORD = {typed.path: typed.column for typed in FIELDS}  # the record's names of typed columns
_ALIASES = {"level": "log.level"}


@dataclass(frozen=True, slots=True)
class Term:
    """`field` is empty for a text in the message. A phrase has no wildcards."""

    value: str
    field: str = ""
    is_phrase: bool = False
    is_negated: bool = False

    @property
    def comparison(self) -> re.Match[str] | None:
        return None if self.is_phrase or not self.field else _COMPARISON.fullmatch(self.value)


def parse(text: str) -> list[Term]:
    """Return the terms of a text. AND between terms is ignored. Raises SinkError for OR."""
    terms = [_term(match) for match in _TERM.finditer(text)]
    if Term("OR") in terms[1:-1]:
        raise SinkError(
            'OR is not supported: several values of one field match any of them, SQL has OR, and "OR" finds the word'
        )
    return [term for place, term in enumerate(terms) if term != Term("AND") or place in (0, len(terms) - 1)]


def condition(terms: Sequence[Term], schema: pa.Schema) -> str:
    """Return the terms as a condition on the columns of a table, empty without terms. Raises SinkError for an
    impossible field."""
    return " AND ".join(_conditions(terms, schema))


def hosts(terms: Sequence[Term]) -> tuple[str, ...]:
    """Return the hosts for the statistics of files, of which one must match."""
    named = [term for term in terms if _RECORD.get(term.field, term.field) == "host" and not term.is_negated]
    values = tuple(term.value for term in named if not term.comparison)
    return values if all(map(is_literal, values)) else ()


def column(field: str, schema: pa.Schema) -> str:
    """Return the column of a field, empty if it is a member of a column."""
    name = _RECORD.get(field, field)
    return name if name in schema.names else ""


def expression(field: str, schema: pa.Schema) -> str:
    """Return the SQL of a field: a column, or a member of `fields` or `doc`. Raises SinkError."""
    if name := column(field, schema):
        return _quoted(name, '"')
    if not re.fullmatch(_FIELD, field):
        raise SinkError(f"{field!r} is not a valid field name: use letters, digits and any of _ @ . / -")
    parent, _, member = field.partition(".")
    if parent == "fields" and member and "fields" in schema.names:
        return _member("fields", member)
    if "doc" in schema.names:
        return _member("doc", _ALIASES.get(field, field))
    raise SinkError(f"this table has no column {field!r}: its columns are {', '.join(schema.names)}")


def _term(match: re.Match[str]) -> Term:
    minus, field, phrase, word = match.group("minus", "field", "phrase", "word")
    if phrase is not None:
        return Term(re.sub(r"\\(.)", r"\1", phrase), field or "", True, bool(minus))
    return Term(word, field or "", False, bool(minus))


def _conditions(terms: Sequence[Term], schema: pa.Schema) -> Iterator[str]:
    any_of: dict[str, list[str]] = {}
    for term in terms:
        sql = _field(term, schema) if term.field else _message(term.value)
        if term.is_negated:
            yield f"NOT coalesce({sql}, false)"
        elif term.field and not term.comparison:
            any_of.setdefault(term.field, []).append(sql)
        else:
            yield sql
    for either in any_of.values():
        yield either[0] if len(either) == 1 else f"({' OR '.join(either)})"


def _message(text: str) -> str:
    query = Query(text=text)
    if query.ignores_case:
        return f"regexp_matches(message, {_quoted(query.pattern)})"
    return f"contains(message, {_quoted(text)})"


def _field(term: Term, schema: pa.Schema) -> str:
    sql = expression(term.field, schema)
    if compared := term.comparison:
        if _NUMBER.fullmatch(compared[2]):
            return f"TRY_CAST({sql} AS DOUBLE) {compared[1]} {compared[2]}"
        return f"{sql}::VARCHAR {compared[1]} {_quoted(compared[2])}"
    if not term.is_phrase and term.value == "*":
        return f"{sql} IS NOT NULL"
    name = column(term.field, schema)
    kind = schema.field(name).type if name else pa.string()
    has_wildcard = not term.is_phrase and "*" in term.value
    if pa.types.is_list(kind):
        if has_wildcard:
            return _has_element(sql, term.value)
        value = _quoted(term.value)  # one element, or the whole list, in the form of the counts
        return f"(list_contains({sql}, {value}) OR {sql}::VARCHAR = {value})"
    text = sql if pa.types.is_string(kind) else f"{sql}::VARCHAR"
    if not has_wildcard:
        return f"{text} = {_quoted(term.value)}"
    pattern = ".*".join(map(escaped, term.value.split("*")))
    return f"regexp_full_match({text}, {_quoted(f'(?s){pattern}')})"


def _has_element(sql: str, value: str) -> str:
    """Return the SQL that is true if an element of a list of texts matches a value with wildcards. It searches the
    list as JSON: a condition may not have a lambda."""
    text = _CHARACTERS.join(escaped(json.dumps(part, ensure_ascii=False)[1:-1]) for part in value.split("*"))
    pattern = rf'(?s)\[(?:(?:null|"{_CHARACTERS}"),)*"{text}"[,\]].*'
    return f"regexp_full_match({sql}::JSON::VARCHAR, {_quoted(pattern)})"


def _member(column: str, path: str) -> str:
    """Return the SQL of the member at a path as a text; its names may be nested, or one name with dots."""
    keys = [f'"{name}"' for name in path.split(".")]  # names have no quotes or backslashes
    nested = f"{column} ->> {_quoted('$.' + '.'.join(keys))}"
    if len(keys) == 1:
        return f"({nested})"
    return f"""coalesce({nested}, {column} ->> '$."{path}"')"""


def _quoted(text: str, mark: str = "'") -> str:
    """Return an SQL literal, or with another mark a name."""
    return mark + text.replace(mark, mark * 2) + mark
