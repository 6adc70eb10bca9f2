"""What a start does where a planned batch names a topic that Kafka does not have any more."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.spark_sink.errors import Refused
from log_shipper.spark_sink.kafka.offset_ranges import OffsetRange
from log_shipper.spark_sink.kafka.offsets import Offsets
from log_shipper.spark_sink.landing import deleted_topics
from log_shipper.spark_sink.landing.deleted_topics import DeletedTopics
from log_shipper.spark_sink.options.model import SinkConfig
from log_shipper.spark_sink.storage.checkpoint import Checkpoint

COMMITTED, PLANNED = {"stays": {"0": 3}, "other": {"0": 3}}, {"stays": {"0": 6}, "other": {"0": 5, "1": 2}}
LOST = (OffsetRange("other", 0, 3, 5), OffsetRange("other", 1, 0, 2))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    """Batch 0 was completed, batch 1 is planned."""
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
    (tmp_path / "commits" / "0").write_text("v1\n{}")
    for batch, ends in enumerate((COMMITTED, PLANNED)):
        (tmp_path / "offsets" / str(batch)).write_text(f"v1\n{{}}\n{json.dumps(ends)}")
    return Checkpoint(str(tmp_path))


def never() -> Offsets:
    raise AssertionError("asked although no topic is missing")


def test_what_was_planned_of_a_topic_and_has_not_landed_is_found(checkpoint: Checkpoint) -> None:
    deleted = deleted_topics.find(checkpoint, lambda: {"stays"}, lambda: {("stays", 0): 3, ("other", 0): 3})
    assert deleted == DeletedTopics(LOST)
    assert deleted.names == {"other"}
    assert deleted.ends == {("other", 0): 5, ("other", 1): 2}


def test_a_batch_whose_marks_are_written_has_landed(checkpoint: Checkpoint) -> None:
    landed = {("stays", 0): 6, ("other", 0): 5, ("other", 1): 2}
    assert deleted_topics.find(checkpoint, lambda: {"stays"}, lambda: landed) == DeletedTopics()


def test_where_every_topic_exists_the_marks_are_not_read(checkpoint: Checkpoint) -> None:
    assert deleted_topics.find(checkpoint, lambda: {"stays", "other", "third"}, never) == DeletedTopics()


def test_a_new_checkpoint_has_planned_nothing(tmp_path: Path) -> None:
    assert deleted_topics.find(Checkpoint(str(tmp_path / "new")), set, never) == DeletedTopics()


def test_it_is_refused_with_topic_partition_offsets_and_what_to_do(config: SinkConfig) -> None:
    with pytest.raises(Refused) as refused:
        deleted_topics.check(DeletedTopics(LOST), config, print)
    message = str(refused.value)
    assert message.startswith(
        "topic other, partition 0, offsets 3 to 4; topic other, partition 1, offsets 0 to 1: planned"
    )
    assert "set lost_offsets: continue" in message


def test_what_may_be_lost_is_logged_in_short(config: SinkConfig) -> None:
    logged: list[str] = []
    continues = replace(config, lost_offsets="continue")
    deleted_topics.check(DeletedTopics(), config, logged.append)
    deleted_topics.check(
        DeletedTopics(tuple(OffsetRange("other", number, 0, 1) for number in range(9))), continues, logged.append
    )
    (line,) = logged
    assert "topic other, partition 4, offsets 0 to 0 and 4 more: planned" in line
    assert "partition 5" not in line
