"""Checks before the first batch that a local path is the same directory on every machine of a cluster: otherwise each
machine would keep the rows of its own tasks."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from uuid import uuid4

from pyspark.sql import SparkSession

from log_shipper.spark_sink.errors import SinkError, enumerated, translate
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.platform.executors import is_local
from log_shipper.spark_sink.platform.spark_errors import SPARK_ERRORS
from log_shipper.spark_sink.storage.locations import Location


def check_shared(spark: SparkSession, config: SinkConfig) -> None:
    """Write a file to each local directory that tasks write to, and check from a task on each executor core that it
    exists. In local mode, do nothing. Raises SinkError."""
    context = spark.sparkContext
    if is_local(str(context.master)):
        return
    for directory in dict.fromkeys(_written_by_tasks(config)):
        probe, cores = directory / f"_spark_sink_probe_{uuid4().hex}", context.defaultParallelism
        try:
            directory.mkdir(parents=True, exist_ok=True)
            probe.touch()
            unseen = context.parallelize(range(cores), cores).mapPartitions(directory_check(str(probe))).collect()
        except SPARK_ERRORS as error:
            raise translate(str(error), f"checking {directory} on the executors") from error
        except OSError as error:
            raise SinkError(f"cannot write to {directory}: {error}") from error
        finally:
            probe.unlink(missing_ok=True)
        if unseen:
            raise SinkError(
                f"{directory} on {enumerated(sorted(set(unseen)))} is not the driver's directory: each machine would "
                "keep its own rows. Mount a shared file system there, or use a URI (docs/guides/object-stores.md)"
            )


def directory_check(probe: str) -> Callable[[Iterable[int]], Iterator[str]]:
    """Return a function for a task, which yields the name of its machine if the file is missing there."""

    def look(_: Iterable[int]) -> Iterator[str]:
        import contextlib
        import os
        import platform

        with contextlib.suppress(OSError):
            os.listdir(os.path.dirname(probe))  # clients of network file systems cache missing files
        if not os.path.exists(probe):
            yield platform.node()

    return look


def _written_by_tasks(config: SinkConfig) -> Iterator[Path]:
    base = config.table.template.directory if config.has_template else config.table.path
    for path in (base, config.dead_letter_path):
        if (directory := Location(path).directory) is not None:
            yield directory
