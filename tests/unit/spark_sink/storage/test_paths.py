import platform
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.storage.paths import check_shared, directory_check


def test_a_task_names_its_machine_where_it_does_not_see_the_file_of_the_driver(tmp_path: Path) -> None:
    (tmp_path / "probe").touch()
    assert list(directory_check(str(tmp_path / "probe"))(())) == []
    assert list(directory_check(str(tmp_path / "missing" / "probe"))(())) == [platform.node()]


@pytest.mark.spark
def test_a_session_of_one_process_writes_no_file_to_look_for(spark: SparkSession, config: SinkConfig) -> None:
    check_shared(spark, config)
    assert not Path(config.table.path).exists()
