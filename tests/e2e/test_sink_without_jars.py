"""The sink of a configuration without views: no jar is fetched, and Java has none but Spark's own."""

from pathlib import Path

import pytest

from log_shipper.spark_sink.platform.delta_jar import BEHIND_SPARK
from tests.e2e.sinking import BAD, SinkLab

pytestmark = pytest.mark.kafka


def test_lines_land_without_any_jar(lab: SinkLab, tmp_path: Path) -> None:
    lab.environment = {"SHIPPER_CACHE": str(tmp_path / "cache"), BEHIND_SPARK: ""}
    lab.make_topic()
    lab.send_lines(20)
    lab.send_bad(*BAD)
    lab.land()
    assert list(tmp_path.rglob("*.jar")) == []
