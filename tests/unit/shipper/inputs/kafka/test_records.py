"""Records of Kafka as events: the members are Filebeat's."""

from typing import Any

import pytest

from log_shipper.shipper.event import TRUNCATED, Messages
from log_shipper.shipper.inputs.kafka.partition import Block, file_id
from log_shipper.shipper.inputs.kafka.records import RecordReader, columns, size_beside
from tests.memory_topics import FakeMessage

PLACE = ("logs", 3)


def read(*records: FakeMessage, max_bytes: int = 10**6) -> Messages:
    reader = RecordReader(PLACE, max_bytes)
    reader.load(records[0].position, Block(records, records[-1].position + 1, 0, 0))  # type: ignore[arg-type]  # as one of Kafka's
    messages = reader.next()
    assert messages is not None
    assert reader.next() is None
    return messages


def doc(**fields: Any) -> dict[str, Any]:
    records: Any = [FakeMessage(PLACE, 7, **fields)]
    return columns(records, *PLACE)[2][0]


def test_an_event_has_filebeats_members() -> None:
    assert doc(content=b"text", name=b"k", beside=[("a:b", b"1"), ("c", None)]) == {
        "@timestamp": "2025-11-13T02:13:20.123Z",
        "kafka": {"topic": "logs", "partition": 3, "offset": 7, "key": "k", "headers": ["a_b: 1", "c: "]},
    }


def test_without_key_headers_and_time_the_key_is_empty_and_the_time_that_of_reading() -> None:
    assert doc(time=(0, -1)) == {"kafka": {"topic": "logs", "partition": 3, "offset": 7, "key": "", "headers": []}}


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_763_000_000_001, "2025-11-13T02:13:20.001Z"),
        (2**62, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_producer_may_claim_any_time(milliseconds: int, text: str) -> None:
    assert doc(time=(1, milliseconds))["@timestamp"] == text


def test_a_tombstone_is_an_event_without_a_message() -> None:
    messages = read(FakeMessage(PLACE, 0, None, b"k"))
    assert messages.texts == [""]
    assert messages.docs is not None
    assert messages.docs[0]["kafka"]["key"] == "k"


def test_bytes_that_are_not_utf_8_are_replaced_in_value_key_and_headers() -> None:
    messages = read(FakeMessage(PLACE, 0, b"a\xffb", b"\xfe", [("h", b"\xfd")]))
    assert messages.texts == ["a\ufffdb"]
    assert messages.docs is not None
    assert (messages.docs[0]["kafka"]["key"], messages.docs[0]["kafka"]["headers"]) == ("\ufffd", ["h: \ufffd"])


def test_a_longer_value_is_cut_and_flagged() -> None:
    messages = read(FakeMessage(PLACE, 0, b"short"), FakeMessage(PLACE, 1, b"x" * 50), max_bytes=20)
    assert (messages.texts, messages.flags) == (["short", "x" * 20], {1: (TRUNCATED,)})


def test_keys_and_headers_count_as_memory() -> None:
    record: Any = FakeMessage(PLACE, 0, b"value", b"key", [("name", b"text"), ("n", None)])
    assert size_beside(record) == len("keynametextn")


def test_a_record_is_named_alike_by_all_members_and_otherwise_in_another_topic_partition_or_group() -> None:
    names = [
        file_id("g", "logs", "id-1", 0),
        file_id("g", "logs", "id-2", 0),
        file_id("g", "logs", "id-1", 1),
        file_id("h", "logs", "id-1", 0),
    ]
    assert len(set(names)) == 4
    assert file_id("g", "logs", "id-1", 0) == names[0]
