from demo.compare import Arrived
from demo.topic import PartitionMessages, parse

RECORD = {
    "message": "one\ntwo",
    "log": {"offset": 5, "length": 8, "file": {"path": "/a", "inode": "811", "device_id": "2049", "id": "x"}},
}


def test_a_record_is_known_by_device_and_inode() -> None:
    assert parse(RECORD) == Arrived((2049, 811), 5, 8, "one\ntwo")


def test_a_partition_knows_how_many_lines_lie_before_each_offset() -> None:
    partition = PartitionMessages()
    for text in ("one", "two\n\nthree", "four"):
        partition.add(Arrived((1, 1), 0, 0, text))
    assert partition.lines_upto == [0, 1, 3, 4]
