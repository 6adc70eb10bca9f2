"""Which jar of Delta a session gets, and who decides that."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from pyspark.sql import SparkSession

from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.platform import delta_jar
from log_shipper.spark_sink.platform.jars import JarsMissing
from tests.java import needs_delta

ROOT = Path(__file__).parents[4]


def test_the_release_of_delta_follows_from_that_of_spark() -> None:
    assert delta_jar.package("4.0.5") == "io.delta:delta-spark_2.13:4.0.1"
    assert delta_jar.package("4.2.1") == "io.delta:delta-spark_4.2_2.13:4.4.0"


def test_a_spark_without_a_delta_is_named_with_the_ways_out() -> None:
    with pytest.raises(JarsMissing, match=r"none is known for Spark 9\.9\. Install another pyspark .*4\.0"):
        delta_jar.package("9.9.0")


def test_each_release_has_a_directory_of_its_own(tmp_path: Path) -> None:
    old, new = (delta_jar.jar_set(tmp_path, spark) for spark in ("4.0.5", "4.1.1"))
    assert old.directory == tmp_path / "delta" / "delta-spark_2.13-4.0.1"
    assert new.directory == tmp_path / "delta" / "delta-spark_4.1_2.13-4.1.0"


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.4.1,io.delta:delta-spark_2.13:4.0.0"}, True),
        ({"spark.jars": "/opt/delta-spark_2.13-4.0.0.jar"}, True),
        ({"spark.driver.extraClassPath": "/opt/delta-spark_2.13-4.0.0.jar"}, True),
        ({"spark.jars.packages": "org.apache.hadoop:hadoop-aws:3.4.1"}, False),
    ],
)
def test_a_jar_that_the_user_names_is_taken_instead(given: dict[str, str], named: bool) -> None:
    assert delta_jar.is_named(given) == named


@needs_delta
@pytest.mark.spark
def test_a_jar_that_is_missing_is_reported_with_its_coordinate(spark: SparkSession) -> None:
    delta_jar.check(spark)
    with pytest.raises(SinkError, match=r"Spark does not have it: add --packages io\.delta:delta-spark"):
        delta_jar.check(spark, "io.delta.sql.Missing")


def test_the_jar_is_for_a_spark_that_the_project_takes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements = {item.name: item for item in map(Requirement, project["optional-dependencies"]["sink"])}
    assert all(requirements["pyspark"].specifier.contains(f"{minor}.0") for minor in delta_jar.RELEASES)
