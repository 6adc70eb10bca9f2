"""The lines around a hit, of the same file (host and file id), by offset.

They are looked for in the data files whose times are nearest to the hit's. A side is complete when it has as many lines
as asked for and each begins where the one before ends; or when it begins with the file; or when what is not read yet is
further away in time than its lines, because within a file times rise with offsets, nearly always. Lines that are more
than a day away are not looked for.
"""

import heapq
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event

import pyarrow as pa

from log_shipper.spark_sink.search.newest import Hit
from log_shipper.spark_sink.search.query import NUMBER, Query, Selection
from log_shipper.spark_sink.search.reading import Piece, Row, piece_of, read, rows_of, split
from log_shipper.spark_sink.search.sealed import Judge
from log_shipper.spark_sink.search.tables import SearchedFile, SearchedTable, micros, overlaps

_REACH = timedelta(days=1)
_PLACE = ("ts", "host", "file_id", "offset")
_NEAREST = """\
WHERE host IS NOT DISTINCT FROM $host AND file_id = $file_id AND "offset" <> $offset
QUALIFY row_number() OVER (PARTITION BY "offset" > $offset ORDER BY abs("offset" - $offset)) <= $count"""
_LONGEST = 1000  # lines of a group, where each line of a file matches

Group = list[tuple[Row, bool]]  # rows, and whether each matches


@dataclass(slots=True)
class Side:
    """The lines on one side of a row, the nearest first."""

    row: Row
    count: int
    is_before: bool
    lines: list[Row] = field(default_factory=list)

    def take(self, rows: Iterable[Row]) -> None:
        own = [row for row in rows if (row["offset"] < self.row["offset"]) == self.is_before]
        self.lines = sorted([*self.lines, *own], key=lambda row: abs(row["offset"] - self.row["offset"]))[: self.count]

    def is_complete(self, distance: int) -> bool:
        """True if no line is missing. `distance`: from the row's time to what is not read yet, in microseconds."""
        enough = len(self.lines) == self.count
        if self._adjoin() and (enough or self._begins_file()):
            return True
        return enough and all(abs(_time(line) - _time(self.row)) < distance for line in self.lines)

    def _adjoin(self) -> bool:
        chain = [self.row, *self.lines]
        pairs = [(near, far) if self.is_before else (far, near) for near, far in itertools.pairwise(chain)]
        return all(first["offset"] + (first.get("length") or 0) == second["offset"] for second, first in pairs)

    def _begins_file(self) -> bool:
        return self.is_before and [self.row, *self.lines][-1]["offset"] == 0


@dataclass(slots=True)
class Neighbours:
    """Finds the lines around rows of tables as they are now."""

    judge: Judge
    count: int
    _files: dict[SearchedTable, list[SearchedFile]] = field(default_factory=dict)

    def around(self, row: Row, table: SearchedTable) -> list[Row]:
        """Return up to `count` lines before the row, and as many after it, in no order. Raises SinkError."""
        if any(row.get(name) is None for name in ("ts", "file_id", "offset")) or "host" not in row:
            return []
        sides = [Side(row, self.count, is_before) for is_before in (True, False)]
        place = {name: row[name] for name in ("host", "file_id", "offset")}
        columns = tuple(name for name in table.schema.names if name in _PLACE)
        selection = Selection(_NEAREST, columns, {**place, "count": self.count})
        waiting = [(_distance(piece, row), number, piece) for number, piece in enumerate(self._pieces(row, table))]
        heapq.heapify(waiting)
        numbers = itertools.count(len(waiting))
        while waiting and not all(side.is_complete(waiting[0][0]) for side in sides):
            _, _, piece = heapq.heappop(waiting)
            if piece.is_large:
                for part in split(piece):
                    heapq.heappush(waiting, (_distance(part, row), next(numbers), part))
                continue
            rows = list(rows_of(read(piece, selection, self.judge, Event())))
            for side in sides:
                side.take(rows)
        return [line for side in sides for line in side.lines]

    def _pieces(self, row: Row, table: SearchedTable) -> Iterator[Piece]:
        if table not in self._files:
            table.delta.update_incremental()  # while following, it has more by now
            self._files[table] = list(table.files(Query()))
        since, until = row["ts"] - _REACH, row["ts"] + _REACH
        yield from (piece_of(file) for file in self._files[table] if overlaps(file, since, until))


@dataclass(slots=True)
class Groups:
    """Hits with the lines around them, as `grep -C` has them: hits that are near to each other are one group, and no
    line comes twice. `selections`: those that decide whether a line matches, by table."""

    neighbours: Neighbours
    selection: Selection
    _shown: set[tuple[object, ...]] = field(default_factory=set)

    def groups(self, hits: Iterable[Hit]) -> Iterator[Group]:
        for hit in hits:
            if self._name(hit.row, hit.table) not in self._shown:
                yield self._group(hit)

    def _group(self, hit: Hit) -> Group:
        """Return the lines of a group in the order of their file."""
        rows, matching, pending = [hit.row], {self._name(hit.row, hit.table)}, [hit.row]
        self._shown |= matching
        while pending and len(rows) < _LONGEST:
            around = self.neighbours.around(pending.pop(), hit.table)
            new = [row for row in around if self._name(row, hit.table) not in self._shown]
            hits = self._matching(new, hit.table)
            pending += hits
            rows += new
            matching |= {self._name(row, hit.table) for row in hits}
            self._shown |= {self._name(row, hit.table) for row in new}
        rows.sort(key=lambda row: row.get("offset") or 0)
        return [(row, self._name(row, hit.table) in matching) for row in rows]

    def _matching(self, rows: Sequence[Row], table: SearchedTable) -> list[Row]:
        if not rows:
            return []
        columns = table.schema.names
        arrays = [pa.array([row[name] for row in rows], table.schema.field(name).type) for name in columns]
        numbered = pa.table(arrays, schema=table.schema).append_column(NUMBER, pa.arange(0, len(rows)))
        chosen = self.neighbours.judge.chosen(numbered, self.selection)
        return [rows[number] for number in chosen.column(NUMBER).to_pylist()]

    @staticmethod
    def _name(row: Row, table: SearchedTable) -> tuple[object, ...]:
        return (table.location.path, *(row.get(name) for name in _PLACE))


def _time(row: Row) -> int:
    return 0 if row["ts"] is None else micros(row["ts"])


def _distance(piece: Piece, row: Row) -> int:
    time = _time(row)
    before = 0 if piece.newest is None else time - piece.newest
    after = 0 if piece.oldest is None else piece.oldest - time
    return max(before, after, 0)
