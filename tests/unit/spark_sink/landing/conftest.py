from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.unit.spark_sink.landing.landing_lab import LandingLab


@pytest.fixture
def make_lab(spark: SparkSession, tmp_path: Path) -> Callable[..., LandingLab]:
    def make(**changes: Any) -> LandingLab:
        return LandingLab(spark, tmp_path, **changes)

    return make


@pytest.fixture
def lab(make_lab: Callable[..., LandingLab]) -> LandingLab:
    return make_lab()
