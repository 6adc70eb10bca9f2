"""DuckDB as the judge of rows: it gets them from Arrow, as they are read, and returns those that match.

It is sealed before it sees what a user has typed: no file, no network, no extension, no variable of this process, and
no setting can be changed. A `--where` is one expression over the columns, and its tree is checked for that.
"""

import json
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa

from log_shipper.config.text.patterns import parse_pattern
from log_shipper.spark_sink.search.errors import SearchError
from log_shipper.spark_sink.search.query import NUMBER, Query, Selection, conditions

_MEMORY = "1GB"  # for a --where that makes huge values; what matches lines takes some megabytes
_SEALED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "memory_limit": _MEMORY,
    "temp_directory": "",
    "threads": 1,  # each thread of ours has a query of its own
}


class Judge:
    """A sealed DuckDB. Any thread may call it."""

    def __init__(self) -> None:
        self._database = duckdb.connect(config=_SEALED)
        self._database.execute("SET GLOBAL TimeZone = 'UTC'")  # of times in --where without a zone
        self._database.execute("SET GLOBAL lock_configuration = true")

    def chosen(self, rows: pa.Table | pa.RecordBatchReader, selection: Selection) -> pa.Table:
        """Return the rows that a selection takes, with its columns and NUMBER, which must be among those of `rows`.
        Raises SearchError."""
        names = ", ".join(f'"{name}"' for name in (NUMBER, *selection.columns))
        with self._database.cursor() as connection:
            connection.register("lines", rows)
            try:
                sql = f"SELECT {names} FROM lines {selection.clause}"
                return connection.sql(sql, params=dict(selection.parameters)).to_arrow_table()
            except duckdb.Error as error:
                raise SearchError(_words(error)) from error

    def selection(self, query: Query, schema: pa.Schema, most: int) -> Selection:
        """Return the selection of a query's hits in tables with these columns, once its parts are checked. Raises
        SearchError."""
        try:
            if query.regex:
                parse_pattern(query.text)
            parts, parameters = conditions(query)
        except ValueError as error:
            raise SearchError(str(error)) from error
        columns = {"ts", *(name for name in ("message", "host", "path") if f"${_PARAMETERS[name]}" in "".join(parts))}
        if query.where:
            columns |= set(self._columns_of(query.where, schema))
            parts.append(f"(\n{query.where}\n)")
        clause = f"WHERE {' AND '.join(parts)}" if parts else ""
        if most:
            clause += f" ORDER BY ts DESC NULLS LAST LIMIT {most}"
        selection = Selection(clause, tuple(name for name in schema.names if name in columns), parameters)
        self._try(query, schema, selection)
        return selection

    def _columns_of(self, where: str, schema: pa.Schema) -> Iterator[str]:
        """Yield the columns that an expression reads. Raises SearchError if it is not one expression."""
        tree = self._tree(where)
        if self._without_condition(tree) != self._without_condition(self._tree("true")):
            raise SearchError(
                f"--where {where!r} is not one condition: write it as after WHERE, without anything behind"
            )
        names = {name.lower(): name for name in schema.names}
        for node in _nodes(tree["statements"][0]["node"]["where_clause"]):
            if node.get("class") == "SUBQUERY":
                raise SearchError(f"--where {where!r} has a query within: a row is judged by its own columns alone")
            if node.get("class") == "COLUMN_REF":
                yield from (names[part.lower()] for part in node["column_names"] if part.lower() in names)

    def _tree(self, where: str) -> dict[str, Any]:
        """Return the parsed statement that has this condition. Raises SearchError for one that cannot be parsed."""
        statement = f"SELECT 1 FROM lines WHERE (\n{where}\n)"
        row = self._database.cursor().execute("SELECT json_serialize_sql($sql::VARCHAR)", {"sql": statement}).fetchone()
        assert row is not None
        tree: dict[str, Any] = json.loads(row[0])
        if tree["error"]:
            raise SearchError(f"--where {where!r} is not SQL: {tree['error_message']}")
        return tree

    def _without_condition(self, tree: dict[str, Any]) -> str:
        statements = tree["statements"]
        nodes = [{**one["node"], "where_clause": None} for one in statements]
        return json.dumps([{**one, "node": node} for one, node in zip(statements, nodes, strict=True)], sort_keys=True)

    def _try(self, query: Query, schema: pa.Schema, selection: Selection) -> None:
        """Run the query on no rows: what is wrong with it is known before the first file is opened."""
        try:
            self.chosen(schema.append(pa.field(NUMBER, pa.int64())).empty_table(), selection)
        except SearchError as error:
            if query.where:
                columns = ", ".join(schema.names)
                raise SearchError(f"--where {query.where!r}: {error}. The columns are: {columns}") from error
            raise


_PARAMETERS = {"message": "text", "host": "host", "path": "path"}


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
