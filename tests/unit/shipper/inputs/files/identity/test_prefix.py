import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from log_shipper.shipper.inputs.files.identity.prefix import BLOCK, DIGEST, KEPT, Prefix, ProofTrail
from tests.failing_disk import PAGE, FailingDisk
from tests.reading_room import proof_of

CONTENT = b"".join(b"line %d\n" % number for number in range(10_000))[: 5 * BLOCK + 100]
BORDERS = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK - 1, 2 * BLOCK, 3 * BLOCK + 17, 5 * BLOCK, len(CONTENT)]


def pieces(content: bytes, size: int) -> Iterator[bytes]:
    return (content[start : start + size] for start in range(0, len(content), size))


def fed(chunks: Iterable[bytes]) -> Prefix:
    prefix = Prefix()
    for chunk in chunks:
        prefix.feed(chunk)
    return prefix


# A hash that can be continued.


@pytest.mark.parametrize("size", [7, 1000, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3])
def test_the_proof_does_not_depend_on_how_the_content_is_fed(size: int) -> None:
    prefix = fed(pieces(CONTENT, size))
    assert (prefix.length, prefix.proof) == (len(CONTENT), proof_of(CONTENT))


def test_nothing_changes_it_when_nothing_is_fed() -> None:
    prefix = fed([b"", CONTENT[:BLOCK], b"", CONTENT[BLOCK:], b""])
    assert (prefix.length, prefix.proof) == (len(CONTENT), proof_of(CONTENT))


@pytest.mark.parametrize("position", [0, BLOCK - 1, BLOCK, 3 * BLOCK, len(CONTENT) - 1])
def test_one_other_byte_anywhere_gives_another_proof(position: int) -> None:
    other = CONTENT[:position] + bytes([CONTENT[position] ^ 1]) + CONTENT[position + 1 :]
    assert proof_of(other) != proof_of(CONTENT)


def test_so_does_one_byte_more_or_less() -> None:
    assert len({proof_of(CONTENT[:end]) for end in BORDERS}) == len(BORDERS)


def test_equal_blocks_in_another_order_give_another_proof() -> None:
    first, second, third = b"1" * BLOCK, b"2" * BLOCK, b"3"
    assert proof_of(first + second + third) != proof_of(second + first + third)


def test_a_proof_is_as_long_for_a_large_file_as_for_one_of_two_blocks() -> None:
    assert len(proof_of(CONTENT)) == len(proof_of(CONTENT[: BLOCK + 1])) == 2 * DIGEST
    assert len(proof_of(CONTENT[: BLOCK - 1])) == DIGEST


@pytest.mark.parametrize("position", BORDERS)
def test_it_is_continued_from_the_start_of_the_last_block(position: int) -> None:
    continued = Prefix.continued(proof_of(CONTENT[:position]), position)
    assert continued.length == position // BLOCK * BLOCK
    continued.feed(CONTENT[continued.length : position])
    assert (continued.length, continued.proof) == (position, proof_of(CONTENT[:position]))
    continued.feed(CONTENT[position:])
    assert continued.proof == proof_of(CONTENT)


def test_what_lies_before_the_last_block_still_counts_when_it_is_continued() -> None:
    continued = Prefix.continued(proof_of(b"x" + CONTENT[1 : BLOCK + 50]), BLOCK + 50)
    continued.feed(CONTENT[BLOCK:])
    assert continued.proof != proof_of(CONTENT)


def test_what_is_no_proof_cannot_be_continued() -> None:
    with pytest.raises(ValueError, match="non-hexadecimal"):
        Prefix.continued("no proof at all" + proof_of(CONTENT), len(CONTENT))


# Proofs of what was read.


def trail_of(chunks: Iterable[bytes]) -> ProofTrail:
    trail = ProofTrail(Prefix())
    for chunk in chunks:
        trail.add(chunk)
    return trail


@pytest.mark.parametrize("size", [1000, BLOCK, 2 * BLOCK + 3, len(CONTENT)])
def test_there_is_a_proof_at_every_place_that_is_asked_for_in_order_whatever_the_chunks(size: int) -> None:
    trail = trail_of(pieces(CONTENT, size))
    assert [trail.proof_at(position) for position in BORDERS] == [proof_of(CONTENT[:position]) for position in BORDERS]
    assert trail.proof_at(len(CONTENT)) == proof_of(CONTENT)  # a second time


