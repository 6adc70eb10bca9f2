"""decompress_gzip_field: what it decompresses, within bounds."""

import gzip
import random
import time
import tracemalloc

import pytest

from tests.processing import batch_of, chain_of

NOT_TEXT = b"\xff\x00\x80"


def unpacked(data: str | bytes, options: str = "") -> tuple[str | bytes, str]:
    batch = batch_of([{"message": "x", "a": data}])
    chain_of(f"- decompress_gzip_field: {{field: {{from: a}}{options}}}")(batch)
    assert batch.messages.docs is not None
    doc = batch.messages.docs[0]
    return doc["a"], doc.get("error", {}).get("message", "")


@pytest.mark.parametrize(
    ("data", "result"),
    [
        (gzip.compress(b"one", mtime=0), "one"),
        (gzip.compress(b"one ", mtime=0) + gzip.compress(b"two", mtime=0), "one two"),
        (gzip.compress(b"", mtime=0), ""),
        (gzip.compress(NOT_TEXT, mtime=0), NOT_TEXT),
        (gzip.compress(b"x" * 100, mtime=0), "x" * 100),
    ],
)
def test_gzip_is_decompressed(data: bytes, result: str | bytes) -> None:
    assert unpacked(data, ", max_bytes: 100") == (result, "")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"no gzip", "it is not gzip"),
        ("text", "it is not gzip"),
        (b"", "it is truncated"),
        (gzip.compress(b"one", mtime=0)[:-1], "it is truncated"),
        (gzip.compress(b"one", mtime=0) + b"rest", "it is not gzip"),
        (gzip.compress(b"x" * 101, mtime=0), "more than 100 bytes"),
        (gzip.compress(b"x" * 60, mtime=0) * 2, "more than 100 bytes"),
        (gzip.compress(b"", mtime=0) * 50 + gzip.compress(b"x" * 101, mtime=0), "more than 100 bytes"),
    ],
)
def test_what_cannot_be_decompressed_stays_and_is_marked(data: str | bytes, words: str) -> None:
    left, message = unpacked(data, ", max_bytes: 100")
    assert left == data
    assert words in message


def test_a_gzip_bomb_costs_neither_memory_nor_time() -> None:
    bomb = gzip.compress(bytes(200_000_000), 1)
    tracemalloc.start()
    begun = time.process_time()
    left, message = unpacked(bomb, ", max_bytes: 1MiB")
    spent = time.process_time() - begun
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "more than 1048576 bytes" in message
    assert left == bomb
    assert peak < 4 * len(bomb) + 10_000_000
    assert spent < 2


def test_many_members_take_linear_time() -> None:
    member = gzip.compress(b"x", mtime=0)
    begun = time.process_time()
    assert unpacked(member * 100_000) == ("x" * 100_000, "")
    assert time.process_time() - begun < 4


def test_more_members_than_anybody_needs_are_an_error() -> None:
    left, message = unpacked(gzip.compress(b"", mtime=0) * 100_001)
    assert isinstance(left, bytes)
    assert message == "field a cannot be decoded: it has more than 100000 members"


@pytest.mark.parametrize("size", [16_383, 16_384, 16_385, 100_000])
def test_what_is_packed_may_end_anywhere(size: int) -> None:
    """It is fed to the decompression in parts."""
    noise = random.Random(size).randbytes(size)
    packed = gzip.compress(noise, 0)
    one, two = packed[: size // 2], packed[size // 2 :]
    assert unpacked(packed + gzip.compress(b"end")) == (noise + b"end", "")
    assert unpacked(gzip.compress(one, 0) + gzip.compress(two, 0)) == (packed, "")
