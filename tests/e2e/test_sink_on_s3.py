"""The sink's process with its tables in a bucket, and nothing of Hadoop's for it: the checkpoint is on the disk."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from demo.broker import Broker
from tests.e2e.sinking import SinkLab, spark_sink, status
from tests.object_store import ObjectStore

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.slow("starts of Spark; contract/test_landing_on_s3.py has the batches without it"),
]


class BucketLab(SinkLab):
    def __init__(self, directory: Path, broker: Broker, topic: str, seed: int, store: ObjectStore) -> None:
        super().__init__(directory, broker, topic, seed)
        self._options = dict(store.options)
        self._bucket = store.create_bucket()
        file = directory / "sink.yml"
        options = "".join(f"table.options.{name}: '{value}'\n" for name, value in self._options.items())
        file.write_text(file.read_text().replace(f"{self.lines}\n", f"{self._bucket}/lines\n{options}"))

    def _rows(self, path: Path, *columns: str) -> list[dict[str, Any]]:
        place = f"{self._bucket}/{path.name}"
        if not DeltaTable.is_deltatable(place, self._options):
            return []
        table = DeltaTable(place, storage_options=self._options)
        rows: list[dict[str, Any]] = table.to_pyarrow_table(columns=list(columns)).to_pylist()
        return rows


@pytest.fixture
def lab(
    tmp_path: Path, kafka_broker: Broker, topic_name: str, seed: int, object_store: ObjectStore
) -> Iterator[BucketLab]:
    lab = BucketLab(tmp_path, kafka_broker, topic_name, seed, object_store)
    lab.make_topic()
    yield lab
    lab.kill()


def test_each_record_lands_once_though_the_job_is_killed_and_all_commands_find_the_bucket(lab: BucketLab) -> None:
    lab.send_lines(3000)
    lab.send_bad(b"no JSON")
    lab.start()
    lab.await_batch_after(1)
    lab.kill()
    lab.land()
    assert [table["there"] for table in status(lab)["tables"]] == [True, True, True]
    for command in (("maintain",), ("search", "line 17", "--limit", "1"), ("repair", "--from-kafka")):
        ended = spark_sink(lab, *command)
        assert ended.returncode == 0, ended.stdout + ended.stderr
    lab.send_lines(100)
    lab.land()
