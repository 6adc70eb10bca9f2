import gzip
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.state import FileState
from shipper.source.comparison import Comparison
from shipper.source.content import COMPARED_AT_ONCE, NotYet, Zipped
from shipper.source.identity import digest

LINES = b"one\ntwo\n" * 1000
FOREVER = 10.0  # seconds; a test that waits so long has failed


@pytest.fixture
def packed(tmp_path: Path) -> Iterator[int]:
    path = tmp_path / "app.log.1.gz"
    path.write_bytes(gzip.compress(LINES))
    fd = os.open(path, os.O_RDWR)
    yield fd
    os.close(fd)


def result_of(comparison: Comparison) -> bool:
    deadline = time.monotonic() + FOREVER
    while (result := comparison.result) is None:
        assert time.monotonic() < deadline
    return result


@pytest.mark.parametrize(
    ("position", "before", "expected"),
    [
        (4000, LINES[3744:4000], True),
        (8, LINES[:8], True),
        (4000, LINES[3743:3999], False),
        (len(LINES) + 8, LINES[-256:], False),
    ],
)
def test_the_bytes_before_a_position_are_compared_aside(
    packed: int, position: int, before: bytes, expected: bool
) -> None:
    assert result_of(Comparison(packed, position, digest(before))) is expected


def test_it_has_a_descriptor_of_its_own(packed: int) -> None:
    comparison = Comparison(packed, 4000, digest(LINES[3744:4000]))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, packed)
    os.close(nothing)
    assert result_of(comparison)


def entry(position: int, before: bytes) -> FileState:
    return FileState("f1", "/x", 1, 2, position=position, tail_hash=digest(before))


def test_a_small_file_is_compared_at_once(packed: int) -> None:
    assert Zipped(packed, aside=True).agrees_at_position(entry(4000, LINES[3744:4000]))


def test_a_big_file_is_compared_aside_and_asked_again(packed: int) -> None:
    os.truncate(packed, COMPARED_AT_ONCE + 1)  # padding
    content, known = Zipped(packed, aside=True), entry(4000, LINES[3744:4000])
    with pytest.raises(NotYet) as asked:
        content.agrees_at_position(known)
    assert asked.value.state is known
    deadline = time.monotonic() + FOREVER
    while True:
        assert time.monotonic() < deadline
        try:
            assert content.agrees_at_position(known)
            break
        except NotYet:
            continue


def test_a_replay_waits_for_it(packed: int) -> None:
    os.truncate(packed, COMPARED_AT_ONCE + 1)
    assert not Zipped(packed).agrees_at_position(entry(4000, LINES[3743:3999]))
