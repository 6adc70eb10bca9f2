"""The lines around a hit, of the same file (host and file id), by offset.

The search reads the data files whose times are nearest to the hit's. A side is complete if it has the requested number
of lines without gaps; or if it reaches the beginning of the file; or if all unread rows are further away in time than
its lines, because within a file times nearly always rise with offsets. Lines more than a day away are not searched.

Beyond the ends of the file come lines of the same path from other files, before and after a rotation, by time.
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
from log_shipper.spark_sink.search.reading import FilePiece, Row, piece_of, read, rows_of, split
from log_shipper.spark_sink.search.sealed import ConditionFilter
from log_shipper.spark_sink.search.tables import SearchedFile, SearchedTable, micros, overlaps

_REACH = timedelta(days=1)
_MANY = 10  # times the requested lines are kept of other files: some of these lie within the file's own time
_JITTER = 60_000_000  # microseconds by which the times of a file may be out of order
_PLACE = ("ts", "host", "file_id", "offset")
_NEAREST = """\
WHERE host IS NOT DISTINCT FROM $host AND file_id = $file_id AND "offset" <> $offset
QUALIFY row_number() OVER (PARTITION BY "offset" > $offset ORDER BY abs("offset" - $offset)) <= $count"""
# Lines of one file are ordered by offset, those of different files of a path by time.
_ACROSS = """\
WHERE host IS NOT DISTINCT FROM $host
AND (file_id = $file_id AND "offset" <> $offset OR file_id <> $file_id AND path = $path)
QUALIFY row_number() OVER (
PARTITION BY file_id = $file_id, CASE WHEN file_id = $file_id THEN "offset" > $offset ELSE ts > $ts END
ORDER BY abs(CASE WHEN file_id = $file_id THEN "offset" - $offset ELSE epoch_us(ts) - epoch_us($ts) END),
CASE WHEN ts > $ts THEN "offset" ELSE -"offset" END) <= $count"""
_MAX_LINES = 1000  # of a group, if every line of a file matches

Group = list[tuple[Row, bool]]  # rows, and whether each matches


@dataclass(slots=True)
class Side:
    """The lines on one side of a row, nearest first; `others`: lines of other files, with `is_across`."""

    row: Row
    count: int
    is_before: bool
    is_across: bool = False
    lines: list[Row] = field(default_factory=list)
    others: list[Row] = field(default_factory=list)

    def add_rows(self, rows: Sequence[Row]) -> None:
        own = [row for row in rows if row["file_id"] == self.row["file_id"]]
        own = [row for row in own if (row["offset"] < self.row["offset"]) == self.is_before]
        self.lines = sorted([*self.lines, *own], key=lambda row: abs(row["offset"] - self.row["offset"]))[: self.count]
        others = [row for row in rows if row["file_id"] != self.row["file_id"]]
        others = [row for row in others if (_time(row) <= _time(self.row)) == self.is_before]
        self.others = sorted([*self.others, *others], key=_order, reverse=self.is_before)[: _MANY * self.count]

    def is_complete(self, distance: int) -> bool:
        """Return True if no line is missing. `distance`: from the row's time to the unread rows, in microseconds."""
        enough = len(self.lines) == self.count
        if self._adjoin() and (enough or (self._begins_file() and not self.is_across)):
            return True
        lines = self.across_rotation()
        return len(lines) == self.count and all(abs(_time(line) - _time(self.row)) < distance for line in lines)

    def across_rotation(self) -> list[Row]:
        """Return the lines of the file, nearest first, followed by those of other files of its path."""
        end = [self.row, *self.lines][-1]
        beyond = [
            row for row in self.others if (_time(row) <= _time(end) if self.is_before else _time(row) >= _time(end))
        ]
        return [*self.lines, *beyond][: self.count]

    def may_be_in(self, piece: FilePiece) -> bool:
        """Return True if the piece may have a line of this side, by its times."""
        bound, time = piece.oldest if self.is_before else piece.newest, _time(self.row)
        return bound is None or (bound <= time + _JITTER if self.is_before else bound >= time - _JITTER)

    def _adjoin(self) -> bool:
        chain = [self.row, *self.lines]
        pairs = [(near, far) if self.is_before else (far, near) for near, far in itertools.pairwise(chain)]
        return all(first["offset"] + (first.get("length") or 0) == second["offset"] for second, first in pairs)

    def _begins_file(self) -> bool:
        return self.is_before and [self.row, *self.lines][-1]["offset"] == 0


