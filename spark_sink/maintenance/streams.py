"""The batches that each stream of a sink has committed and planned last: the newest files under `commits` and `offsets`
in its checkpoint."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import SparkSession

from log_shipper.config.sink.model import SinkConfig
from log_shipper.spark_sink.platform.jvm import file_system, hadoop_path


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """The last commit of one stream. `batch` and `committed` are None before the first one. `pending`: when the batch
    was planned that has not been committed yet; None without one."""

    name: str
    path: str
    batch: int | None
    committed: datetime | None
    pending: datetime | None = None


def streams(spark: SparkSession, config: SinkConfig) -> list[StreamStatus]:
    """Return the stream of the lines first, then those of the views. Spark keeps the last hundred commits, so the
    directories that are listed are short."""
    views = [(f"view {view.name}", f"{config.view_checkpoints}/{view.name}") for view in config.views]
    return [_stream(spark, name, path) for name, path in [("stream", config.checkpoint.path), *views]]


def oldest_pending(of: Iterable[StreamStatus]) -> datetime | None:
    """Return when the first of the batches was planned that have not been committed yet; None without one."""
    return min((stream.pending for stream in of if stream.pending is not None), default=None)


def _stream(spark: SparkSession, name: str, path: str) -> StreamStatus:
    # The commits last: a batch that ends in between is not pending.
    planned, since = max(_batches(spark, path, "offsets"), default=(-1, None))
    batch, committed = max(_batches(spark, path, "commits"), default=(None, None))
    return StreamStatus(name, path, batch, committed, since if planned > (-1 if batch is None else batch) else None)


def _batches(spark: SparkSession, path: str, name: str) -> Iterator[tuple[int, datetime]]:
    # Of Hadoop's public FileSystem: exists, listStatus.
    directory = hadoop_path(spark, path, name)
    files = file_system(spark, directory)
    for status in files.listStatus(directory) if files.exists(directory) else ():
        name = str(status.getPath().getName())
        if name.isdigit():
            yield int(name), datetime.fromtimestamp(status.getModificationTime() / 1000, UTC)
