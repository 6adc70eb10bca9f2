"""The storage of a view: its table and its checkpoint, which belong together and to one SQL text.

The table is created before the query starts, with the definition of the view in its properties. Delta's sink commits
each batch with a transaction id (the checkpoint's query id and the batch's number), and skips ids that the table has:
a retried batch is written once. So if the checkpoint is lost or set back, rows would silently be missing or come twice;
the same holds for an SQL text that does not fit the state of the old one. These cases are refused before the start.

    spark_sink.view.sql, .mode   the definition of the rows
    spark_sink.view.stateful     true if the query keeps state between batches (groups, joins of streams)
    spark_sink.view.from         the version of the table of lines when the view was created: `start: latest` begins
                                 after it, even if the first start is killed before its first batch
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from log_shipper.spark_sink.errors import Refused, SinkError, translate
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.platform.spark_errors import SPARK_ERRORS
from log_shipper.spark_sink.storage.checkpoint import Checkpoint
from log_shipper.spark_sink.storage.layout import assignments, retention_properties
from log_shipper.spark_sink.storage.locations import location_of
from log_shipper.spark_sink.storage.tables import NO_BATCH, Table, TableSnapshot
from log_shipper.spark_sink.views import catalyst
from log_shipper.spark_sink.views.query import ViewEntry

PROPERTY = "spark_sink.view."
# A RESTORE stops the landing within a batch. So if a running view has read past one, few commits can have followed.
LOOK_BACK = 100


@dataclass(frozen=True, slots=True)
class ExistingTable:
    """Delta's description of a view's table."""

    properties: Mapping[str, str]
    partitioned_by: tuple[str, ...]
    types: Mapping[str, str]  # by the column's name in lower case


@dataclass(frozen=True, slots=True)
class ViewStorage:
    """The tables and the checkpoint of one view. `lines`: the table that it reads; `retain`: seconds to keep removed
    files."""

    spark: SparkSession
    entry: ViewEntry
    lines: Table
    table: Table
    checkpoint: Checkpoint
    retain: float

    @classmethod
    def from_config(cls, spark: SparkSession, config: SinkConfig, entry: ViewEntry) -> "ViewStorage":
        view = entry.view
        return cls(
            spark,
            entry,
            lines=Table(location_of(config, view.source or config.table.path)),
            table=Table(location_of(config, config.view_path(view))),
            checkpoint=Checkpoint(f"{config.view_checkpoints}/{view.name}", config.storage_options),
            retain=config.maintenance.vacuum.remembered,
        )

    def last_skipped_version(self) -> int | None:
        """Return the last version of the table of lines that `start: latest` skips, None if it skips none.

        Called before and after the view's table is created: for a new view this is the current version.
        """
        if self.entry.view.start == "earliest" or self.checkpoint.last_planned() != NO_BATCH:
            return None
        written = self.table.snapshot()
        return _created_at(self._describe(written)) if written.exists else self.lines.version()

    def prepare(self, rows: DataFrame) -> str | None:
        """Create the table, or check that it fits these rows. Returns a message about changes, None without any.

        Raises Refused, with the possible actions.
        """
        try:
            written = self.table.snapshot()
            if not written.exists:
                self._check_new()
                self._create(rows)
                return None
            existing = self._describe(written)
            self._check_known(existing, written)
            return self._adapt(existing, rows)
        except SPARK_ERRORS as error:
            raise translate(str(error), f"cannot prepare {self._what}") from error

    @property
    def ways_out(self) -> str:
        return (
            f"Either rename the view; or, to re-create it from {self._lines_to_read}, delete both its table "
            f"{self.table.path} and its checkpoint {self.checkpoint.path}"
        )

    @property
    def _lines_to_read(self) -> str:
        if self.entry.view.start == "earliest":
            return "all existing lines"
        option = self.entry.option("start")
        return f"all existing lines (with {option}: earliest; otherwise from new lines only)"

    @property
    def _what(self) -> str:
        return f"the view {self.entry.view.name} ({self.table.path})"

    def _check_new(self) -> None:
        if self.checkpoint.query_id() is not None:
            raise Refused(
                f"the table of {self._what} is missing, but its checkpoint {self.checkpoint.path} resumes after the "
                "rows that were in it. Restore the table as it was, if possible: nothing is lost then. Or delete the "
                f"checkpoint too: the view is re-created from {self._lines_to_read}, and its rows of deleted lines are "
                "lost"
            )

    def _check_known(self, existing: ExistingTable, written: TableSnapshot) -> None:
        if PROPERTY + "sql" not in existing.properties:
            raise Refused(f"the path of {self._what} has a table that no view created. Set another views.path")
        query_id = self.checkpoint.query_id()
        batch = NO_BATCH if query_id is None else written.last_batch(query_id)
        if batch == NO_BATCH:
            if not written.is_empty:
                raise Refused(
                    f"{self._what} has rows, but its checkpoint {self.checkpoint.path} is missing or new: the rows "
                    "would be written twice. Restore the checkpoint if possible; if checkpoint.path was changed, "
                    f"move the view's checkpoint next to the new path. {self.ways_out}"
                )
        elif batch > (planned := self.checkpoint.last_planned()):
            raise Refused(
                f"{self._what} has batch {batch} of its checkpoint, but the last batch in {self.checkpoint.path} is "
                f"{planned}: the checkpoint was set back, and rows would be skipped. Restore the whole checkpoint if "
                f"possible. {self.ways_out}"
            )
        self._check_restored(existing)

    def _check_restored(self, existing: ExistingTable) -> None:
        since = max(_created_at(existing), self._read_to() - LOOK_BACK)
        if restored := self.lines.snapshot().restored_since(since):
            raise Refused(
                f"the table {self.lines.path} was restored to an earlier version (version {restored} is a RESTORE). "
                f"{self._what} still has the removed rows, and would get lines that land again twice. {self.ways_out}"
            )

    def _read_to(self) -> int:
        """Return the end of the last batch, as a version of the table of lines."""
        batch = self.checkpoint.last_planned()
        if batch == NO_BATCH:
            return 0
        name = f"{self.checkpoint.path}/offsets/{batch}"
        text = str(self.spark.read.text(name, wholetext=True).collect()[0][0])
        try:
            # One line per stream; a self-join of lines has two streams.
            return min(int(json.loads(line)["reservoirVersion"]) for line in text.splitlines()[2:])
        except (ValueError, KeyError) as error:
            raise SinkError(
                f"cannot read the checkpoint of {self._what}: {name} is damaged ({error}). {self.ways_out}"
            ) from error

    def _adapt(self, existing: ExistingTable, rows: DataFrame) -> str | None:
        """Adapt the table to the configuration. Returns a message about changes. Raises Refused for impossible ones."""
        view = self.entry.view
        if [name.lower() for name in existing.partitioned_by] != [name.lower() for name in view.partition_by]:
            partitioning = ", ".join(existing.partitioned_by) or "no column"
            raise Refused(
                f"{self.entry.option('partition_by')}: {self._what} is partitioned by {partitioning}. {self.ways_out}"
            )
        if existing.properties.get(PROPERTY + "mode") != view.mode:
            raise Refused(f"{self.entry.option('mode')} was changed; existing rows do not fit. {self.ways_out}")
        added = [name for name in rows.columns if name.lower() not in existing.types]
        if existing.properties[PROPERTY + "sql"] != _plain(view.sql):
            return self._change(existing, rows, added, "was changed")
        # `SELECT *` returns a new column once the table of lines has one.
        return self._change(existing, rows, added, f"now returns more columns, {', '.join(added)}") if added else None

    def _change(self, existing: ExistingTable, rows: DataFrame, added: list[str], how: str) -> str:
        """Continue with another SQL text in the same table. Raises Refused for a stateful query, and if a column
        changes its type."""
        if existing.properties.get(PROPERTY + "stateful") == "true" or catalyst.is_stateful(rows):
            raise Refused(
                f"{self.entry.option('sql')} {how}. The state of its groups or joins belongs to the old query. "
                f"{self.ways_out}"
            )
        new = {field.name.lower(): field.dataType.simpleString() for field in rows.schema}
        other = [name for name, kind in existing.types.items() if new.get(name) != kind]
        if other:
            changes = ", ".join(f"{name} was {existing.types[name]}, is {new.get(name, 'missing')}" for name in other)
            raise Refused(f"{self.entry.option('sql')} {how}, and columns with it: {changes}. {self.ways_out}")
        if added:
            columns = catalyst.columns(rows.select(*(f"`{name}`" for name in added)))
            self.spark.sql(f"ALTER TABLE {self._name} ADD COLUMNS ({columns})")
        self.spark.sql(f"ALTER TABLE {self._name} SET TBLPROPERTIES ({self._properties(rows)})")
        more = f", with the new columns {', '.join(added)}" if added else ""
        return f"the sql of the view {self.entry.view.name} {how}; it applies to new rows{more}"

    def _create(self, rows: DataFrame) -> None:
        view = self.entry.view
        partitioning = f"PARTITIONED BY ({', '.join(view.partition_by)})" if view.partition_by else ""
        made_at = f"'{PROPERTY}from' = '{self.lines.version()}'"
        # Without optimized writes, each batch writes a file per shuffle partition.
        delta = assignments({**retention_properties(self.retain), "delta.autoOptimize.optimizeWrite": "true"})
        self.spark.sql(
            f"CREATE TABLE {self._name} ({catalyst.columns(rows)}) USING DELTA {partitioning} "
            f"TBLPROPERTIES ({self._properties(rows)}, {made_at}, {delta})"
        )

    def _properties(self, rows: DataFrame) -> str:
        view = self.entry.view
        values = {
            "sql": _plain(view.sql),
            "mode": view.mode,
            "stateful": "true" if catalyst.is_stateful(rows) else "false",
        }
        return assignments({f"{PROPERTY}{name}": value for name, value in values.items()})

    def _describe(self, written: TableSnapshot) -> ExistingTable:
        assert written.delta is not None
        types = self.spark.read.format("delta").load(self.table.location.in_spark).schema
        return ExistingTable(
            written.delta.metadata().configuration,
            tuple(written.partition_columns),
            {field.name.lower(): field.dataType.simpleString() for field in types},
        )

    @property
    def _name(self) -> str:
        """The name of the view's table in SQL."""
        return "delta.`" + self.table.location.in_spark.replace("`", "``") + "`"


def _created_at(existing: ExistingTable) -> int:
    return int(existing.properties.get(PROPERTY + "from", NO_BATCH))


def _plain(sql: str) -> str:
    """Return the text without indentation, which SQL ignores. Line breaks stay: they end comments."""
    lines = (line.strip() for line in sql.strip().removesuffix(";").splitlines())
    return "\n".join(line for line in lines if line)
