import pickle
from pathlib import Path

import pytest

from log_shipper.spark_sink.storage.locations import Location


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_the_file_system_begins_at_the_directory(tmp_path: Path, prefix: str) -> None:
    Location(f"{prefix}{tmp_path}").files().create_dir("a/b")
    assert (tmp_path / "a" / "b").is_dir()


@pytest.mark.parametrize(
    "path", ["s3a://bucket/lines", "gs://bucket/lines", "abfss://c@account.dfs.core.windows.net/x"]
)
def test_a_store_is_no_directory_of_this_machine(path: str) -> None:
    assert Location(path).directory is None


def test_a_location_can_be_sent_to_another_process() -> None:
    location = Location("s3a://bucket/lines", {"aws_region": "eu-central-1"})
    assert pickle.loads(pickle.dumps(location)) == location


def test_there_is_no_table_where_nothing_is(tmp_path: Path) -> None:
    assert Location(str(tmp_path / "missing")).open() is None
    assert Location(str(tmp_path)).open() is None


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("/data/my logs", "file:///data/my logs"),
        ("file:/data/logs", "file:///data/logs"),
        ("file:///data/logs", "file:///data/logs"),
        ("s3://lake/logs", "s3a://lake/logs"),
        ("s3a://lake/s3:logs", "s3a://lake/s3:logs"),
        ("abfss://lake@account.dfs.core.windows.net/logs", "abfss://lake@account.dfs.core.windows.net/logs"),
    ],
)
def test_spark_gets_the_file_system_of_a_path(path: str, uri: str) -> None:
    assert Location(path).in_spark == uri