@dataclass(slots=True)
class Neighbours:
    """Finds the lines around rows, in the newest versions of tables."""

    judge: ConditionFilter
    count: int
    _files: dict[SearchedTable, list[SearchedFile]] = field(default_factory=dict)
    _over: Event = field(default_factory=Event)

    def around(self, row: Row, table: SearchedTable) -> list[Row]:
        """Return up to `count` lines before the row, and as many after it, unsorted. Raises SinkError."""
        if any(row.get(name) is None for name in ("ts", "file_id", "offset")) or "host" not in row:
            return []
        return [line for side in self._sides(row, [table], _NEAREST) for line in side.lines]

    def across_rotation(self, row: Row, tables: Sequence[SearchedTable]) -> tuple[list[Row], list[Row]]:
        """Return up to `count` lines before the row, and as many after it, oldest first; beyond the ends of its file,
        lines of other files of its path. Raises SinkError."""
        before, after = self._sides(row, tables, _ACROSS)
        return before.across_rotation()[::-1], after.across_rotation()

    def cancel(self) -> None:
        """End the search early, with fewer lines. Any thread may call it."""
        self._over.set()
        self.judge.interrupt()

    def _sides(self, row: Row, tables: Sequence[SearchedTable], clause: str) -> tuple[Side, Side]:
        before, after = (Side(row, self.count, is_before, clause == _ACROSS) for is_before in (True, False))
        names = {name for name in (*_PLACE, "path") if f"${name}" in clause}
        place = {name: row[name] for name in names}
        columns = tuple(name for name in tables[0].schema.names if name in {*_PLACE, *names})
        selection = Selection(clause, columns, {**place, "count": self.count})
        pieces = itertools.chain.from_iterable(self._pieces(row, table) for table in tables)
        waiting = [(_distance(piece, row), number, piece) for number, piece in enumerate(pieces)]
        heapq.heapify(waiting)
        numbers = itertools.count(len(waiting))
        while waiting and not self._over.is_set():
            distance, _, piece = heapq.heappop(waiting)
            missing = [side for side in (before, after) if not side.is_complete(distance)]
            if not any(side.may_be_in(piece) for side in missing):
                continue
            if piece.is_large:
                for part in split(piece):
                    heapq.heappush(waiting, (_distance(part, row), next(numbers), part))
                continue
            rows = list(rows_of(read(piece, selection, self.judge, self._over)))
            before.add_rows(rows)
            after.add_rows(rows)
        return before, after

    def _pieces(self, row: Row, table: SearchedTable) -> Iterator[FilePiece]:
        if table not in self._files:
            table.delta.update_incremental()  # while following, it has new commits
            self._files[table] = list(table.files(Query()))
        since, until = row["ts"] - _REACH, row["ts"] + _REACH
        yield from (piece_of(file) for file in self._files[table] if overlaps(file, since, until))


@dataclass(slots=True)
class Groups:
    """Groups hits with the lines around them, like `grep -C`: nearby hits are one group, and no line comes twice.
    `selection`: decides whether a line matches."""

    neighbours: Neighbours
    selection: Selection
    _shown: set[tuple[object, ...]] = field(default_factory=set)

    def groups(self, hits: Iterable[Hit]) -> Iterator[Group]:
        for hit in hits:
            if self._name(hit.row, hit.table) not in self._shown:
                yield self._group(hit)

    def _group(self, hit: Hit) -> Group:
        """Return the lines of a group in file order."""
        rows, matching, pending = [hit.row], {self._name(hit.row, hit.table)}, [hit.row]
        self._shown |= matching
        while pending and len(rows) < _MAX_LINES:
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


def _order(row: Row) -> tuple[int, int]:
    return _time(row), row.get("offset") or 0


def _distance(piece: FilePiece, row: Row) -> int:
    time = _time(row)
    before = 0 if piece.newest is None else time - piece.newest
    after = 0 if piece.oldest is None else piece.oldest - time
    return max(before, after, 0)
