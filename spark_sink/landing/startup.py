"""The start of a run: read, check and complete marks and tables before the first batch.

The steps are correct because of their order: a check comes before any step that could overwrite the checked state. All
steps share one read of each table's log, in step 2 (for the marks in step 1); step 8 reads again the tables that it
changes. On a local file system each log is read once more, to find files torn by a power cut.

    1   read_marks        Without the marks, all rows would count as new. Files of a log that a power cut has torn are
                          deleted before the log is read, here and in step 2.
    2   read_tables       One snapshot of each table for all steps: between two reads another program may commit.
    3   check_topics      A re-created topic reuses the offsets of the old one: its first records would count as
                          landed, and would be lost. Before step 5, which may lower the ends of its partitions.
    4   set_aside         An outdated checkpoint (set back, or another one was used since): rows would land twice, or
                          under used transaction ids. A new one resumes where the marks end.
    5   lower_ends        A partition that returns to the configuration is read again from its first record: unless
                          step 10 finds its rows, all of them land twice.
    6   check_checkpoint  If checkpoint and marks are missing, rows land twice. If only the checkpoint remains of
                          checkpoint, tables and marks, the landed rows are lost.
    7   check_versions    A table was restored, deleted or re-created: rows that count as landed are missing. Before
                          step 8, which would create a new table in place of a missing one.
    8   create_tables     The first batch would create them too, but here an unusable path is reported at once.
    9   rebuild_marks     Tables have rows but no marks: repeats of those rows would land.
    10  find_orphans      Rows of a killed batch: its retry would land them again. After step 9, which sets the ends
                          to search from.

Steps 3, 6 and 7 change nothing; step 5 changes only memory. The start of a new checkpoint is saved in the marks before
its first batch (`BatchWriter.begin_at`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from log_shipper.spark_sink.errors import Refused, enumerated
from log_shipper.spark_sink.kafka.offsets import Offsets, Partition, describe_partitions
from log_shipper.spark_sink.landing import guard, marks, orphaned_rows, rebuild_marks
from log_shipper.spark_sink.landing.batch_writer import BatchWriter
from log_shipper.spark_sink.landing.marks import Marks
from log_shipper.spark_sink.landing.orphaned_rows import OrphanedRows
from log_shipper.spark_sink.landing.range_tasks import NewReader, RangeTasks
from log_shipper.spark_sink.landing.sink_tables import SinkTables
from log_shipper.spark_sink.landing.stages import Stopwatch
from log_shipper.spark_sink.landing.tasks import Tasks
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.rows.batches import File, RowOptions
from log_shipper.spark_sink.storage.checkpoint import Checkpoint
from log_shipper.spark_sink.storage.power_cuts import mend_table
from log_shipper.spark_sink.storage.tables import NO_BATCH, Table, TableSnapshot

# Not the directory itself, which may be a mount point.
AWAY = "Move its contents away; a new one resumes where the marks end"
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class KafkaTopics:
    """The current topics and partitions to read. `ids`: of each topic, "" if the broker gives none; `earliest`: the
    first offset of each partition."""

    ids: Mapping[str, str]
    earliest: Offsets

    @property
    def names(self) -> list[str]:
        return list(self.ids)


@dataclass(frozen=True, slots=True)
class StartupState:
    """The state that one step passes to the next. `snapshots`: of the tables of lines, by path; `continues`: see
    `StartResult`."""

    marks: Marks
    marks_table: TableSnapshot
    snapshots: Mapping[str, TableSnapshot]
    dead_letter: TableSnapshot
    continues: bool = False

    @property
    def lines(self) -> list[TableSnapshot]:
        return list(self.snapshots.values())

    @property
    def tables(self) -> list[TableSnapshot]:
        return [*self.lines, self.dead_letter]


@dataclass(frozen=True, slots=True)
class StartResult:
    """The writer of the batches. `continues`: the sink resumes where the marks end; otherwise the option `start`
    applies."""

    writer: BatchWriter
    continues: bool


@dataclass(frozen=True, slots=True)
class Startup:
    """The steps from a configuration to the writer of its batches. `progressed` is called after each part of a slow
    step, and at the stages of each batch."""

    tasks: Tasks
    config: SinkConfig
    checkpoint: Checkpoint
    kafka: KafkaTopics
    new_reader: NewReader
    clock: Callable[[], float]
    log: Callable[[str], None]
    progressed: Callable[[], None] = lambda: None

    def run(self) -> StartResult:
        """Take all steps. Raises Refused if a run would lose rows or land them twice, SinkError if a table cannot be
        used."""
        tables = SinkTables(self.config, self.log)
        state = self.read_tables(tables, *self.read_marks(tables.marks))
        self.check_topics(state)
        self.set_aside(state)
        state = self.check_checkpoint(self.lower_ends(state))
        self.check_versions(state)
        state.marks.note_topics(self.kafka.ids)
        state = self.create_tables(tables, state)
        rebuilt = self.rebuild_marks(tables, state)
        orphaned = self.find_orphans(state, rebuilt)
        tasks = range_tasks(self.tasks, tables, self.new_reader)
        stopwatch = Stopwatch(progressed=self.progressed)
        writer = BatchWriter(tables, tasks, state.marks, orphaned, clock=self.clock, stopwatch=stopwatch)
        return StartResult(writer, state.continues)

    def read_marks(self, marks_table: Table) -> tuple[TableSnapshot, Marks]:
        mend_table(marks_table.path, self.log)
        snapshot = marks_table.snapshot()
        known = marks.load(snapshot, self.clock() - self.config.dedupe.forget_after)
        self.progressed()
        return snapshot, known

    def read_tables(self, tables: SinkTables, marks_table: TableSnapshot, known: Marks) -> StartupState:
        for table in tables.all(known):
            mend_table(table.path, self.log)
        snapshots = {table.path: table.snapshot() for table in self._each(tables.known(known))}
        return StartupState(known, marks_table, snapshots, tables.dead_letter.snapshot())

    def check_topics(self, state: StartupState) -> None:
        guard.check_topics(state.marks, self.kafka.ids)

    def set_aside(self, state: StartupState) -> None:
        """Rename an outdated checkpoint. Raises Refused if that fails."""
        if not (reason := guard.outdated(self.checkpoint, [*state.tables, state.marks_table], state.marks.ends)):
            return
        wrong = (
            f"the checkpoint {self.checkpoint.path} was set back, or another checkpoint has been used since: {reason}"
        )
        if not state.marks.ends:
            raise Refused(f"{wrong}. Either restore the whole checkpoint; or move it away and {guard.RESUME}")
        try:
            aside = self.checkpoint.set_aside()
        except OSError as error:
            raise Refused(f"{wrong}. It cannot be renamed: {error.strerror}. {AWAY}") from error
        if aside is None:
            raise Refused(f"{wrong}. {AWAY}")
        self.log(f"{wrong}. It was renamed to {aside}; a new one resumes where the marks end")

    def lower_ends(self, state: StartupState) -> StartupState:
        """Set the end of a partition that returned to the configuration to Kafka's first offset: the checkpoint lacks
        it, so it is read as a new one. `find_orphans` then finds its rows in the tables."""
        lowered = self._lowered(state.marks.ends)
        if lowered:
            self.log(
                f"{describe_partitions(list(lowered))}: missing from the checkpoint, although their rows have landed; "
                "reading them again from the first record, without landing rows twice"
            )
        return replace(state, marks=replace(state.marks, ends={**state.marks.ends, **lowered}))

    def check_checkpoint(self, state: StartupState) -> StartupState:
        topics, path = self.kafka.names, self.checkpoint.path
        continues = guard.continues(self.checkpoint, state.tables, topics, state.marks.ends)
        if continues and self.checkpoint.query_id() is None:
            self.log(f"the checkpoint {path} is new; resuming where the marks end")
        elif not continues and self.config.start != "table":
            guard.check_new(state.tables, topics, path, state.marks_table.path)
        if not state.marks.appends and not self.config.has_template:  # with a template, step 9 refuses it
            guard.check_deleted(self.checkpoint, state.lines, state.marks_table.path)
        return replace(state, continues=continues)

    def check_versions(self, state: StartupState) -> None:
        guard.check_versions({snapshot.path: snapshot for snapshot in state.tables}, state.marks.versions)

    def create_tables(self, tables: SinkTables, state: StartupState) -> StartupState:
        """Create missing tables, and add missing columns."""
        tables.prepare()

        def now(snapshot: TableSnapshot) -> TableSnapshot:
            changed = tables.log(snapshot.path).version != snapshot.version
            return snapshot.table.snapshot() if changed else snapshot

        lines = {path: now(snapshot) for path, snapshot in self._each(state.snapshots.items())}
        return replace(state, snapshots=lines, dead_letter=now(state.dead_letter))

    def rebuild_marks(self, tables: SinkTables, state: StartupState) -> list[tuple[str, File]]:
        """Fill empty marks from the tables, and return their files. Raises Refused if only the marks would have named
        the tables."""
        if state.marks.appends:
            return []
        committed = self.checkpoint.last_committed()
        if self.config.has_template and (committed != NO_BATCH or self._has_bad_records(state)):
            raise Refused(
                f"the marks table {tables.marks.path} is missing or empty, and with a template in table.path it has "
                "the only list of the tables. Restore it (from a backup, or by the previous state.path)"
            )
        if committed == NO_BATCH and self.config.start != "table":
            return []  # at most a part of the very first batch has landed: step 10 finds it
        read = self.checkpoint.ends(committed)
        ends = rebuild_marks.complete_until(read, rebuild_marks.ends_of(state.tables))
        if not ends:
            return []
        self.log("the tables have rows but no marks; rebuilding the marks from the rows")
        return rebuild_marks.rebuild(state.marks, self._each(state.lines), ends, self.clock())

    def find_orphans(self, state: StartupState, rebuilt: list[tuple[str, File]]) -> OrphanedRows:
        lines = self._each(state.lines)
        orphaned = orphaned_rows.find(lines, state.dead_letter, state.marks, self.kafka.names, self.clock())
        orphaned.files += rebuilt
        if tables := sorted(orphaned.tables):
            self.log(
                f"{enumerated(tables)} has rows beyond the marks: a batch was killed, a topic was re-created, or a "
                "partition is read again. Records with the same offset and time do not land again"
            )
        return orphaned

    def _each(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items, and report progress after each."""
        for item in items:
            yield item
            self.progressed()

    def _lowered(self, ends: Mapping[Partition, int]) -> dict[Partition, int]:
        if self.checkpoint.last_committed() == NO_BATCH:
            return {}
        read, planned = self.checkpoint.resume_offsets(), self.checkpoint.ends(self.checkpoint.last_planned())
        return {
            partition: min(ends[partition], first, planned.get(partition, ends[partition]))
            for partition, first in self.kafka.earliest.items()
            if partition in ends and partition not in read
        }

    def _has_bad_records(self, state: StartupState) -> bool:
        """Return True if the dead letter shows that a batch landed without this checkpoint."""
        return self.checkpoint.last_planned() == NO_BATCH and state.dead_letter.has_rows_of(self.kafka.names)


def open_writer(
    tasks: Tasks,
    config: SinkConfig,
    new_reader: NewReader,
    clock: Callable[[], float],
    log: Callable[[str], None],
) -> BatchWriter:
    """Return a writer with loaded marks for a command, without checking or creating tables."""
    tables = SinkTables(config, log)
    mend_table(tables.marks.path, log)
    known = marks.load(tables.marks.snapshot(), clock() - config.dedupe.forget_after)
    for table in tables.all(known):
        mend_table(table.path, log)
        if (snapshot := table.snapshot()).exists:
            tables.note_partitions(table.path, snapshot.partition_columns)
    return BatchWriter(tables, range_tasks(tasks, tables, new_reader), known, OrphanedRows(), clock=clock)


def range_tasks(tasks: Tasks, tables: SinkTables, new_reader: NewReader) -> RangeTasks:
    return RangeTasks(tasks, new_reader, row_options(tables.config), tables.files())


def row_options(config: SinkConfig) -> RowOptions:
    table = config.table
    return RowOptions(table.template, config.columns, table.doc, table.max_tables)
