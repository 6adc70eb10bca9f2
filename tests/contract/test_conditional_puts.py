"""A store that would lose commits is recognised."""

from dataclasses import replace

import pytest
from pyarrow import fs

from log_shipper.spark_sink.errors import Refused, SinkError
from log_shipper.spark_sink.options.kafka import KafkaSource
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.options.parts import CheckpointConfig, DeadLetterConfig
from log_shipper.spark_sink.options.tables import TableConfig
from log_shipper.spark_sink.storage.conditional_puts import check_conditional_puts
from log_shipper.spark_sink.storage.locations import Location
from tests.object_store import ObjectStore


def config_of(store: ObjectStore, path: str, dead_letter: str | None = None) -> SinkConfig:
    return SinkConfig(
        kafka=KafkaSource(hosts=("localhost:9092",), topics=("logs",)),
        table=TableConfig(path=path, options=dict(store.options)),
        checkpoint=CheckpointConfig(path="/data/checkpoint"),
        dead_letter=DeadLetterConfig(path=dead_letter),
    )


@pytest.mark.parametrize("path", ["lines", "%{[topic]}/lines"])
def test_a_store_with_conditional_puts_is_accepted_and_left_as_it_was(object_store: ObjectStore, path: str) -> None:
    bucket = object_store.create_bucket()
    check_conditional_puts(config_of(object_store, f"{bucket}/logs/{path}"))
    files = Location(bucket, object_store.options).files()
    assert files.get_file_info(fs.FileSelector("", recursive=True)) == []


def test_a_store_that_ignores_the_condition_is_refused(object_store: ObjectStore) -> None:
    bucket = object_store.create_bucket()
    object_store.fail("unconditional", f"PUT {bucket.removeprefix('s3:/')}", times=1000)
    with pytest.raises(Refused, match=f"the object store of {bucket}/lines ignores conditional puts"):
        check_conditional_puts(config_of(object_store, f"{bucket}/lines"))


def test_each_bucket_is_tried_once(object_store: ObjectStore) -> None:
    one, other = object_store.create_bucket(), object_store.create_bucket()
    object_store.requests()
    check_conditional_puts(config_of(object_store, f"{one}/lines", f"{other}/bad"))
    created = [request for request in object_store.requests() if request.endswith(f"{0:020}.json")]
    assert sorted(request.split("/")[1] for request in created if request.startswith("PUT")) == sorted(
        bucket.removeprefix("s3://") for bucket in (one, other)
    )


def test_a_bucket_that_is_missing_is_named(object_store: ObjectStore) -> None:
    with pytest.raises(SinkError, match=r"^cannot write to s3://missing/lines: Generic S3 error: .*NoSuchBucket.*$"):
        check_conditional_puts(config_of(object_store, "s3://missing/lines"))


def test_a_disk_needs_no_trial(object_store: ObjectStore) -> None:
    object_store.requests()
    check_conditional_puts(config_of(object_store, "/data/lines"))
    assert object_store.requests() == []


def test_an_account_that_may_not_delete_is_no_obstacle(object_store: ObjectStore) -> None:
    object_store.fail("unavailable", r"POST .*\?delete|DELETE", times=1000)
    config = config_of(object_store, f"{object_store.create_bucket()}/lines")
    options = {**config.table.options, "max_retries": "0"}
    check_conditional_puts(replace(config, table=replace(config.table, options=options)))
