"""The door to Delta's own Java: another release is refused, and what it lacks is reported by name."""

from pathlib import Path

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j ships no types
from pyspark.sql import SparkSession

from log_shipper.spark_sink.delta import NEEDED, DeltaLog, Snapshot, check_version, installed_version
from log_shipper.spark_sink.errors import SinkError
from log_shipper.spark_sink.storage.tables import NO_BATCH

pytestmark = pytest.mark.spark


class OlderSnapshot:
    """Like an object of Py4J's whose Java class lacks the method."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def version(self) -> int:
        raise self._error


def test_the_release_that_is_installed_is_the_one_that_is_needed(spark: SparkSession) -> None:
    assert installed_version(spark) == NEEDED
    check_version(spark)


def test_another_release_is_refused_with_what_is_installed_what_is_needed_and_what_to_install(
    spark: SparkSession,
) -> None:
    with pytest.raises(SinkError) as refused:
        check_version(spark, needed="4.9.9")
    text = str(refused.value)
    assert text.startswith(f"delta-spark is {NEEDED}, and the sink needs 4.9.9. ")
    assert "--packages io.delta:delta-spark_2.13:4.9.9" in text
    assert "python -m log_shipper.spark_sink.platform.jars" in text


@pytest.mark.parametrize(
    ("error", "lacks"),
    [
        (Py4JError("An error occurred. Trace:\nMethod version([]) does not exist\n"), "Method version([]) does not"),
        (TypeError("'JavaPackage' object is not callable"), "'JavaPackage' object is not callable"),
    ],
)
def test_what_a_release_lacks_is_named(spark: SparkSession, error: Exception, lacks: str) -> None:
    with pytest.raises(SinkError) as missing:
        _ = Snapshot(spark, OlderSnapshot(error)).version
    assert str(missing.value).startswith("this release of Delta lacks what the sink calls (")
    assert lacks in str(missing.value)


@pytest.mark.parametrize("error", [Py4JError("the connection was lost"), TypeError("not of that kind")])
def test_every_other_error_passes_through(spark: SparkSession, error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        _ = Snapshot(spark, OlderSnapshot(error)).version


def test_a_table_that_is_missing_has_no_version_and_no_batch(spark: SparkSession, tmp_path: Path) -> None:
    snapshot = DeltaLog(spark, str(tmp_path / "table")).snapshot()
    assert (snapshot.exists, snapshot.version, snapshot.last_batch("q")) == (False, -1, NO_BATCH)
