"""The key of each event."""

from typing import Any

from log_shipper.shipper.event import Batch, Doc
from log_shipper.shipper.outputs.partitioning import Keys
from log_shipper.shipper.processor.events import Events
from log_shipper.shipper.processor.formatting import Formatter
from tests.builders import source
from tests.processing import batch_of

STATIC = {"fields": {"team": "web"}}


def keys(key: str, *docs: Doc) -> list[str]:
    return list(Keys(key)(batch_of(list(docs), STATIC)))


def test_a_key_is_the_text_of_its_format_string() -> None:
    assert keys("%{[fields.team]}-%{[user]}", {"message": "a", "user": "u1"}, {"message": "b", "user": 7}) == [
        "web-u1",
        "web-7",
    ]


def test_an_event_without_a_text_has_the_file_id_as_its_key() -> None:
    file_id = source().file_id
    assert keys("%{[user]}", {"message": "a", "user": "u1"}, {"message": "b"}, {"message": "c", "user": None}) == [
        "u1",
        file_id,
        file_id,
    ]
    assert keys("%{[fields.none]}", {"message": "a"}, {"message": "b"}) == [file_id, file_id]


def test_an_object_is_compact_json_in_a_key() -> None:
    assert keys("%{[fields]}", {"message": "a"}) == ['{"team":"web"}']
    assert keys("%{[user]:none}", {"message": "a", "user": [1, "\ud800", None]}) == ['[1,"?",null]']


def test_a_key_of_the_message_is_the_text_of_the_event() -> None:
    assert keys("%{[message]}", {"message": "a"}, {"message": "b"}) == ["a", "b"]
    assert keys("%{[message]}", {"message": "a"}, {"message": 5}) == ["a", "5"]


def test_a_key_is_written_in_utf_8_whatever_the_event_contains() -> None:
    assert keys("%{[user]}", {"message": "a", "user": "caf\u00e9"}, {"message": "b", "user": "x\ud800"}) == [
        "caf\u00e9",
        "x?",
    ]


def test_what_all_events_share_is_evaluated_once_for_the_batch() -> None:
    class Counting(Formatter):
        calls = 0

        def text(self, events: Events, index: int) -> str:
            Counting.calls += 1
            return super().text(events, index)

    batch: Batch = batch_of([{"message": "a", "own": 1}] * 100, STATIC)
    texts, reasons = Counting("%{[fields.team]}-%{[log.file.path]}").texts(batch)
    assert (set(texts), len(texts), reasons, Counting.calls) == ({f"web-{batch.source.path}"}, 100, {}, 1)


def test_a_batch_without_events_has_no_keys() -> None:
    empty: Any = batch_of([], STATIC)
    assert list(Keys("%{[fields.none]}")(empty)) == []
