"""Commits where Delta's Java may overwrite those of others."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from deltalake import DeltaTable

from log_shipper.spark_sink.errors import Refused
from log_shipper.spark_sink.storage.commits import CommitLog
from log_shipper.spark_sink.storage.locations import Location
from tests.unit.spark_sink.storage.commit_lab import Table


class Bucket(Location):
    """A directory that is taken for one on S3, where a program of Spark can overwrite a commit."""

    @property
    def is_s3(self) -> bool:
        return True


@pytest.fixture
def bucket(tmp_path: Path) -> Table:
    table = Table(tmp_path)
    table.land(0, 1)
    opened = table.location.open()
    assert opened is not None
    table.log = CommitLog(Bucket(str(tmp_path)), opened)
    return table


def write_as_spark(table: Table, version: int) -> None:
    info = {"timestamp": 0, "operation": "OPTIMIZE", "engineInfo": "Apache-Spark/4.0.5 Delta-Lake/4.0.1"}
    table.log_file(version).write_text(json.dumps({"commitInfo": info}) + "\n")


def test_on_s3_own_commits_follow_each_other(bucket: Table) -> None:
    for batch in range(1, 5):
        bucket.land(batch, batch + 1)
    bucket.log.count_size()
    bucket.land(5, 6)
    assert bucket.offsets() == [1, 2, 3, 4, 5, 6]
    assert bucket.log.size is not None


def test_a_commit_that_spark_has_overwritten_is_noticed(bucket: Table) -> None:
    bucket.land(1, 2)
    write_as_spark(bucket, 2)
    with pytest.raises(Refused, match=r"the commit 2 of the table .* was overwritten by another program.*--from-kafka"):
        bucket.land(2, 3)


def test_spark_beside_it_is_refused_on_s3_alone(bucket: Table) -> None:
    bucket.land(1, 2)
    bucket.log.refresh()
    write_as_spark(bucket, 3)
    beside = bucket.second_process()
    with pytest.raises(Refused, match=r"Spark \(OPTIMIZE, version 3\) wrote to the table"):
        bucket.land(2, 3)
    assert bucket.land(2, 3, log=beside) == 4


class Overtaken(DeltaTable):
    """Each time that this process has read the log, another one commits."""

    other: Callable[[], object] = str

    def update_incremental(self) -> None:
        super().update_incremental()
        self.other()


def test_a_commit_while_the_log_is_read_is_not_taken_for_an_overwritten_one(bucket: Table) -> None:
    table = Overtaken(bucket.path)
    log = CommitLog(bucket.log.location, table)
    bucket.land(1, 2, log=log)
    table.other = partial(bucket.land, 2, 3, log=bucket.second_process())
    assert log.refresh() == 2
