"""What is written to the queue on disk is read back as it was, whatever it is."""

import random
import string
from typing import Any

import pytest

from log_shipper.shipper.event import DELETED, Batch, Messages
from log_shipper.shipper.pipeline.disk_queue.content import BatchDecoder, Compression, encoded, expanded
from tests.builders import batch, encoder, messages, nothing, source
from tests.model.seeds import for_each_seed


def again(original: Batch, decoder: BatchDecoder | None = None) -> Batch:
    return (decoder or BatchDecoder()).batch(encoded(original), nothing)


def random_text(dice: random.Random, more: str = "") -> str:
    alphabet = string.printable + "äöü漢字😀\x00\x7f\udc80\udcff" + more
    return "".join(dice.choices(alphabet, k=dice.choice((0, 1, 5, 40, 3000))))


def random_value(dice: random.Random, depth: int = 0) -> Any:
    simple = [None, True, dice.random(), dice.randrange(-(2**63), 2**64), 2**80, random_text(dice), ""]
    if depth == 3 or dice.random() < 0.6:
        return dice.choice(simple)
    items = [random_value(dice, depth + 1) for _ in range(dice.randrange(4))]
    return items if dice.random() < 0.5 else {random_text(dice): item for item in items}


def random_batch(dice: random.Random) -> Batch:
    run = Messages(dice.randrange(2**60), 2**61)
    for index in range(dice.randrange(12)):
        flags = ("multiline", "truncated") if dice.random() < 0.2 else ()
        run.append(random_text(dice, "\ud800"), run.start + index, dice.randrange(1000), flags)
    if dice.random() < 0.7:
        run.docs = [{random_text(dice): random_value(dice) for _ in range(dice.randrange(4))} for _ in run.texts]
        for doc in run.docs:
            if dice.random() < 0.2:
                doc["host"] = DELETED
    origin = source(path="/var/log/\udcffapp.log", static={"fields": {"env": random_value(dice)}})
    return Batch(origin, run, dice.random() * 2e9, nothing, grown=dice.randrange(1000))


@for_each_seed(100)
def test_a_batch_is_read_back_as_it_was(seed: int) -> None:
    original = random_batch(random.Random(seed))
    back = again(original)
    assert back.messages == original.messages
    assert (back.time, back.grown) == (original.time, original.grown)
    assert back.constants.members == original.constants.members
    named = ("file_id", "path", "inode", "device", "input_id", "input_type")
    assert [getattr(back.source, name) for name in named] == [getattr(original.source, name) for name in named]


@pytest.mark.parametrize("value", [b"\xff", {1: 2}, float("nan"), "\ud800", 2**200, (1, 2), {3.5}])
def test_what_json_has_no_form_for_gives_the_same_record(value: Any) -> None:
    original = batch(["one"])
    original.messages.docs = [{"odd": value, "deep": [value]}]
    assert encoder().encode(again(original)) == encoder().encode(original)


def test_a_document_that_is_nested_without_end_gives_the_same_record() -> None:
    nested: Any = "x"
    for _ in range(3000):
        nested = [nested]
    original = batch(["one", "two"])
    original.messages.docs = [{"deep": nested}, {"host": DELETED}]
    assert encoder().encode(again(original)) == encoder().encode(original)


def test_batches_of_one_file_share_what_is_constant_for_it() -> None:
    decoder, origin = BatchDecoder(), source()
    first, second = (again(Batch(origin, messages([text]), 0.0, nothing), decoder) for text in ("one", "two"))
    assert first.source is second.source
    assert first.constants is second.constants
    assert again(batch(["three"], "f2"), decoder).source is not first.source


def test_the_end_of_a_file_is_known_without_its_messages() -> None:
    assert BatchDecoder().file_end(encoded(batch(["one"], "f7", start=100))) == ("f7", 104)


@pytest.mark.parametrize("compress", [True, False])
def test_a_payload_is_compressed_or_not(compress: bool) -> None:
    content = encoded(batch(["the same line"] * 500))
    kind, stored = Compression(compress=compress).compress(content)
    assert expanded(kind, stored) == content
    assert (len(stored) < len(content) / 10) == compress


@pytest.mark.parametrize("kind", [1, 2])
def test_a_payload_of_another_kind_is_refused(kind: int) -> None:
    with pytest.raises(ValueError, match="payload"):
        expanded(kind, b"not compressed")


@pytest.mark.parametrize("data", [b"", b"\x03", b"\x01\0\0\0\0\0\0\0{"])
def test_bytes_that_are_no_batch_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a batch"):
        BatchDecoder().batch(data, nothing)