def test_also_when_one_asks_while_it_is_read() -> None:
    trail = ProofTrail(Prefix())
    for start in range(0, len(CONTENT), 1000):
        trail.add(CONTENT[start : start + 1000])
        line_end = CONTENT.rfind(b"\n", 0, start + 1000) + 1
        assert trail.proof_at(line_end) == proof_of(CONTENT[:line_end])


def test_there_is_none_of_what_was_not_read_yet_and_what_was_read_stays() -> None:
    trail = trail_of([b"one\n"])
    assert trail.proof_at(5) == ""
    assert trail.proof_at(4) == proof_of(b"one\n")


def test_there_is_none_before_the_place_that_was_asked_for_last() -> None:
    trail = trail_of([b"one\ntwo\n"])
    trail.proof_at(8)
    assert trail.proof_at(4) == ""
    assert trail.proof_at(8) == proof_of(b"one\ntwo\n")


def test_a_message_that_is_longer_than_what_is_kept_leaves_places_within_it_without_a_proof() -> None:
    chunk, count = CONTENT[:BLOCK], KEPT // BLOCK + 2
    trail = trail_of([chunk] * count)
    assert trail.proof_at(BLOCK) == ""
    for blocks in (2, count):
        assert trail.proof_at(blocks * BLOCK) == proof_of(chunk * blocks)


def test_what_one_read_gives_is_kept_as_a_whole() -> None:
    trail = trail_of([b"one\n", b"x" * KEPT])
    assert trail.proof_at(5) == proof_of(b"one\nx")


def test_a_read_that_gave_nothing_is_no_obstacle() -> None:
    """A .gz that grows gives nothing at its end for now; what follows may be as much as is kept."""
    trail = trail_of([b"one\n", b"", b"x" * KEPT, b"", b"y" * KEPT])
    assert trail.proof_at(4 + 2 * KEPT) == proof_of(b"one\n" + b"x" * KEPT + b"y" * KEPT)


def test_it_continues_behind_what_was_shipped_before() -> None:
    before = Prefix()
    before.feed(b"one\n")
    trail = ProofTrail(before)
    trail.add(b"two\n")
    assert trail.proof_at(4) == proof_of(b"one\n")
    assert trail.proof_at(8) == proof_of(b"one\ntwo\n")


def test_where_the_bytes_before_are_unknown_there_are_no_proofs() -> None:
    trail = ProofTrail(None)
    trail.add(b"one\n")
    assert [trail.proof_at(position) for position in (0, 4)] == ["", ""]
    trail.go_back(0)
    assert trail.proof_at(0) == ""


# Read again.


def test_what_lies_behind_the_place_to_which_one_goes_back_is_read_again() -> None:
    trail = trail_of([b"one\n", b"two\nthree\n"])
    trail.go_back(6)
    trail.add(b"o\nother\n")
    assert trail.proof_at(14) == proof_of(b"one\ntwo\nother\n")


def test_one_may_go_back_to_the_end_of_what_was_read_and_to_its_start() -> None:
    trail = trail_of([b"one\n"])
    trail.go_back(4)
    trail.add(b"two\n")
    assert trail.proof_at(8) == proof_of(b"one\ntwo\n")
    trail = trail_of([b"one\n"])
    trail.go_back(0)
    trail.add(b"two\n")
    assert trail.proof_at(4) == proof_of(b"two\n")


def test_behind_a_place_that_is_not_known_any_more_there_are_no_proofs() -> None:
    trail = trail_of([b"one\ntwo\n"])
    trail.proof_at(8)
    trail.go_back(4)
    trail.add(b"two\n")
    assert trail.proof_at(8) == ""


# Compared with the file.


@pytest.mark.parametrize("page", [17, 20])
def test_bytes_that_cannot_be_read_are_no_other_bytes(tmp_path: Path, disk: FailingDisk, page: int) -> None:
    path, length = tmp_path / "app.log", 4 * BLOCK + 2 * PAGE
    path.write_bytes(CONTENT)
    fd = os.open(path, os.O_RDONLY)
    trail = trail_of([CONTENT])
    trail.proof_at(length)
    disk.damage(path, page)
    looks: list[Callable[[], bool]] = [lambda: trail.ends_alike(fd)]
    if page * PAGE < length:
        looks.append(lambda: Prefix.resume(fd, proof_of(CONTENT[:length]), length) is not None)
    for look in looks:
        with pytest.raises(OSError, match="Input/output error"):
            look()
    disk.repair()
    assert all(look() for look in looks)
    os.close(fd)
