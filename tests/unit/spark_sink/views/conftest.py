from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.unit.spark_sink.views.views_lab import ViewsLab


@pytest.fixture
def lab(spark: SparkSession, tmp_path: Path) -> ViewsLab:
    return ViewsLab(spark, tmp_path)
