"""The tables of one sink: those of lines, which a template may add as rows come, the dead letter, and the marks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from config.sink.model import SinkConfig
from spark_sink.landing.marks import MARKS, Marks
from spark_sink.records.schema import BAD_RECORDS, Column
from spark_sink.storage.layout import Layout, of_lines, prepare
from spark_sink.storage.tables import Table, TableSnapshot

DEAD_LETTER_STATISTICS = ("topic", "partition", "kafka_offset", "at")


@dataclass(frozen=True, slots=True)
class SinkTables:
    """Creates each table before its first row lands, and adds the columns that it lacks."""

    spark: SparkSession
    config: SinkConfig
    columns: tuple[Column, ...]  # of a table of lines
    log: Callable[[str], None]
    _prepared: dict[str, TableSnapshot] = field(default_factory=dict)  # by path, as each was then

    @property
    def dead_letter(self) -> Table:
        return Table(self.spark, self.config.dead_letter_path)

    @property
    def marks(self) -> Table:
        return Table(self.spark, self.config.state_path)

    def known(self, marks: Marks) -> list[Table]:
        """Return the tables of lines that the configuration or the marks name."""
        paths = dict.fromkeys([*([] if self.config.has_template else [self.config.table.path]), *marks.versions])
        return [Table(self.spark, path) for path in paths if path != self.config.dead_letter_path]

    def prepare(self, snapshots: Mapping[str, TableSnapshot] | None = None) -> Mapping[str, TableSnapshot]:
        """Create all tables whose paths are known before the first batch, and return them as they are then, by path.

        `snapshots`: tables whose log was read already, by path. Raises SinkError where a path will not do.
        """
        existing, retain = snapshots or {}, self.config.maintenance.vacuum.retain
        self._prepare(self.marks, Layout(MARKS, "What has landed: the sink's own memory", retain=retain), existing)
        comment = "Kafka records that are not lines, as they came"
        bad = Layout(BAD_RECORDS, comment, statistics=DEAD_LETTER_STATISTICS, retain=retain)
        self._prepare(self.dead_letter, bad, existing)
        sources = [view.source for view in self.config.views if view.source is not None]
        for path in sources if self.config.has_template else [self.config.table.path]:
            self._prepare_lines(path, existing)
        return self._prepared

    def lines(self, path: str) -> Table:
        """Return the table of lines at the path; the first time in this run, it is created or gets what it lacks."""
        self._prepare_lines(path, {})
        return Table(self.spark, path)

    def _prepare_lines(self, path: str, existing: Mapping[str, TableSnapshot]) -> None:
        if path not in self._prepared:
            self._prepare(Table(self.spark, path), of_lines(self.config, self.columns), existing)

    def _prepare(self, table: Table, layout: Layout, existing: Mapping[str, TableSnapshot]) -> None:
        prepared = prepare(existing.get(table.path) or table.snapshot(), layout)
        self._prepared[table.path] = prepared.snapshot
        for note in prepared.notes:
            self.log(note)
