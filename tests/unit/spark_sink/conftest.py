from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.spark_sink.options.kafka import KafkaSource
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.parts import CheckpointConfig
from log_shipper.spark_sink.options.tables import TableConfig


def sink_config(directory: Path, **changes: object) -> SinkConfig:
    """Return a valid configuration with its paths below the directory."""
    config = SinkConfig(
        kafka=KafkaSource(hosts=("127.0.0.1:9092",), topics=("logs",)),
        table=TableConfig(path=str(directory / "lines")),
        checkpoint=CheckpointConfig(path=str(directory / "checkpoint")),
    )
    return replace(config, **changes)  # type: ignore[arg-type]  # the tests name real fields


@pytest.fixture
def config(tmp_path: Path) -> SinkConfig:
    return sink_config(tmp_path)
