from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from config.sink.model import CheckpointConfig, KafkaSource, SinkConfig, TableConfig
from spark_sink.session import open_session


def sink_config(directory: Path, **changes: object) -> SinkConfig:
    """A valid configuration with its paths below the directory."""
    config = SinkConfig(
        kafka=KafkaSource(hosts=("127.0.0.1:9092",), topics=("logs",)),
        table=TableConfig(path=str(directory / "lines")),
        checkpoint=CheckpointConfig(path=str(directory / "checkpoint")),
    )
    return replace(config, **changes)  # type: ignore[arg-type]  # the tests name real fields


def pytest_configure(config: pytest.Config) -> None:
    # Py4J leaves the closing of its sockets to the garbage collector, which may come in anybody's test.
    config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


@pytest.fixture
def config(tmp_path: Path) -> SinkConfig:
    return sink_config(tmp_path)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One JVM for all tests, set up as the product does it. With its first compiler alone: hardly anything that a test
    runs is run often enough for the second, which takes half of the CPU."""
    quick = {"spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1"}
    session = open_session(sink_config(tmp_path_factory.mktemp("spark"), spark=quick))
    yield session
    session.stop()
