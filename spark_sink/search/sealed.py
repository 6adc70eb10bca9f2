"""A sealed DuckDB that filters rows: it gets them from Arrow while they are read, and returns the matching ones.

It is sealed before it gets user input: no files, network, extensions or variables of this process, and no changes of
settings. A `--where` must be one expression on the columns, which is checked in its parse tree. DuckDB's memory limit
does not bound the values that an expression makes of a batch of rows (`repeat(message, 1000000)` takes all memory): so
only functions are allowed whose result is not larger than their arguments.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from log_shipper.config.text.patterns import parse_pattern
from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.search.query import NUMBER, Query, Selection, conditions

_MEMORY = "1GB"  # for a --where that makes huge values; other conditions take some megabytes
_SEALED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "memory_limit": _MEMORY,
    "temp_directory": "",
    "threads": 1,  # each of our threads runs its own query
}


_SHOWN = 200  # characters of an expression in a message


class ConditionFilter:
    """A sealed DuckDB. Any thread may call it."""

    def __init__(self) -> None:
        self._database = duckdb.connect(config=_SEALED)
        self._asked: set[duckdb.DuckDBPyConnection] = set()
        self._database.execute("SET GLOBAL TimeZone = 'UTC'")  # for times without a zone in --where
        self._database.execute("SET GLOBAL lock_configuration = true")

    def chosen(self, rows: pa.Table | pa.RecordBatchReader, selection: Selection) -> pa.Table:
        """Return the selected rows, with the selection's columns and NUMBER, which `rows` must have. Raises
        SinkError."""
        names = ", ".join(f'"{name}"' for name in (NUMBER, *selection.columns))
        return self.answer(rows, f"SELECT {names} FROM lines {selection.clause}", selection.parameters)

    def answer(self, rows: pa.Table | pa.RecordBatchReader, sql: str, parameters: Mapping[str, Any]) -> pa.Table:
        """Return the result of a query on these rows, which it calls `lines`. Raises SinkError."""
        with self._database.cursor() as connection:
            connection.register("lines", rows)
            self._asked.add(connection)
            try:
                return connection.sql(sql, params=dict(parameters)).to_arrow_table()
            except duckdb.Error as error:
                raise SinkError(_words(error)) from error
            finally:
                self._asked.discard(connection)

    def interrupt(self) -> None:
        """Abort all running queries with a SinkError."""
        for connection in tuple(self._asked):
            connection.interrupt()

    def selection(self, query: Query, schema: pa.Schema, limit: int) -> Selection:
        """Check a query, and return the selection of its hits in tables with these columns. `limit`: 0 for all hits.
        Raises SinkError."""
        try:
            if query.regex:
                parse_pattern(query.text)
            parts, parameters = conditions(query)
        except ValueError as error:
            raise SinkError(str(error)) from error
        columns = {"ts", *(name for name in ("message", "host", "path") if f"${_PARAMETERS[name]}" in "".join(parts))}
        if query.where:
            columns |= self.columns("--where", query.where, schema)
            parts.append(f"(\n{query.where}\n)")
        clause = f"WHERE {' AND '.join(parts)}" if parts else ""
        if limit:
            clause += f" ORDER BY ts DESC NULLS LAST LIMIT {limit}"
        return Selection(clause, tuple(name for name in schema.names if name in columns), parameters)

    def columns(self, what: str, expression: str, schema: pa.Schema) -> set[str]:
        """Check an expression on rows with these columns, before the first file is opened, and return the columns that
        it reads. `what`: its name in messages. Raises SinkError."""
        tree = self._tree(what, expression)
        shown = expression if len(expression) <= _SHOWN else f"{expression[:_SHOWN]}…"
        if _without_condition(tree) != _without_condition(self._tree(what, "true")):
            raise SinkError(
                f"{what} {shown!r} is not a single condition: write it as after WHERE, with nothing following"
            )
        names, columns = {name.lower(): name for name in schema.names}, set[str]()
        nodes = list(_nodes(tree["statements"][0]["node"]["where_clause"]))
        if fault := _fault(nodes):
            raise SinkError(f"{what} {shown!r} {fault}")
        read = [node["column_names"] for node in nodes if node.get("class") == "COLUMN_REF"]
        for parts in read:
            columns |= {names[part.lower()] for part in parts if part.lower() in names}
        try:
            self.answer(schema.empty_table(), f"SELECT (\n{expression}\n)::VARCHAR FROM lines", {})
        except SinkError as error:
            raise SinkError(f"{what} {shown!r}: {error}. The columns are: {', '.join(schema.names)}") from error
        if rows := [parts[-1] for parts in read if not {part.lower() for part in parts} & names.keys()]:
            # `lines` would be all columns of a row, although only some are read.
            raise SinkError(f"{what} {shown!r} has {rows[0]}, which is not a column")
        return columns

    def _tree(self, what: str, expression: str) -> dict[str, Any]:
        """Return the parse tree of a statement with this condition. Raises SinkError if it cannot be parsed."""
        statement = f"SELECT 1 FROM lines WHERE (\n{expression}\n)"
        row = self._database.cursor().execute("SELECT json_serialize_sql($sql::VARCHAR)", {"sql": statement}).fetchone()
        assert row is not None
        tree: dict[str, Any] = json.loads(row[0])
        if tree["error"]:
            raise SinkError(f"{what} {expression!r} is not SQL: {tree['error_message']}")
        return tree


_PARAMETERS = {"message": "text", "host": "host", "path": "path"}


# The allowed nodes and functions of an expression. The result of none is larger than its arguments.
_CLASSES = {"BETWEEN", "CASE", "CAST", "COLUMN_REF", "COMPARISON", "CONJUNCTION"}
_CLASSES |= {"CONSTANT", "FUNCTION", "OPERATOR", "TYPE"}
_NAMES = """
~~ !~~ ~~* !~~* ~~~ ^@ like_escape not_like_escape ilike_escape not_ilike_escape
contains starts_with prefix ends_with suffix instr position strpos regexp_matches regexp_full_match regexp_extract
lower upper trim ltrim rtrim left right substr substring split_part length len strlen
+ - * / // % ** abs ceil ceiling floor round trunc sign greatest least isfinite isinf isnan ifnull nullif
-> ->> json_extract json_extract_string json_exists json_type json_valid json_contains json_array_length
list_value list_contains array_contains list_has array_has list_has_any list_has_all list_position cardinality row
now age date_part date_trunc date_diff datediff timezone epoch epoch_ms epoch_us to_timestamp strftime strptime
try_strptime year month day hour minute second dayofweek isodow dayname
to_seconds to_minutes to_hours to_days to_weeks to_months to_years"""
FUNCTIONS = frozenset(_NAMES.split())
MAX_FUNCTIONS = 50  # DuckDB keeps the result of each for a whole batch of rows


def _fault(nodes: Sequence[dict[str, Any]]) -> str:
    """Return the first part of an expression that is not allowed, as the end of a sentence; empty without any."""
    functions = [node["function_name"].lower() for node in nodes if node.get("class") == "FUNCTION"]
    classes = {node["class"] for node in nodes if "class" in node}
    if "SUBQUERY" in classes:
        return "contains a query; use only the columns of a row"
    if refused := sorted({*functions} - FUNCTIONS):
        return f"calls {', '.join(refused)}, which is not allowed: docs/guides/search.md lists the functions"
    if len(functions) > MAX_FUNCTIONS:
        return f"calls {len(functions)} functions (maximum: {MAX_FUNCTIONS})"
    if refused := sorted(classes - _CLASSES):
        return f"contains something that is not allowed: {', '.join(refused).lower()}"
    if any(node.get("type_name") == "array" for node in nodes if node.get("class") == "TYPE"):
        return "contains an array of a fixed length, which is not allowed"
    return ""


def _without_condition(tree: dict[str, Any]) -> str:
    statements = tree["statements"]
    nodes = [{**one["node"], "where_clause": None} for one in statements]
    return json.dumps([{**one, "node": node} for one, node in zip(statements, nodes, strict=True)], sort_keys=True)


def _nodes(tree: object) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from _nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _nodes(value)


def _words(error: duckdb.Error) -> str:
    """Return the first line of DuckDB's message, without its kind."""
    kind, _, text = str(error).strip().partition(": ")
    return (text if kind.endswith("Error") else str(error)).strip().split("\n")[0]
