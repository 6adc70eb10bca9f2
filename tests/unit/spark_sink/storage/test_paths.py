import platform
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from log_shipper.config.sink.model import SinkConfig
from log_shipper.config.sink.parts import CheckpointConfig, DeadLetterConfig, StateConfig
from log_shipper.config.sink.tables import TableConfig
from log_shipper.config.sink.views import ViewConfig
from log_shipper.spark_sink.storage.paths import check_plain, check_shared, looker, misplaced


@pytest.mark.parametrize("default", ["file:///", "file:/"])
def test_a_plain_path_is_a_directory_of_this_machine(config: SinkConfig, default: str) -> None:
    assert misplaced(default, config) == ""


def test_a_plain_path_is_refused_where_spark_would_take_it_for_another_one(config: SinkConfig) -> None:
    message = misplaced("s3a://lake", config)
    assert message.startswith(f"{config.table.path}, {config.dead_letter_path}, ")
    assert f"Write which one is meant: s3a://lake{config.table.path}, or file://{config.table.path} for" in message


@pytest.mark.parametrize("base", ["s3a://lake/logs", "file:///logs", "hdfs://name/logs"])
def test_whole_uris_mean_the_same_to_all(config: SinkConfig, base: str) -> None:
    named = replace(config, table=TableConfig(path=f"{base}/lines"), checkpoint=CheckpointConfig(path=f"{base}/query"))
    assert misplaced("s3a://lake", named) == ""
    for other in (
        replace(named, state=StateConfig(path="/marks")),
        replace(named, dead_letter=DeadLetterConfig(path="/bad")),
        replace(named, checkpoint=CheckpointConfig(path="/query")),
        replace(named, views=(ViewConfig(name="v", sql="SELECT 1 FROM lines", path="/view"),)),
    ):
        assert misplaced("s3a://lake", other)


def test_a_task_names_its_machine_where_it_does_not_see_the_file_of_the_driver(tmp_path: Path) -> None:
    (tmp_path / "probe").touch()
    assert list(looker(str(tmp_path / "probe"))(())) == []
    assert list(looker(str(tmp_path / "missing" / "probe"))(())) == [platform.node()]


@pytest.mark.spark
def test_a_session_of_one_process_writes_no_file_to_look_for(spark: SparkSession, config: SinkConfig) -> None:
    check_plain(spark, config)
    check_shared(spark, config)
    assert not Path(config.table.path).exists()
