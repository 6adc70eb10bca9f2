"""The hash of fields by which a partition is chosen."""

from collections.abc import Sequence

import pytest

from log_shipper.shipper.event import Doc
from log_shipper.shipper.outputs.partitioning import FieldHashes, fnv1a
from tests.processing import batch_of


def hashes(fields: Sequence[str], *docs: Doc) -> list[int | None]:
    return FieldHashes(fields)(batch_of(docs, {"fields": {"team": "foo", "other": "bar"}}))


@pytest.mark.parametrize(
    ("text", "published"),
    [("", 0x811C9DC5), ("a", 0xE40C292C), ("foobar", 0xBF9CF968), ("chongo was here!\n", 0xD49930D5)],
)
def test_it_is_fnv_1a_without_the_sign_bit(text: str, published: int) -> None:
    assert fnv1a(text.encode()) == published & 0x7FFFFFFF


def test_the_values_of_several_fields_are_one_text() -> None:
    assert hashes(["fields.team", "fields.other"], {"message": "x"}) == [fnv1a(b"foobar")]
    assert hashes(["fields.team", "user"], {"message": "x", "user": "bar"}, {"message": "y", "user": "u"}) == [
        fnv1a(b"foobar"),
        fnv1a(b"foou"),
    ]


def test_a_number_and_a_truth_value_are_hashed_as_their_bytes() -> None:
    docs = [{"message": "x", "v": value} for value in (258, -1, True, False)]
    assert hashes(["v"], *docs) == [fnv1a(b"\x02\x01" + bytes(6)), fnv1a(b"\xff" * 8), fnv1a(b"\x01"), fnv1a(b"\x00")]


def test_an_event_that_lacks_a_field_has_no_hash() -> None:
    docs: list[Doc] = [
        {"message": "x", "v": "a"},
        {"message": "x"},
        {"message": "x", "v": {"w": 1}},
        {"message": "x", "v": [1]},
    ]
    assert hashes(["v"], *docs) == [fnv1a(b"a"), None, None, None]
    refused = FieldHashes(["v"]).refused(batch_of(docs))
    assert list(refused) == [1, 2, 3]
    assert "partition.hash.hash" in refused[1]
