"""The Spark session: a small one in this process, or the one of `spark-submit`."""

import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import log_shipper
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.platform import delta_jar
from log_shipper.spark_sink.platform.cache import cache_directory
from log_shipper.spark_sink.platform.class_sharing import archive_option
from log_shipper.spark_sink.platform.executors import LIBRARIES, UNPACKED
from log_shipper.spark_sink.platform.java import find_java
from log_shipper.spark_sink.platform.jvm import end_java, forget_ended_java, start_java
from log_shipper.spark_sink.platform.secret_settings import passed_by_file, secrets_of

# Required by the job in every session.
NEEDED = {
    # The listener needs only the last one.
    "spark.sql.streaming.numRecentProgressUpdates": "2",
}
# Required by views.
FOR_VIEWS = {
    "spark.sql.extensions": delta_jar.EXTENSION,
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # `date` is the day in UTC, and a time without a zone is UTC, regardless of the machine's zone.
    "spark.sql.session.timeZone": "UTC",
    # RFC 8259 lets an object repeat a key, and some programs do so: the last one counts, instead of an error.
    "spark.sql.variant.allowDuplicateKeys": "true",
    # Few messages are equal: in every file, Spark would start a dictionary and then give it up.
    "spark.hadoop.parquet.enable.dictionary#message": "false",
    "spark.hadoop.parquet.enable.dictionary#doc": "false",
    # Like the sink's own files: with Spark's default, snappy, they are twice as large.
    "spark.sql.parquet.compression.codec": "zstd",
    # deltalake reads Spark's INT96 times as nanoseconds, which only reach from 1677 to 2262: `maintain` would change
    # other times when it rewrites a view's file.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # For reading a table's log; Delta's default of 50 is for a cluster.
    "spark.databricks.delta.snapshotPartitions": "2",
}

# Java only plans batches and handles the rows of views: with a young generation of this size it takes 480 MB instead of
# 720, without more CPU.
YOUNG = "-Xmn64m"
# The C library keeps memory that Java's compilers and the codecs have freed: after some minutes 80 MB and more. The
# interval is in milliseconds; older Java versions ignore the option, because Spark requests that.
TRIM = "-XX:TrimNativeHeapInterval=60000"

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
EXECUTOR_PATH = "spark.executorEnv.PYTHONPATH"

# PySpark also logs each query error here, as JSON with a traceback on stderr; the sink reports the error itself.
ERRORS_OF_QUERIES = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")

# List settings, to which the user's entries are added, with their separators.
LISTS = {
    "spark.sql.extensions": ",",
    EXECUTOR_PATH: os.pathsep,
    JAVA_OPTIONS: " ",
}


def is_submitted(env: Mapping[str, str] = os.environ) -> bool:
    """Return True if `spark-submit` started this process: then master, jars and memory are on its command line."""
    return "PYSPARK_GATEWAY_PORT" in env


