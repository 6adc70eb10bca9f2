import os
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from demo.broker import Broker
from demo.jars import broker_set
from log_shipper.spark_sink.options.kafka import KafkaSource
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.parts import CheckpointConfig
from log_shipper.spark_sink.options.tables import TableConfig
from log_shipper.spark_sink.options.views import ViewConfig
from log_shipper.spark_sink.platform.jvm import Garbage
from log_shipper.spark_sink.platform.session import open_session
from tests.descriptors import collect_descriptors
from tests.failing_disk import FailingDisk, failing_disk
from tests.fakes import ManualClock
from tests.java import FIRST_COMPILER, HAS_DELTA, forget_logs
from tests.lab import Lab
from tests.loggers import restored_loggers
from tests.object_store import ObjectStore
from tests.short_reads import LogOnDisk
from tests.tiers import (  # noqa: F401 - pytest finds its hooks and fixtures here
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_xdist_make_scheduler,
    seed,
)

# The package that writes checkpoints.
CHECKPOINTS = "org.apache.spark.sql.execution.streaming" + (
    "" if pyspark.__version__.startswith("4.0.") else ".checkpointing"
)
# A query over a handful of rows spends most of its time on planning.
HANDFUL: dict[str, str | int | float | bool] = {
    # A third of it goes into writing, compiling and loading Java for the query.
    "spark.sql.codegen.wholeStage": False,
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # One task a stage, and each stage planned once.
    "spark.master": "local[1]",
    "spark.sql.shuffle.partitions": 1,
    "spark.databricks.delta.snapshotPartitions": 1,
    "spark.sql.adaptive.enabled": False,
    # Spark describes each query for a UI that is off.
    "spark.sql.ui.explainMode": "simple",
    # Without Hadoop's native library, a rename of the file system for many processes starts three of `readlink`. One
    # process needs no such rename. The end-to-end tests have it.
    "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
    "spark.sql.streaming.checkpointFileManagerClass": f"{CHECKPOINTS}.FileSystemBasedCheckpointFileManager",
}


def pytest_collection_finish() -> None:
    """Exclude the objects of thousands of tests from later garbage collections: each would take half a second, and
    each start of a sink or a Lab collects."""
    Garbage().keep()


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """Restore the loggers after each test, which may not have all descriptors taken by those before it."""
    collect_descriptors()
    with restored_loggers():
        yield


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[LogOnDisk]:
    """A log file that is read in pieces."""
    log = LogOnDisk(tmp_path / "app.log")
    yield log
    log.close()


@pytest.fixture
def disk() -> Iterator[FailingDisk]:
    """The disk below this process, which fails as the test chooses."""
    with failing_disk() as disk:
        yield disk


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A real Kafka for all tests of the session. In CI its absence is a failure: there, a skip would go unnoticed."""
    _require_jars()
    with Broker(tmp_path_factory.mktemp("kafka"), heap="256m") as broker:
        yield broker


@pytest.fixture(scope="session")
def creating_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A real Kafka that creates a topic when a client asks for it, as it does by default."""
    _require_jars()
    properties = {"auto.create.topics.enable": "true"}
    with Broker(tmp_path_factory.mktemp("creating"), heap="256m", properties=properties) as broker:
        yield broker


def _require_jars() -> None:
    if not broker_set().complete and "CI" not in os.environ:
        pytest.skip("the jars of the Kafka broker are not in the cache: run script/bootstrap")


@pytest.fixture(scope="session")
def object_store() -> Iterator[ObjectStore]:
    """S3 for all tests of the session, each of which creates its own bucket."""
    with ObjectStore() as store:
        yield store


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One JVM for all tests of the session, set up as in the product where there are views, which alone need Delta's
    jar (without it where this Spark has none), except that Spark compiles no code for a few rows. In the end-to-end
    tests it does, as for users."""
    directory = tmp_path_factory.mktemp("spark")
    config = SinkConfig(
        kafka=KafkaSource(hosts=("none:9092",), topics=("none",)),
        table=TableConfig(path=str(directory)),
        checkpoint=CheckpointConfig(path=str(directory)),
        views=(ViewConfig(name="any", sql="SELECT * FROM lines"),) if HAS_DELTA else (),
        spark={"driver.memory": "1g", "spark.driver.defaultJavaOptions": FIRST_COMPILER, **HANDFUL},
    )
    session = open_session(config)
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def java_heap(request: pytest.FixtureRequest) -> Iterator[None]:
    """Free the memory of earlier tests' tables: they would fill the heap. Delta caches each for an hour, with the plans
    of all queries, some 10 MB; and Java keeps the objects that Python's garbage refers to."""
    yield
    if "spark" in request.fixturenames:
        if HAS_DELTA:
            forget_logs(request.getfixturevalue("spark"))
        Garbage().collect()


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(tmp_path)
    yield lab
    lab.close()
