import pickle
from pathlib import Path

import pytest

from log_shipper.spark_sink.storage.locations import Location

OPTIONS = {
    "aws_access_key_id": "key",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "aws_region": "eu-central-1",
    "aws_endpoint": "http://127.0.0.1:9000",
    "aws_allow_http": "true",
}


@pytest.mark.parametrize(
    ("path", "uri", "has_directories"),
    [
        ("/data/lines", "/data/lines", True),
        ("/data/a:b", "/data/a:b", True),
        ("file:///data/lines", "file:///data/lines", True),
        ("hdfs://name:8020/lines", "hdfs://name:8020/lines", True),
        ("s3a://bucket/lines", "s3://bucket/lines", False),
        ("s3://bucket/lines", "s3://bucket/lines", False),
        ("gs://bucket/lines", "gs://bucket/lines", False),
    ],
)
def test_a_path_of_spark_is_what_the_libraries_take(path: str, uri: str, *, has_directories: bool) -> None:
    location = Location(path)
    assert (location.uri, location.has_directories) == (uri, has_directories)


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_the_file_system_begins_at_the_directory(tmp_path: Path, prefix: str) -> None:
    Location(f"{prefix}{tmp_path}").files().create_dir("a/b")
    assert (tmp_path / "a" / "b").is_dir()


def test_a_bucket_has_the_options_of_both_libraries() -> None:
    location = Location("s3a://bucket/lines/", OPTIONS)
    files = location.files()
    assert (files.base_path, files.base_fs.region) == ("bucket/lines/", "eu-central-1")
    assert location.storage_options["aws_endpoint"] == "http://127.0.0.1:9000"


def test_a_location_can_be_sent_to_another_process() -> None:
    location = Location("s3a://bucket/lines", OPTIONS)
    assert pickle.loads(pickle.dumps(location)) == location


def test_there_is_no_table_where_nothing_is(tmp_path: Path) -> None:
    assert Location(str(tmp_path / "missing")).open() is None
    assert Location(str(tmp_path)).open() is None