def collector_option(given: str, env: Mapping[str, str] = os.environ) -> str:
    """Return the option for the parallel collector, which takes a tenth less CPU than Java's default: throughput
    matters here, not pauses. Empty if the user's Java options (`given`) or the environment name a collector: Java does
    not start with two."""
    named = (env.get(name, "") for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"))
    return "" if re.search(r"-XX:\+Use\w+GC\b", " ".join((given, *named))) else "-XX:+UseParallelGC"


def local_options(cores: int, given: str, archive: str = "", text: bool = True) -> dict[str, str]:
    """Return options for local mode: Spark's defaults are for a cluster, and cost seconds per batch here.

    `given`: the user's Java options; `archive`: the Java option that names the class archive; `text`: Spark logs text,
    not JSON.
    """
    log_settings = Path(__file__).with_name("log4j2.properties")
    java_options = (
        collector_option(given),
        YOUNG,
        TRIM,
        archive,
        f"-Dlog4j2.configurationFile={log_settings.as_uri()}",
        f"-Dspark_sink.log={'text' if text else 'json'}",
    )
    return {
        # One task per processor that Java sees: unlike Python, it knows the limit of a container or service.
        "spark.master": "local[*]",
        # After a full collection 130 MB are in use; the rest is for the rows of views.
        "spark.driver.memory": "896m",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # Otherwise the views' queries could take all cores while lines land; so their pool gets half of them.
        "spark.scheduler.mode": "FAIR",
        # The catalog is not used, but Spark would create its directory in the working directory.
        "spark.sql.warehouse.dir": str(cache_directory() / "warehouse"),
        "spark.sql.shuffle.partitions": str(cores),
        "spark.ui.enabled": "false",
        # Spark keeps the UI's data even without the UI: by default a thousand of each, in a hundred megabytes.
        "spark.ui.retainedJobs": "10",
        "spark.ui.retainedStages": "10",
        "spark.ui.retainedTasks": "1000",
        "spark.sql.ui.retainedExecutions": "10",
        "spark.ui.showConsoleProgress": "false",
        JAVA_OPTIONS: " ".join(filter(None, java_options)),
    }


def settings(config: SinkConfig, own: bool, cores: int, archive: str = "", text: bool = True) -> dict[str, str]:
    """Return all options of the session. Later ones win: those for local mode (`own`), the required ones, the user's.
    The entries of LISTS are concatenated."""
    users = config.spark_conf
    if own:
        place = local_options(cores, users.get(JAVA_OPTIONS, ""), archive, text)
    else:
        place = {EXECUTOR_PATH: executor_path()}
    ours = {"spark.app.name": "spark-sink", **place, **NEEDED, **(FOR_VIEWS if config.views else {})}
    added = {name: f"{ours[name]}{LISTS[name]}{users[name]}" for name in LISTS if name in ours and name in users}
    return {**ours, **users, **added}


def python_environment() -> dict[str, str]:
    """Return the variables that make tasks use this Python, and find the sink even if it is not installed."""
    paths = (str(Path(log_shipper.__file__).parents[1]), os.environ.get("PYTHONPATH", ""))
    return {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def executor_path() -> str:
    """Return the PYTHONPATH on a cluster. Executors have the archive's packages in their working directory; the query's
    source, which Spark starts on the driver's machine, uses the driver's packages."""
    specs = [find_spec(name) for name in ("log_shipper", *LIBRARIES)]
    own = [str(Path(spec.origin).parents[1]) for spec in specs if spec is not None and spec.origin is not None]
    return os.pathsep.join(dict.fromkeys((UNPACKED, *own)))


def open_session(config: SinkConfig, text: bool = True) -> SparkSession:
    """Start Spark, or use the session of spark-submit. Blocks some seconds while the JVM starts. With `text` Spark logs
    text, else JSON.

    Raises NoJava; JarsMissing if views need Delta's jar and it cannot be downloaded.
    """
    for name in ERRORS_OF_QUERIES:
        logging.getLogger(name).disabled = True
    own, archive = not is_submitted(), ""
    if own:
        java = find_java()
        os.environ.update(JAVA_HOME=str(java.home), **python_environment())
        if config.views and not delta_jar.is_named(config.spark_conf):
            os.environ.update(delta_jar.environment(java))
        archive = archive_option(java, config.spark_conf.get(JAVA_OPTIONS, ""))
    options = settings(config, own, os.cpu_count() or 1, archive, text)
    secrets = secrets_of(options) if own else {}
    builder = SparkSession.builder
    for key, value in options.items():
        if key not in secrets:
            builder = builder.config(key, value)
    forget_ended_java()
    with passed_by_file(secrets):
        return builder.getOrCreate()


def close_session(spark: SparkSession) -> None:
    """Stop Spark, and its JVM if this process has started it."""
    spark.stop()
    end_java()


@contextmanager
def packages_of_java(config: SinkConfig) -> Iterator[Any]:
    """Start a JVM without a session, and yield the root of its packages. Raises NoJava."""
    java = find_java()
    os.environ["JAVA_HOME"] = str(java.home)
    options = config.spark_conf.get(JAVA_OPTIONS, "")
    try:
        yield start_java({JAVA_OPTIONS: local_options(1, options, archive_option(java, options))[JAVA_OPTIONS]})
    finally:
        end_java()
