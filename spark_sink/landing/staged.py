"""Staged rows: their files are in the table's directory, and they are in the table only when they are committed.

Parsing and writing are what a batch costs, and repeats are known only when the rows are parsed. So the tasks write the
rows first, and say from which files of which hosts they came. Then the files are committed as they are, or the rows are
written once more without the repeats. A process that is killed in between leaves files that no version of the table
names: no one reads them, and a full VACUUM deletes them.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TypeAlias

import pyarrow as pa
from pyarrow import dataset
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from log_shipper.spark_sink.landing.places import Places
from log_shipper.spark_sink.records.schema import Column
from log_shipper.spark_sink.storage.commits import CommitLog
from log_shipper.spark_sink.storage.data_files import DataFile, DataFileWriter, FileLayout
from log_shipper.spark_sink.storage.locations import Location
from log_shipper.spark_sink.storage.tables import TxnId


class Unnamed(Enum):
    """The reason why a commit does not have the name of a batch."""

    NOT_A_BATCH = "the rows are not a batch of the query: a repair, or what an earlier run had read beyond its bounds"
    NAME_IS_USED = "a killed run of the same batch has committed a part of it under the name, and this is the remainder"


# The name of a commit in Delta's log. Of two commits with the same TxnId the second one fails.
CommitName: TypeAlias = TxnId | Unnamed


@dataclass(frozen=True, slots=True)
class Staged:
    """Files of one table that await their commit."""

    log: CommitLog
    layout: FileLayout
    files: tuple[DataFile, ...]

    @property
    def path(self) -> str:
        return self.log.location.path

    @property
    def count(self) -> int:
        return sum(file.rows for file in self.files)

    def rows(self, spark: SparkSession) -> DataFrame:
        """Return what is in the files, with the table's columns."""
        schema = StructType.fromJson(json.loads(self.log.table.schema().to_json()))
        return read_files(spark, self.log.location, schema, self.files)

    def without(self, places: DataFrame) -> "Staged":
        """Return the rows at other places, written once more if there are any at these."""
        left_out = Places.collected(places)
        if not left_out:
            return self
        rewrite = partial(_rewritten, self.log.location, self.layout, left_out)
        context = places.sparkSession.sparkContext
        written = context.parallelize(self.files, len(self.files)).flatMap(rewrite).collect()
        self.discard()
        return Staged(self.log, self.layout, tuple(written))

    def commit(self, name: CommitName, turn: int | None = None) -> int:
        """Commit the rows, and return the table's new version. Raises Refused where the table has the named batch, or
        this turn, already, or a later one."""
        return self.log.append(self.files, None if isinstance(name, Unnamed) else name, turn)

    def discard(self) -> None:
        """Delete the files, best effort: no version of the table names them."""
        delete_files(self.log.location, self.files)


def read_files(spark: SparkSession, location: Location, schema: StructType, files: Iterable[DataFile]) -> DataFrame:
    """Return the rows of files that need not be in a table."""
    path = location.path.rstrip("/")
    reader = spark.read.schema(schema).option("basePath", path)
    return reader.parquet(*(f"{path}/{file.path}" for file in files)).select(*schema.names)


def spark_schema(columns: Iterable[Column]) -> StructType:
    """Return the schema of rows with these columns."""
    schema = StructType.fromDDL(", ".join(f"`{column.name}` {column.type}" for column in columns))
    assert isinstance(schema, StructType)
    return schema


def delete_files(location: Location, files: Iterable[DataFile]) -> None:
    """Delete files that no table names, best effort."""
    store = location.files()
    for file in files:
        try:
            store.delete_file(file.path)
        except OSError:  # VACUUM deletes what stays
            continue


def _rewritten(location: Location, layout: FileLayout, left_out: Places, file: DataFile) -> list[DataFile]:
    """Return what was written of the rows of a file at other places. Runs in a task."""
    files = dataset.dataset([file.path], schema=layout.schema, filesystem=location.files(), partitioning="hive")
    with DataFileWriter(location, layout) as writer:
        writer.write(left_out.remove_from(files.to_table()))
        return writer.close()


def write_table(rows: pa.Table, log: CommitLog, layout: FileLayout) -> Staged:
    """Write a few rows of the driver."""
    with DataFileWriter(log.location, layout) as writer:
        writer.write(rows)
        return Staged(log, layout, tuple(writer.close()))
