"""The tables of one sink: tables of lines (with a template, new ones as rows arrive), the dead letter and the marks."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.landing.marks import MARKS, Marks
from log_shipper.spark_sink.landing.range_task import TableFiles
from log_shipper.spark_sink.landing.staged import Staged, stage
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.records.schema import BAD_RECORDS
from log_shipper.spark_sink.rows.conversion import too_many
from log_shipper.spark_sink.rows.schema import arrow_schema
from log_shipper.spark_sink.storage import creation
from log_shipper.spark_sink.storage.commits import CommitLog
from log_shipper.spark_sink.storage.data_files import UNIQUE, DataFile, FileLayout
from log_shipper.spark_sink.storage.layout import Layout, of_lines
from log_shipper.spark_sink.storage.locations import Location, location_of
from log_shipper.spark_sink.storage.tables import CommitName, Table, TableSnapshot, Unnamed, reading

DEAD_LETTER_STATISTICS = ("topic", "partition", "kafka_offset", "at")


@dataclass(frozen=True, slots=True)
class SinkTables:
    """Creates each table before its first row lands, and adds missing columns. `note`: logs a message."""

    config: SinkConfig
    note: Callable[[str], None]
    _logs: dict[str, CommitLog] = field(default_factory=dict)  # by path
    _partitions: dict[str, str] = field(default_factory=dict)  # partition column by path, "" without one

    @property
    def dead_letter(self) -> Table:
        return self.table(self.config.dead_letter_path)

    @property
    def marks(self) -> Table:
        return self.table(self.config.state_path)

    def table(self, path: str) -> Table:
        return Table(self.location(path))

    def location(self, path: str) -> Location:
        return location_of(self.config, path)

    def known(self, marks: Marks) -> list[Table]:
        """Return the tables of lines that the configuration or the marks name."""
        paths = dict.fromkeys([*([] if self.config.has_template else [self.config.table.path]), *marks.versions])
        return [self.table(path) for path in paths if path != self.config.dead_letter_path]

    def all(self, marks: Marks) -> list[Table]:
        """Return the tables of lines and the dead-letter table."""
        return [*self.known(marks), self.dead_letter]

    def check_number(self, paths: Collection[str]) -> None:
        """Raise SinkError if these are more tables than `table.max_tables`."""
        if len(set(paths)) > self.config.table.max_tables:
            raise too_many(paths, self.config.table.max_tables)

    def prepare(self) -> None:
        """Create all tables whose paths are known before the first batch. Raises SinkError for an unusable path."""
        for path in (self.config.state_path, self.config.dead_letter_path):
            self.log(path)
        sources = [view.source for view in self.config.views if view.source is not None]
        for path in sources if self.config.has_template else [self.config.table.path]:
            self.log(path)

    def log(self, path: str) -> CommitLog:
        """Return the log of the table; its first use in a run creates the table, or adds missing columns."""
        if path not in self._logs:
            log = self._logs[path] = creation.prepare(self.location(path), self._layout(path))
            self.note_partitions(path, log.table.metadata().partition_columns)
        return self._logs[path]

    def note_partitions(self, path: str, partitioned: list[str]) -> None:
        """Note the partition columns of an existing table, before tasks write its files. Raises Refused if the sink
        does not support them."""
        if partitioned not in ([], ["date"]):
            raise Refused(
                f"the table {path} is partitioned by {', '.join(partitioned)}: the sink supports only tables "
                "partitioned by date, or unpartitioned ones. Let it create a table at another path"
            )
        column = "".join(partitioned)
        if column != self._partitions.get(path, self._layout(path).partition_by):
            stays = f"partitioned by {column}" if column else "not partitioned"
            self.note(f"the table {path} remains {stays}: table.partition_by applies to new tables only")
        self._partitions[path] = column

    def written(self) -> dict[str, CommitLog]:
        """Return the logs of all tables that this run has opened, except the marks, by path."""
        return {path: log for path, log in self._logs.items() if path != self.config.state_path}

    def files(self) -> TableFiles:
        """Return what the tasks need to know about the tables."""
        lines, bad = self._layout(""), self._layout(self.config.dead_letter_path)
        partitions = {path: column for path, column in self._partitions.items() if column != lines.partition_by}
        bad_path, options = self.config.dead_letter_path, self.config.storage_options
        return TableFiles(_file_layout(lines), bad_path, _file_layout(bad), partitions, options)

    def staged(self, path: str, files: Sequence[DataFile]) -> Staged:
        """Return written, uncommitted files of a table of lines or of the dead letter."""
        is_bad = path == self.config.dead_letter_path
        layout = _file_layout(self._layout(path)) if is_bad else self.files().layout(path)
        return Staged(self.location(path), layout, tuple(files))

    def stage_bad(self, rows: pa.Table) -> Staged:
        return self._stage(self.config.dead_letter_path, rows)

    def stage_marks(self, rows: Sequence[Mapping[str, Any]]) -> Staged:
        path = self.config.state_path
        return self._stage(path, pa.Table.from_pylist(rows, _file_layout(self._layout(path)).schema))

    def commit(self, staged: Staged, name: CommitName, turn: int | None = None) -> int:
        """Commit the rows, and return the table's new version. Raises Refused if the table already has this batch or
        turn, or a later one; SinkError if the files are not partitioned like the table: their rows would have no
        date."""
        log = self.log(staged.path)
        partitioned = log.table.metadata().partition_columns
        if any(list(file.partition) != partitioned for file in staged.files):
            raise SinkError(
                f"cannot commit to the table {staged.path}: its new files are not partitioned as it is (by "
                f"{', '.join(partitioned) or 'nothing'}). Start the command again, which reads its partitioning again"
            )
        return log.append(staged.files, None if isinstance(name, Unnamed) else name, turn)

    def newest(self, path: str) -> TableSnapshot:
        """Return the newest version of a table that this process writes to. Raises like `CommitLog.refresh`."""
        log = self.log(path)
        log.refresh()
        with reading(path):
            return TableSnapshot(Table(log.location), log.read_table())

    def _stage(self, path: str, rows: pa.Table) -> Staged:
        self.log(path)  # creates the directory of the table
        return stage(self.location(path), _file_layout(self._layout(path)), rows)

    def _layout(self, path: str) -> Layout:
        retain = self.config.maintenance.vacuum.remembered
        if path == self.config.state_path:
            return Layout(MARKS, "What has landed: the sink's own memory", retain=retain)
        if path == self.config.dead_letter_path:
            comment = "Kafka records that are not lines, unchanged"
            return Layout(BAD_RECORDS, comment, statistics=DEAD_LETTER_STATISTICS, retain=retain)
        return of_lines(self.config)


def _file_layout(layout: Layout) -> FileLayout:
    schema = arrow_schema(layout.columns)
    unique = tuple(name for name in UNIQUE if name in schema.names)
    statistics = layout.statistics or tuple(column.name for column in layout.columns)
    return FileLayout(schema, layout.partition_by, statistics, unique)
