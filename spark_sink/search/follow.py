"""Follows the commits of tables, and yields new rows in landing order.

Only commits that add rows count. OPTIMIZE only rewrites rows into other files (`dataChange` is false); a commit that
also removes rows (DELETE, UPDATE), or a RESTORE, writes earlier rows again.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any
from urllib.parse import unquote

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.search.newest import Hit, hit_of
from log_shipper.spark_sink.search.query import Query, Selection
from log_shipper.spark_sink.search.reading import FilePiece, MissingFile, piece_of, read, rows_of, split
from log_shipper.spark_sink.search.sealed import ConditionFilter
from log_shipper.spark_sink.search.tables import SearchedFile, SearchedTable, combine, open_table
from log_shipper.spark_sink.storage.locations import Location

_CHECK = 20  # polls without a commit before the table is opened again
_NEW_TABLES = 20  # polls between two searches for new tables
_CHUNK = 10_000  # hits that are sorted together by time; larger commits have several chunks


@dataclass(frozen=True, slots=True)
class Commit:
    """The data files with new rows of a commit. `has_new_columns`: the schema of the table may have changed."""

    files: tuple[SearchedFile, ...]
    has_new_columns: bool


@dataclass(slots=True)
class Commits:
    """The commits of one table after `version`. `warn` is called with a message about rows that are not shown."""

    table: SearchedTable
    version: int
    warn: Callable[[str], None]
    open: Callable[[Location], SearchedTable] = open_table
    _idle_polls: int = field(default=0)

    def read_new(self) -> Iterator[Commit]:
        """Yield the new commits. Raises SinkError if the table is missing or was re-created."""
        while (text := self._next()) is not None:
            self.version += 1
            self._idle_polls = 0
            actions = [json.loads(line) for line in text.splitlines() if line.strip()]
            is_changed = any("metaData" in action or "protocol" in action for action in actions)
            if is_changed:
                self.table = self.open(self.table.location)
            yield Commit(tuple(map(self._file, added(actions))), is_changed)

    def _next(self) -> str | None:
        """Return the next commit, None if there is none yet."""
        text = self._read(self.version + 1)
        if text is None:
            self._idle_polls += 1
            if self._idle_polls % _CHECK == 0:
                return self._beyond_a_gap()
        return text

    def _beyond_a_gap(self) -> str | None:
        """Return the next commit; if it is no longer in the log, continue after the newest version."""
        place, newest = self.table.location.path, self.open(self.table.location)
        version = newest.delta.version()
        if newest.delta.metadata().id != self.table.delta.metadata().id:
            raise SinkError(f"the table {place} was re-created: start the search again")
        if version < self.version:
            raise SinkError(
                f"the table {place} was at version {self.version} and is now at {version}: its log was lost"
            )
        text = self._read(self.version + 1)
        if text is None and version > self.version:
            self.warn(
                f"versions {self.version + 1} to {version} of {place} are no longer in its log: their rows are not "
                "shown here; search for them"
            )
            self.table, self.version = newest, version
        return text

    def _read(self, version: int) -> str | None:
        try:
            with self.table.store.open_input_stream(f"_delta_log/{version:020}.json") as stream:
                return bytes(stream.read()).decode()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise SinkError(f"cannot read the Delta log of the table {self.table.location.path}: {error}") from error

    def _file(self, add: dict[str, Any]) -> SearchedFile:
        return SearchedFile(self.table, unquote(add["path"]), add["size"], add["partitionValues"], None, None)


@dataclass(slots=True)
class Follow:
    """Follows tables from now on. `locations`: returns the current locations, including new tables of a template;
    `warn` is called with a message about rows that are not shown. Raises SinkError."""

    tables: list[SearchedTable]
    query: Query
    judge: ConditionFilter
    locations: Callable[[], Sequence[Location]]
    warn: Callable[[str], None]
    open: Callable[[Location], SearchedTable] = open_table
    _logs: list[Commits] = field(init=False)
    _selection: Selection = field(init=False)
    _polls: int = field(default=0)

    def __post_init__(self) -> None:
        self._logs = [Commits(table, table.delta.version(), self.warn, self.open) for table in self.tables]
        self._select()

    def poll(self) -> Iterator[tuple[SearchedTable, Iterator[Hit]]]:
        """Yield each table with the hits of a new commit; read them before the next."""
        self._polls += 1
        if self._polls % _NEW_TABLES == 0:
            self._logs += self._new_logs()
        for log in self._logs:
            for commit in log.read_new():
                if commit.has_new_columns:
                    self._select()
                yield log.table, hits_of(commit, self._selection, self.judge, self.warn)

    def _select(self) -> None:
        combine([log.table for log in self._logs])
        self._selection = self.judge.selection(self.query, self._logs[0].table.schema, limit=0)

    def _new_logs(self) -> list[Commits]:
        """Return the logs of new tables, from their beginning."""
        known = {log.table.location.path for log in self._logs}
        new = [location for location in self.locations() if location.path not in known]
        return [Commits(self.open(location), -1, self.warn, self.open) for location in new]


def added(actions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the `add` actions with new rows."""
    if any(action["remove"].get("dataChange", True) for action in actions if "remove" in action):
        return []
    if any(action["commitInfo"].get("operation") == "RESTORE" for action in actions if "commitInfo" in action):
        return []
    return [action["add"] for action in actions if "add" in action and action["add"]["dataChange"]]


def hits_of(commit: Commit, selection: Selection, judge: ConditionFilter, warn: Callable[[str], None]) -> Iterator[Hit]:
    """Yield the hits of a commit, sorted by time within _CHUNK. Raises SinkError."""
    hits: list[Hit] = []
    for file in commit.files:
        try:
            for piece in _pieces(file):
                for row in rows_of(read(piece, selection, judge, Event())):
                    hits.append(hit_of(row, file.table))
                    if len(hits) == _CHUNK:
                        yield from sorted(hits, reverse=True)
                        hits = []
        except MissingFile as error:  # the process was suspended for longer than vacuum keeps files
            warn(f"{error}: its rows are not shown")
    yield from sorted(hits, reverse=True)


def _pieces(file: SearchedFile) -> list[FilePiece]:
    piece = piece_of(file)
    return split(piece) if piece.is_large else [piece]
