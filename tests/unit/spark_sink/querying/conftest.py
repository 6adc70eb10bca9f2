import pytest
from pyspark.sql import SparkSession

from tests.unit.spark_sink.querying.tables import Tables


@pytest.fixture(scope="package")
def spark(spark: SparkSession) -> SparkSession:
    """A session of its own: the page makes temporary views, and other tests may have made some of their names."""
    return spark.newSession()


@pytest.fixture(scope="package")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Nobody writes to them."""
    return Tables(spark, tmp_path_factory.mktemp("tables"))
