"""Where a view lives: its table and its checkpoint, which belong together and to one SQL text.

The table is made before the query starts, with what the view was made from in its properties. Delta's sink names each
batch by the checkpoint's query id and the batch's number, and skips a name that the table has seen: a batch that was
killed and runs again is written once. So a checkpoint that was lost or set back would do harm in silence, as would a
text that changes what the state of the old one means. All that is refused here, before anything runs.

    spark_sink.view.sql, .mode   what the rows in it come from
    spark_sink.view.stateful     whether the query remembers rows from batch to batch (groups, joins of streams)
    spark_sink.view.from         the version of the table of lines when the view was made: `start: latest` begins behind
                                 it, also when the first start is killed before its first batch
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from config.sink.model import SinkConfig
from spark_sink.delta import NO_BATCH
from spark_sink.errors import SPARK_ERRORS, Refused, SinkError, translate
from spark_sink.records.variants import text
from spark_sink.storage.checkpoint import Checkpoint
from spark_sink.storage.layout import assignments, retention_properties
from spark_sink.storage.tables import Table
from spark_sink.views import catalyst
from spark_sink.views.query import Named

PROPERTY = "spark_sink.view."
# A RESTORE ends the landing within a batch. So when a running view has read past one, not much can have come since.
LOOK_BACK = 100


@dataclass(frozen=True, slots=True)
class Found:
    """What the view's table records of itself."""

    properties: Mapping[str, str]
    partitioned_by: tuple[str, ...]
    types: Mapping[str, str]  # by the column's name in small letters


