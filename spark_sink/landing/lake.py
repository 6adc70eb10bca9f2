"""The tables of one sink: those of lines, which a template may name as rows come, the dead letter, and the marks."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from config.sink.model import SinkConfig
from spark_sink.landing.marks import MARKS, Marks
from spark_sink.records.schema import BAD_RECORDS, Column
from spark_sink.storage.layout import Layout, of_lines, prepare
from spark_sink.storage.tables import Table

DEAD_LETTER_STATISTICS = ("topic", "partition", "kafka_offset", "at")


@dataclass(frozen=True, slots=True)
class Lake:
    """Makes each table before the first row comes."""

    spark: SparkSession
    config: SinkConfig
    columns: tuple[Column, ...]  # of a table of lines
    say: Callable[[str], None]
    _ready: dict[str, Table] = field(default_factory=dict)

    @property
    def dead_letter(self) -> Table:
        return Table(self.spark, self.config.dead_letter_path)

    @property
    def state(self) -> Table:
        return Table(self.spark, self.config.state_path)

    def known(self, marks: Marks) -> list[Table]:
        """The tables of lines that there are, as far as the configuration or the marks name them."""
        paths = dict.fromkeys([*([] if self.config.has_template else [self.config.table.path]), *marks.versions])
        return [Table(self.spark, path) for path in paths if path != self.config.dead_letter_path]

    def prepare(self) -> None:
        """All tables whose paths are known before the first batch. Raises SinkError where a path will not do."""
        retain = self.config.maintenance.vacuum.retain
        self._make(self.state, Layout(MARKS, "What has landed: the sink's own memory", retain=retain))
        comment = "Kafka records that are no lines, as they came"
        bad = Layout(BAD_RECORDS, comment, statistics=DEAD_LETTER_STATISTICS, retain=retain)
        self._make(self.dead_letter, bad)
        sources = [view.source for view in self.config.views if view.source is not None]
        for path in sources if self.config.has_template else [self.config.table.path]:
            self.lines(path)

    def lines(self, path: str) -> Table:
        """The table of lines at the path, which is made or brought up to date when this run first asks for it."""
        if path not in self._ready:
            self._ready[path] = self._make(Table(self.spark, path), of_lines(self.config, self.columns))
        return self._ready[path]

    def _make(self, table: Table, layout: Layout) -> Table:
        for note in prepare(table, layout):
            self.say(note)
        return table
