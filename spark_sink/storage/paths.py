"""A path of this machine has to be the same directory on every machine of a cluster, or each would keep the rows of its
own tasks: that is looked at before the first batch.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from uuid import uuid4

from pyspark.sql import SparkSession

from log_shipper.spark_sink.errors import SinkError, enumerated, translate
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.platform.spark_errors import SPARK_ERRORS
from log_shipper.spark_sink.storage.locations import Location


def check_shared(spark: SparkSession, config: SinkConfig) -> None:
    """Write a file into each directory of this machine in which tasks write, and look from a task on each core of the
    executors whether it is there. In a session of one process, do nothing. Raises SinkError."""
    context = spark.sparkContext
    if str(context.master).startswith("local["):
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
    """Return a function for a task, which yields the name of its machine where it does not see the file."""

    def look(_: Iterable[int]) -> Iterator[str]:
        import contextlib
        import os
        import platform

        with contextlib.suppress(OSError):
            os.listdir(os.path.dirname(probe))  # a client of a network file system remembers what it has not seen
        if not os.path.exists(probe):
            yield platform.node()

    return look


def _written_by_tasks(config: SinkConfig) -> Iterator[Path]:
    base = config.table.template.directory if config.has_template else config.table.path
    for path in (base, config.dead_letter_path):
        if (directory := Location(path).directory) is not None:
            yield directory