@dataclass(frozen=True, slots=True)
class Place:
    """Of one view. `lines` is the table that it reads; `retain`: seconds for which files stay that were taken out."""

    spark: SparkSession
    named: Named
    lines: Table
    table: Table
    checkpoint: Checkpoint
    retain: float

    def begins_behind(self) -> int | None:
        """Return the version of the table of lines that `start: latest` begins behind; None for `earliest`.

        Asked before the table is made, and after: of a view that is new this is the version now.
        """
        if self.named.view.start == "earliest" or self.checkpoint.last_planned() != NO_BATCH:
            return None
        return self._made_at(self._found()) if self.table.exists() else self.lines.version()

    def prepare(self, rows: DataFrame) -> str | None:
        """Makes the table, or checks that it is the one for these rows. Returns what was changed, in words.

        Raises Refused, with the ways out.
        """
        try:
            if not self.table.exists():
                self._check_new()
                self._create(rows)
                return None
            found = self._found()
            self._check_known(found)
            return self._fit(found, rows)
        except SPARK_ERRORS as error:
            raise translate(str(error), f"cannot prepare {self._what}") from error

    @property
    def ways_out(self) -> str:
        return (
            f"Either give the view a new name; or, to have it made again from {self._again}, delete "
            f"its table {self.table.path} and its checkpoint {self.checkpoint.path}, both"
        )

    @property
    def _again(self) -> str:
        if self.named.view.start == "earliest":
            return "all lines that there are"
        option = self.named.option("start")
        return f"all lines that there are ({option} has to be earliest then; as it is, from what lands after that)"

    @property
    def _what(self) -> str:
        return f"the view {self.named.view.name} ({self.table.path})"

    def _check_new(self) -> None:
        if self.checkpoint.query_id() is not None:
            raise Refused(
                f"the table of {self._what} is missing, but its checkpoint {self.checkpoint.path} exists and resumes "
                "behind the rows that were in it. Either bring the table back; or delete the checkpoint too, and the "
                f"view is made again from {self._again}"
            )

    def _check_known(self, found: Found) -> None:
        if PROPERTY + "sql" not in found.properties:
            raise Refused(f"the path of {self._what} has a table that no view made. Name another views.path")
        query_id, written = self.checkpoint.query_id(), self.table.log.snapshot()
        batch = NO_BATCH if query_id is None else written.last_batch(query_id)
        if batch == NO_BATCH:
            if written.has_batches:
                raise Refused(
                    f"{self._what} has rows, but its checkpoint {self.checkpoint.path} is missing or new: they would "
                    "come a second time. Bring the checkpoint back, if you can; where checkpoint.path was changed, "
                    f"move it from beside the old path to beside the new one. {self.ways_out}"
                )
        elif batch > (planned := self.checkpoint.last_planned()):
            raise Refused(
                f"{self._what} has batch {batch} of its checkpoint, but {self.checkpoint.path} knows no batch after "
                f"{planned}: it was set back, and rows would be skipped. Bring the whole checkpoint back, if you can. "
                f"{self.ways_out}"
            )
        self._check_restored(found)

    def _check_restored(self, found: Found) -> None:
        since = max(self._made_at(found), self._read_to() - LOOK_BACK)
        if restored := self.lines.snapshot().restored_since(since):
            raise Refused(
                f"the table {self.lines.path} was restored to an earlier version (by its version {restored}). "
                f"{self._what} has rows that were removed from it, and would get a second time what lands again. "
                f"{self.ways_out}"
            )

    def _read_to(self) -> int:
        """Return the version of the table of lines that the last batch ends at."""
        batch = self.checkpoint.last_planned()
        if batch == NO_BATCH:
            return 0
        name = f"{self.checkpoint.path}/offsets/{batch}"
        text = str(self.spark.read.text(name, wholetext=True).collect()[0][0])
        try:
            # One line a stream; a join of lines with itself reads two.
            return min(int(json.loads(line)["reservoirVersion"]) for line in text.splitlines()[2:])
        except (ValueError, KeyError) as error:
            raise SinkError(
                f"cannot read the checkpoint of {self._what}: {name} is damaged ({error}). {self.ways_out}"
            ) from error

    def _fit(self, found: Found, rows: DataFrame) -> str | None:
        view = self.named.view
        if [name.lower() for name in found.partitioned_by] != [name.lower() for name in view.partition_by]:
            there = ", ".join(found.partitioned_by) or "no column"
            raise Refused(
                f"{self.named.option('partition_by')}: {self._what} is partitioned by {there}. {self.ways_out}"
            )
        if found.properties.get(PROPERTY + "mode") != view.mode:
            raise Refused(f"{self.named.option('mode')} was changed, and its rows are of another kind. {self.ways_out}")
        added = [name for name in rows.columns if name.lower() not in found.types]
        if found.properties[PROPERTY + "sql"] != _plain(view.sql):
            return self._change(found, rows, added, "was changed")
        # `*` gives another column where the table of lines has got one.
        return self._change(found, rows, added, f"gives more columns now, {', '.join(added)}") if added else None

    def _change(self, found: Found, rows: DataFrame, added: list[str], how: str) -> str:
        """Another text continues in the same table if each row is made of one line and no column becomes another."""
        if found.properties.get(PROPERTY + "stateful") == "true" or catalyst.is_stateful(rows):
            raise Refused(
                f"{self.named.option('sql')} {how}. Its groups or joins are half built by the old text, and a new one "
                f"cannot continue with them. {self.ways_out}"
            )
        new = {field.name.lower(): field.dataType.simpleString() for field in rows.schema}
        other = [name for name, kind in found.types.items() if new.get(name) != kind]
        if other:
            changes = ", ".join(f"{name} was {found.types[name]}, is {new.get(name, 'missing')}" for name in other)
            raise Refused(f"{self.named.option('sql')} {how}, and columns with it: {changes}. {self.ways_out}")
        if added:
            columns = catalyst.columns(rows.select(*(f"`{name}`" for name in added)))
            self.spark.sql(f"ALTER TABLE {self._name} ADD COLUMNS ({columns})")
        self.spark.sql(f"ALTER TABLE {self._name} SET TBLPROPERTIES ({self._properties(rows)})")
        more = f", with the new columns {', '.join(added)}" if added else ""
        return f"the sql of the view {self.named.view.name} {how}: its next rows are made by it{more}"

    def _create(self, rows: DataFrame) -> None:
        view = self.named.view
        partitioning = f"PARTITIONED BY ({', '.join(view.partition_by)})" if view.partition_by else ""
        made_at = f"'{PROPERTY}from' = '{self.lines.version()}'"
        # Without the optimized write each batch leaves a file for each partition of the shuffle.
        delta = assignments({**retention_properties(self.retain), "delta.autoOptimize.optimizeWrite": "true"})
        self.spark.sql(
            f"CREATE TABLE {self._name} ({catalyst.columns(rows)}) USING DELTA {partitioning} "
            f"TBLPROPERTIES ({self._properties(rows)}, {made_at}, {delta})"
        )

    def _properties(self, rows: DataFrame) -> str:
        view = self.named.view
        values = {
            "sql": _plain(view.sql),
            "mode": view.mode,
            "stateful": "true" if catalyst.is_stateful(rows) else "false",
        }
        return ", ".join(f"'{PROPERTY}{name}' = {text(value)}" for name, value in values.items())

    def _found(self) -> Found:
        detail = self.spark.sql(f"DESCRIBE DETAIL {self._name}").select("properties", "partitionColumns").collect()[0]
        types = {field.name.lower(): field.dataType.simpleString() for field in self.table.read().schema}
        return Found(detail.properties, tuple(detail.partitionColumns), types)

    def _made_at(self, found: Found) -> int:
        return int(found.properties.get(PROPERTY + "from", NO_BATCH))

    @property
    def _name(self) -> str:
        return "delta.`" + self.table.path.replace("`", "``") + "`"


def place(spark: SparkSession, config: SinkConfig, named: Named) -> Place:
    # Beside the main query's checkpoint, not in it: that one is copied, moved and looked through as a whole.
    checkpoint = f"{config.checkpoint.path.rstrip('/')}_views/{named.view.name}"
    return Place(
        spark,
        named,
        Table(spark, named.view.source or config.table.path),
        Table(spark, config.view_path(named.view)),
        Checkpoint(spark, checkpoint),
        config.maintenance.vacuum.retain,
    )


def _plain(sql: str) -> str:
    """Indents mean nothing; line breaks do, behind a comment."""
    lines = (line.strip() for line in sql.strip().removesuffix(";").splitlines())
    return "\n".join(line for line in lines if line)
