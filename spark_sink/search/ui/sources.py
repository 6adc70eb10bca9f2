"""The tables of the page, each at its newest version at the time of a request."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa
from deltalake.exceptions import DeltaError

from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.search.query import Query
from log_shipper.spark_sink.search.tables import (
    SearchedFile,
    SearchedTable,
    combine,
    locations,
    open_other,
    open_table,
)
from log_shipper.spark_sink.storage.locations import Location, location_of

Kind = Literal["lines", "dead_letters", "view"]
_OPEN_AGAIN = 60.0  # seconds after which a template may have a new table, and a table may be another one


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Tables at one version, and their files that may have matching rows."""

    tables: list[SearchedTable]
    files: list[SearchedFile]

    @property
    def schema(self) -> pa.Schema:
        return self.tables[0].schema

    @property
    def rows(self) -> int | None:
        """Number of rows in the files, None if a log lacks it."""
        counts = [file.rows for file in self.files]
        return None if None in counts else sum(count or 0 for count in counts)


@dataclass(slots=True)
class Source:
    """One table, or all tables of a template as one. Thread-safe."""

    name: str
    title: str
    kind: Kind
    locations: Callable[[], Sequence[Location]]
    _tables: list[SearchedTable] = field(default_factory=list)
    _schemas: list[str] = field(default_factory=list)  # when the tables were opened
    _open_at: float = field(default=0.0)  # by the monotonic clock
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self, location: Location) -> SearchedTable:
        return open_table(location) if self.kind == "lines" else open_other(location)

    def snapshot(self, query: Query) -> Snapshot:
        """Return the tables at their newest version, with the files for a query. Raises SinkError."""
        with self._lock:
            self._refresh()
            return Snapshot(self._tables, [file for table in self._tables for file in table.files(query)])

    def open_tables(self) -> list[SearchedTable]:
        """Return the tables at their newest version, opened only for the caller. Raises SinkError."""
        tables = [self.open(location) for location in self.locations()]
        combine(tables)
        return tables

    def forget(self) -> None:
        """Open the tables again at the next request: a re-created one may have the same version as before."""
        with self._lock:
            self._tables = []

    def _refresh(self) -> None:
        if time.monotonic() >= self._open_at or not self._is_current():
            self._tables = []  # stays empty if a table cannot be opened
            self._tables = self.open_tables()
            self._schemas = list(map(_schema, self._tables))
            self._open_at = time.monotonic() + _OPEN_AGAIN

    def _is_current(self) -> bool:
        """Update the tables to their newest version. Returns False if they must be opened again."""
        try:
            for table in self._tables:
                table.delta.update_incremental()
        except (DeltaError, OSError):  # re-created, or the store is unavailable: opening it reports the reason
            return False
        return bool(self._tables) and list(map(_schema, self._tables)) == self._schemas


def _schema(table: SearchedTable) -> str:
    """Return the identity of a table for readers: with another protocol it may be unreadable."""
    return f"{table.delta.metadata().id} {table.delta.protocol()} {table.delta.schema().to_json()}"


def sources(config: SinkConfig) -> list[Source]:
    """Return the sources of a configuration. The tables of dead letters and views may not exist yet."""

    def at(path: str) -> Callable[[], Sequence[Location]]:
        return lambda: [location_of(config, path)]

    return [
        Source("lines", config.table.path, "lines", lambda: locations(config)),
        Source("dead_letters", config.dead_letter_path, "dead_letters", at(config.dead_letter_path)),
        *(Source(f"view {view.name}", view.name, "view", at(config.view_path(view))) for view in config.views),
    ]


def source_of(paths: Sequence[str]) -> Source:
    """Return tables of lines by their paths as one source."""
    return Source("lines", ", ".join(paths), "lines", lambda: [Location(path) for path in paths])
