"""`spark-sink search` from its command line to its exit code; the composition root of this package.

Exit codes like grep: 0 a line was found, 1 no line was found, 2 an error.
"""

import argparse
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TextIO

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.config.yaml.load import load
from log_shipper.runtime.logs.visible import visible
from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.search.arguments import FOLLOWED, LIMIT
from log_shipper.spark_sink.search.context import Group, Groups, Neighbours
from log_shipper.spark_sink.search.follow import Follow
from log_shipper.spark_sink.search.newest import Hit, newest_first, scan_of
from log_shipper.spark_sink.search.output import JsonOutput, TextOutput, has_colours, highlight
from log_shipper.spark_sink.search.query import Case, Query
from log_shipper.spark_sink.search.sealed import ConditionFilter
from log_shipper.spark_sink.search.tables import SearchedTable, combine, locations, open_table
from log_shipper.spark_sink.storage.locations import Location

FOUND, NOTHING, ERROR = 0, 1, 2
POLL = 0.5  # seconds between two reads of the log while following


def run(options: argparse.Namespace, wait: Callable[[float], object]) -> int:
    """Search, print, and return the exit code. `wait`: sleeps between two polls."""
    output = sys.stdout
    if hasattr(output, "reconfigure"):
        output.reconfigure(errors="backslashreplace")  # a terminal without UTF-8
    try:
        return Command(options, output, wait).run()
    except (SinkError, ConfigError) as error:
        _warn(str(error))
        return ERROR
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe. Python's flush at exit must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())
        return FOUND


@dataclass(slots=True)
class Command:
    options: argparse.Namespace
    output: TextIO
    wait: Callable[[float], object]
    judge: ConditionFilter = field(default_factory=ConditionFilter)
    _query: Query = field(init=False)
    _printer: TextOutput | JsonOutput = field(init=False)
    _printed: int = field(default=0)  # groups
    _found: int = field(default=0)  # matching lines

    def run(self) -> int:
        self._query = query_of(self.options, datetime.now(UTC))
        self._printer = self._lines()
        tables = [open_table(location) for location in self._locations()]
        combine(tables)
        limit = self.options.limit
        if not self.options.follow:
            self._search(tables, LIMIT if limit is None else limit)
            return self._result()
        try:
            if limit != 0:
                self._search(tables, limit or FOLLOWED, oldest_first=True)
            self._follow(tables)
        except KeyboardInterrupt:  # the normal end of a follow
            pass
        return self._result()

    def _result(self) -> int:
        return FOUND if self._found else NOTHING

    def _locations(self) -> list[Location]:
        if self.options.tables:
            return [Location(path) for path in self.options.tables]
        return locations(load(self.options.files, SinkConfig, self.options.overrides))

    def _lines(self) -> TextOutput | JsonOutput:
        if self.options.json:
            return JsonOutput(marks=self.options.context > 0)
        colours = has_colours(self.output, os.environ)
        zone = None if self.options.local else UTC
        return TextOutput(zone, highlight(self._query) if colours else None, colours)

    def _search(self, tables: list[SearchedTable], limit: int, oldest_first: bool = False) -> None:
        selection = self.judge.selection(self._query, tables[0].schema, limit)
        files = itertools.chain.from_iterable(table.files(self._query) for table in tables)
        hits: Iterable[Hit] = newest_first(scan_of(self._query, selection, self.judge), files)
        if oldest_first:
            hits = reversed(list(itertools.islice(hits, limit)))
        groups = self._groups(tables[0])
        for group in groups(hits):
            self._print(group)
            if limit and self._found >= limit:
                return

    def _groups(self, table: SearchedTable) -> Callable[[Iterable[Hit]], Iterator[Group]]:
        if not self.options.context:
            return lambda hits: ([(hit.row, True)] for hit in hits)
        selection = self.judge.selection(self._query, table.schema, limit=0)
        return Groups(Neighbours(self.judge, self.options.context), selection).groups

    def _follow(self, tables: list[SearchedTable]) -> None:
        """Print new rows, until the process is interrupted."""
        follow = Follow(tables, self._query, self.judge, self._locations, _warn)
        while True:
            self.wait(POLL)
            for table, hits in follow.poll():
                for group in self._groups(table)(hits):
                    self._print(group)

    def _print(self, group: Group) -> None:
        if self.options.context and self._printed and (separator := self._printer.separator()):
            self.output.write(f"{separator}\n")
        for row, is_hit in group:
            self.output.write(f"{self._printer.line(row, is_hit)}\n")
            self._found += is_hit
        self.output.flush()  # the next hit may be seconds away
        self._printed += 1


def query_of(options: argparse.Namespace, now: datetime) -> Query:
    zone = None if options.local else UTC
    since, until = (moment and moment.resolved(now, zone) for moment in (options.since, options.until))
    case: Case = "ignore" if options.ignore_case else "exact" if options.case_sensitive else "smart"
    names = (tuple(options.hosts), tuple(options.paths))
    return Query(options.text, options.regex, case, since, until, *names, options.where)


def _warn(sentence: str) -> None:
    print(f"spark-sink search: {visible(sentence, keep=chr(10))}", file=sys.stderr)  # noqa: T201 - the command's stderr
