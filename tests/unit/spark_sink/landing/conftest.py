from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.unit.spark_sink.landing.landing_lab import LandingLab


@pytest.fixture(scope="session")
def warm(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """A session that has landed a batch: the first one loads and compiles what all others use, for ten seconds."""
    lab = LandingLab(spark, tmp_path_factory.mktemp("warm"))
    lab.start()
    lab.send_lines(0, 10)
    lab.send(b"no JSON")
    lab.land()
    return spark


@pytest.fixture
def make_lab(warm: SparkSession, tmp_path: Path) -> Callable[..., LandingLab]:
    def make(**changes: Any) -> LandingLab:
        return LandingLab(warm, tmp_path, **changes)

    return make


@pytest.fixture
def lab(make_lab: Callable[..., LandingLab]) -> LandingLab:
    return make_lab()
