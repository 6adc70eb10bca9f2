import json
import logging
import subprocess
import sys
from dataclasses import replace
from logging.handlers import BufferingHandler
from pathlib import Path

import pyarrow
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from log_shipper.spark_sink.options.java_options import Raw
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.views import ViewConfig
from log_shipper.spark_sink.platform import session
from log_shipper.spark_sink.platform.cache import cache_directory
from log_shipper.spark_sink.platform.executors import UNPACKED
from log_shipper.spark_sink.platform.jvm import java_class, jvm
from log_shipper.spark_sink.platform.session import (
    ERRORS_OF_QUERIES,
    EXECUTOR_PATH,
    FOR_VIEWS,
    NEEDED,
    TRIM,
    YOUNG,
    collector_option,
    executor_path,
    is_submitted,
    settings,
)

VIEW = ViewConfig(name="any", sql="SELECT * FROM lines")


def test_a_session_of_its_own_is_small(config: SinkConfig) -> None:
    own = settings(config, own=True, cores=3)
    assert own["spark.master"] == "local[*]"
    assert own["spark.sql.shuffle.partitions"] == "3"


@pytest.mark.parametrize("own", [True, False], ids=["a session of its own", "under spark-submit"])
def test_nothing_of_delta_is_asked_for_but_where_there_are_views(config: SinkConfig, own: bool) -> None:
    plain = settings(config, own, cores=3)
    with_views = settings(replace(config, views=(VIEW,)), own, cores=3)
    assert with_views == plain | FOR_VIEWS
    assert not [value for value in plain.values() if "delta" in value.lower()]
    assert not plain.keys() & {"spark.jars", "spark.jars.packages", "spark.driver.extraClassPath"}


def test_under_spark_submit_master_jars_and_memory_are_left_alone(config: SinkConfig) -> None:
    given = settings(config, own=False, cores=3)
    assert given == {"spark.app.name": "spark-sink", EXECUTOR_PATH: executor_path()} | NEEDED


def test_on_a_cluster_python_looks_for_packages_in_what_spark_unpacked_and_then_where_the_driver_has_them() -> None:
    first, *others = executor_path().split(":")
    assert first == UNPACKED
    assert {Path(pyarrow.__file__).parents[1], Path(session.__file__).parents[2]} == {Path(path) for path in others}


def test_the_users_settings_win(config: SinkConfig) -> None:
    changed = replace(config, spark={"master": "local[1]", "spark.ui.enabled": True})
    own = settings(changed, own=True, cores=3)
    assert (own["spark.master"], own["spark.ui.enabled"]) == ("local[1]", "true")


def test_spark_submit_is_known_by_the_gateway_it_opens() -> None:
    assert is_submitted({"PYSPARK_GATEWAY_PORT": "1"})
    assert not is_submitted({})


def test_a_collector_that_the_environment_names_is_the_only_one() -> None:
    assert collector_option("", {"JAVA_TOOL_OPTIONS": "-Xss1m"}) == "-XX:+UseParallelGC"
    assert collector_option("", {"JDK_JAVA_OPTIONS": "-XX:+UseZGC"}) == ""


def test_the_users_lists_are_added_to_what_the_job_needs(config: SinkConfig) -> None:
    """Delta's extension stays when another one comes, and the log's settings when Java gets an option."""
    given: Raw = {"sql.extensions": "a.B", "driver.extraJavaOptions": "-XX:+UseZGC -Xss2m"}
    with_views = replace(config, views=(VIEW,))
    plain, own = settings(with_views, own=True, cores=3), settings(replace(with_views, spark=given), own=True, cores=3)
    assert own["spark.sql.extensions"] == "io.delta.sql.DeltaSparkSessionExtension,a.B"
    java_options = own["spark.driver.extraJavaOptions"]
    assert YOUNG in java_options.split()
    assert "log4j2" in java_options
    assert java_options.endswith("-XX:+UseZGC -Xss2m")
    assert "-XX:+UseParallelGC" in plain["spark.driver.extraJavaOptions"]


def test_java_is_given_the_class_archive(config: SinkConfig) -> None:
    own = settings(config, own=True, cores=3, archive="-XX:SharedArchiveFile=/somewhere")
    assert "-XX:SharedArchiveFile=/somewhere" in own["spark.driver.extraJavaOptions"].split()


@pytest.mark.spark
def test_java_maps_the_class_archive_that_bootstrap_made(spark: SparkSession) -> None:
    process = java_class(spark, "java.lang.ProcessHandle").current().pid()
    maps = Path(f"/proc/{process}/maps").read_text()
    assert str(cache_directory() / "classes" / "classes.jsa") in maps


@pytest.mark.spark
def test_java_was_started_with_what_the_session_asks_for(spark: SparkSession) -> None:
    given = list(jvm(spark).java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments())
    assert {YOUNG, TRIM, "-XX:+UseParallelGC", "-Xmx1g"} <= set(given)


SESSIONS = """
import os, sys
from pathlib import Path
from dataclasses import replace
from tests.unit.spark_sink.conftest import sink_config
from log_shipper.spark_sink.platform.session import close_session, open_session

config = replace(sink_config(Path(sys.argv[1])), spark={"spark.master": "local[1]"})
for text in (False, True):
    spark = open_session(config, text)
    java = spark.sparkContext._gateway.proc.pid
    packages = spark._jvm.org.apache.logging.log4j
    for name in ("org.apache.spark.Some", "org.apache.spark.sql.execution.streaming.MicroBatchExecution"):
        error = spark._jvm.java.lang.IllegalStateException("its reason")
        packages.LogManager.getLogger(name).error('a "quoted"\\nmessage', error)
    close_session(spark)
    print("ENDED", not os.path.exists(f"/proc/{java}"))
"""


@pytest.mark.slow("starts Spark twice in a process of its own")
@pytest.mark.spark
def test_spark_logs_errors_as_the_sink_does_and_its_java_ends_with_the_session(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SESSIONS, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=Path(__file__).parents[4])
    assert run.stdout.splitlines() == ["ENDED True"] * 2, run.stderr
    logged = [line for line in run.stderr.splitlines() if "message" in line]
    first = json.loads(logged[0])
    assert (first["log.level"], first["message"]) == ("error", 'a "quoted"\nmessage')
    assert first["error.stack_trace"].lstrip().startswith("java.lang.IllegalStateException: its reason")
    assert logged[1:] == ["  message"]
    assert 'spark-sink: Spark: a "quoted"' in run.stderr.splitlines()


@pytest.mark.spark
@pytest.mark.parametrize("by_name", [True, False], ids=["of a DataFrame", "of SQL"])
def test_an_error_of_a_query_is_not_logged_by_pyspark(spark: SparkSession, by_name: bool) -> None:
    logged = BufferingHandler(capacity=10)
    loggers = [logging.getLogger(name) for name in ERRORS_OF_QUERIES]
    for logger in loggers:
        logger.addHandler(logged)
    try:
        with pytest.raises(AnalysisException, match="nowhere"):
            _ = spark.range(1).select(F.col("nowhere") + 1) if by_name else spark.sql("SELECT nowhere FROM range(1)")
    finally:
        for logger in loggers:
            logger.removeHandler(logged)
    assert not logged.buffer
