"""When the streams of a sink have last committed a batch: the newest file under `commits` of their checkpoints."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from config.sink.model import SinkConfig
from spark_sink.platform.jvm import file_system, hadoop_path


@dataclass(frozen=True, slots=True)
class Stream:
    """`batch` and `committed` are None before the first commit."""

    name: str
    path: str
    batch: int | None
    committed: datetime | None


def streams(spark: SparkSession, config: SinkConfig) -> list[Stream]:
    """Return the sink's own first, then the views'. Spark keeps the last hundred commits, so these are short
    listings."""
    views = [(f"view {view.name}", f"{config.view_checkpoints}/{view.name}") for view in config.views]
    return [_stream(spark, name, path) for name, path in [("stream", config.checkpoint.path), *views]]


def _stream(spark: SparkSession, name: str, path: str) -> Stream:
    batch, committed = max(_commits(spark, path), default=(None, None))
    return Stream(name, path, batch, committed)


def _commits(spark: SparkSession, path: str) -> Iterator[tuple[int, datetime]]:
    # Of Hadoop's public FileSystem: exists, listStatus.
    directory = hadoop_path(spark, path, "commits")
    files = file_system(spark, directory)
    for status in files.listStatus(directory) if files.exists(directory) else ():
        name = str(status.getPath().getName())
        if name.isdigit():
            yield int(name), datetime.fromtimestamp(status.getModificationTime() / 1000, UTC)
