"""The last batch that each stream of a sink has committed: the newest file under `commits` in its checkpoint."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from config.sink.model import SinkConfig
from spark_sink.platform.jvm import file_system, hadoop_path


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """The last commit of one stream. `batch` and `committed` are None before the first one."""

    name: str
    path: str
    batch: int | None
    committed: datetime | None


def streams(spark: SparkSession, config: SinkConfig) -> list[StreamStatus]:
    """Return the stream of the lines first, then those of the views. Spark keeps the last hundred commits, so the
    directories that are listed are short."""
    views = [(f"view {view.name}", f"{config.view_checkpoints}/{view.name}") for view in config.views]
    return [_stream(spark, name, path) for name, path in [("stream", config.checkpoint.path), *views]]


def _stream(spark: SparkSession, name: str, path: str) -> StreamStatus:
    batch, committed = max(_commits(spark, path), default=(None, None))
    return StreamStatus(name, path, batch, committed)


def _commits(spark: SparkSession, path: str) -> Iterator[tuple[int, datetime]]:
    # Of Hadoop's public FileSystem: exists, listStatus.
    directory = hadoop_path(spark, path, "commits")
    files = file_system(spark, directory)
    for status in files.listStatus(directory) if files.exists(directory) else ():
        name = str(status.getPath().getName())
        if name.isdigit():
            yield int(name), datetime.fromtimestamp(status.getModificationTime() / 1000, UTC)
