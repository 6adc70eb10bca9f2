import gzip
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.registry.state import FileState
from log_shipper.shipper.errors import Disproved, Truncated
from log_shipper.shipper.inputs.files.identity.content import (
    Content,
    Plain,
    PlainFile,
    Zipped,
    content_now,
    content_of,
    part_of,
    tail_at,
    trail_from,
)
from log_shipper.shipper.inputs.files.identity.fingerprint import HEAD_SIZE, digest, fingerprint, tail_hash
from log_shipper.shipper.inputs.files.identity.padding import MAX_READ
from log_shipper.shipper.inputs.files.identity.prefix import BLOCK, Prefix, ProofTrail
from tests.failing_disk import PAGE, FailingDisk
from tests.reading_room import proof_of


class OpenFile:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.path.touch()
        self.fd = os.open(path, os.O_RDONLY)

    def write(self, content: bytes) -> None:
        self.path.write_bytes(content)

    def state(self, position: int) -> FileState:
        return FileState("f1", str(self.path), 1, 2, fingerprint(self.fd), tail_hash(self.fd, position), position)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[OpenFile]:
    file = OpenFile(tmp_path / "app.log")
    yield file
    os.close(file.fd)


def test_a_file_that_has_grown_is_the_same(file: OpenFile) -> None:
    file.write(b"one\n")
    state = file.state(4)
    file.write(b"one\ntwo\n")
    assert Plain(file.fd).matches(state)


def test_a_file_shorter_than_the_position_is_another(file: OpenFile) -> None:
    file.write(b"one\ntwo\n")
    state = file.state(8)
    file.write(b"one\ntwo")
    assert not Plain(file.fd).matches(state)


def test_another_head_is_another_file(file: OpenFile) -> None:
    file.write(b"A" + b"x" * 2000)
    state = file.state(2001)
    file.write(b"B" + b"x" * 2000)
    assert not Plain(file.fd).matches(state)


def test_other_bytes_before_the_position_behind_an_equal_head_are_another_life(file: OpenFile) -> None:
    file.write(b"x" * HEAD_SIZE + b"old\n")
    state = file.state(HEAD_SIZE + 4)
    file.write(b"x" * HEAD_SIZE + b"new\n")
    assert not Plain(file.fd).matches(state)


def test_an_entry_that_remembers_nothing_yet_fits_any_file(file: OpenFile) -> None:
    file.write(b"anything")
    assert Plain(file.fd).matches(FileState("f1", "/x", 1, 2))


def test_more_nuls_than_can_be_scanned_are_content(file: OpenFile) -> None:
    nuls = MAX_READ + 2**20
    file.write(bytes(nuls))
    content = content_of(file.fd, "none")
    assert content.size == nuls
    assert content.fingerprint() == fingerprint(file.fd)
    assert content.reader(0, (), ProofTrail(None)).next().strip(b"\0") == b""
    assert content.reader(nuls - 5, (), ProofTrail(None)).next() == bytes(5)


def test_nuls_at_the_end_are_no_part_of_what_is_remembered_of_a_head(file: OpenFile) -> None:
    file.write(b"one\n" + bytes(5000))
    assert content_of(file.fd, "none").fingerprint() == (4, digest(b"one\n"))


# Compressed.


@pytest.fixture
def lines() -> bytes:
    return b"".join(b"%05d\n" % number for number in range(500))  # 3000 bytes


@pytest.fixture
def zipped(file: OpenFile, lines: bytes) -> Zipped:
    file.write(gzip.compress(lines))
    return Zipped(file.fd)


def plain(lines: bytes, position: int) -> FileState:
    """Return the entry of the file that was compressed."""
    head = (min(len(lines), HEAD_SIZE), digest(lines[:HEAD_SIZE]))
    return FileState("f1", "/l/app.log", 1, 2, head, digest(lines[max(position - 256, 0) : position]), position)


def test_the_fingerprint_is_that_of_the_content(zipped: Zipped, lines: bytes) -> None:
    assert zipped.fingerprint() == (HEAD_SIZE, digest(lines[:HEAD_SIZE]))
    assert zipped.fingerprint(10) == (10, digest(lines[:10]))
    assert zipped.tail_hash(100) == ""


@pytest.mark.parametrize("position", [0, 1, 256, 1500, 3000])
def test_a_compressed_copy_may_be_it_at_every_position(zipped: Zipped, lines: bytes, position: int) -> None:
    assert zipped.matches(plain(lines, position))


def test_of_a_compressed_file_only_the_head_is_compared_before_it_is_proven(zipped: Zipped, lines: bytes) -> None:
    assert zipped.matches(plain(lines[:HEAD_SIZE] + lines[HEAD_SIZE:][::-1], 1500))


def test_another_head_is_another_content(zipped: Zipped, lines: bytes) -> None:
    assert not zipped.matches(plain(b"other" + lines, 1500))


def test_a_compressed_file_that_is_not_complete_yet_has_a_shorter_head(file: OpenFile, lines: bytes) -> None:
    whole = gzip.compress(lines)
    file.write(whole[:11])
    assert Zipped(file.fd).fingerprint()[0] == 0
    file.write(whole[: len(whole) // 2])
    assert 0 < Zipped(file.fd).fingerprint()[0] <= HEAD_SIZE


def test_what_is_damaged_has_the_head_that_can_be_had(file: OpenFile) -> None:
    file.write(b"\x1f\x8b\x08 no gzip at all")
    assert Zipped(file.fd).fingerprint() == (0, digest(b""))


def test_a_plain_file_is_none_of_which_the_end_of_its_compressed_one_was_read(file: OpenFile) -> None:
    file.write(b"one\n")
    state = file.state(4)
    assert Plain(file.fd).matches(state)
    assert not Plain(file.fd).matches(replace(state, compressed=4))


# Which of the two.


@pytest.mark.parametrize(
    ("compression", "content", "kind"),
    [
        ("none", gzip.compress(b"one\n", mtime=0), Plain),
        ("auto", gzip.compress(b"one\n", mtime=0), Zipped),
        ("auto", b"one\n", Plain),
        ("auto", b"", Plain),
        ("auto", b"\x1f\x8b", Plain),
        ("gzip", b"one\n", Zipped),
        ("gzip", b"", Zipped),
    ],
)
def test_a_file_is_compressed_by_the_option_or_by_its_first_bytes(
    file: OpenFile, compression: str, content: bytes, kind: type
) -> None:
    file.write(content)
    assert type(content_of(file.fd, compression)) is kind


@pytest.mark.parametrize(("compression", "is_noticed"), [("auto", True), ("none", False)])
def test_a_file_that_was_empty_proves_to_be_compressed(file: OpenFile, compression: str, *, is_noticed: bool) -> None:
    content, packed = content_of(file.fd, compression), gzip.compress(b"one\n", mtime=0)
    assert content_now(content) is content
    reader = content.reader(0, (), ProofTrail(Prefix()))
    file.write(packed)
    assert content_now(content).compressed is is_noticed
    if is_noticed:
        with pytest.raises(Disproved):
            reader.next()
        assert reader.offset == 0
    else:
        assert packed.startswith(reader.next())


# Reading, and what proves what was read.


def holding(file: OpenFile, content: bytes, compression: str) -> Content:
    file.write(content if compression == "none" else gzip.compress(content))
    return content_of(file.fd, compression)


COMPRESSIONS = pytest.mark.parametrize("compression", ["none", "auto"])


@COMPRESSIONS
def test_its_reader_resumes_at_the_offset_and_stops_at_the_cuts(file: OpenFile, compression: str) -> None:
    reader = holding(file, b"one\ntwo\nthree\n", compression).reader(4, (8,), ProofTrail(None))
    assert (reader.next(), reader.offset, reader.pop_cut()) == (b"two\n", 8, True)
    assert reader.next() == b"three\n"


@COMPRESSIONS
def test_what_is_read_is_added_to_the_trail(file: OpenFile, compression: str) -> None:
    trail = ProofTrail(Prefix())
    reader = holding(file, b"one\ntwo\n", compression).reader(0, (4,), trail)
    reader.next()
    assert (trail.proof_at(4), trail.proof_at(8)) == (proof_of(b"one\n"), "")
    reader.pop_cut()
    while reader.next():
        pass
    assert trail.proof_at(8) == proof_of(b"one\ntwo\n")


def test_nor_is_what_is_there_when_the_file_was_truncated(file: OpenFile) -> None:
    trail = ProofTrail(Prefix())
    file.write(b"one\n")
    reader = PlainFile(file.fd, 0, (), trail)
    reader.next()
    file.write(b"other\n")
    with pytest.raises(Truncated):
        reader.next()
    assert (trail.proof_at(4), trail.proof_at(6)) == (proof_of(b"one\n"), "")


LONG = b"".join(b"%05d\n" % number for number in range(10_000))  # 60 KB


@pytest.mark.parametrize("position", [0, 6, BLOCK, 2 * BLOCK + 6, len(LONG) - 6])
def test_the_trail_of_a_known_file_continues_behind_what_was_shipped(file: OpenFile, position: int) -> None:
    file.write(LONG)
    trail = trail_from(Plain(file.fd), replace(file.state(position), proof=proof_of(LONG[:position])))
    Plain(file.fd).reader(position, (position + 6,), trail).next()
    assert trail.proof_at(position) == proof_of(LONG[:position])
    assert trail.proof_at(position + 6) == proof_of(LONG[: position + 6])


@pytest.mark.parametrize("offset", [2 * BLOCK, 2 * BLOCK + 5, 2 * BLOCK + 99])
def test_it_gives_no_proof_where_the_last_block_is_another_than_was_shipped(file: OpenFile, offset: int) -> None:
    file.write(LONG[:offset] + b"x" + LONG[offset + 1 :])
    state = replace(file.state(2 * BLOCK + 100), proof=proof_of(LONG[: 2 * BLOCK + 100]))
    assert trail_from(Plain(file.fd), state).proof_at(state.position) == ""


def test_nor_of_an_entry_without_a_proof_or_of_a_compressed_file(file: OpenFile) -> None:
    file.write(LONG)
    assert trail_from(Plain(file.fd), file.state(600)).proof_at(600) == ""
    proven = replace(file.state(600), proof=proof_of(LONG[:600]))
    file.write(gzip.compress(LONG))
    assert trail_from(Zipped(file.fd), proven).proof_at(600) == ""


@COMPRESSIONS
def test_of_what_is_read_from_its_start_the_proofs_are_known(file: OpenFile, compression: str) -> None:
    content, trail = holding(file, b"one\n", compression), trail_from(Plain(file.fd), FileState("f1", "/x", 1, 2))
    content.reader(0, (), trail).next()
    assert trail.proof_at(4) == proof_of(b"one\n")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("unfinished", ["", "half a line"])
def test_where_the_last_line_ends_is_known_when_the_file_was_truncated_since(
    file: OpenFile, encoding: str, unfinished: str
) -> None:
    line = "one\n".encode(encoding)
    file.write(line + unfinished.encode(encoding))
    reader = PlainFile(file.fd, 0, unit=1 if encoding == "utf-8" else 2)
    reader.next()
    file.write(b"")
    assert tail_at(Plain(file.fd), reader, len(line)) == digest(line)


def test_bytes_that_cannot_be_read_are_neither_others_nor_missing(file: OpenFile, disk: FailingDisk) -> None:
    file.write(b"x" * (PAGE + 100))
    content, reader = Plain(file.fd), PlainFile(file.fd, PAGE + 100)
    looks: list[Callable[[], object]] = [
        lambda: reader.is_as_read,
        lambda: part_of(content, 0, PAGE + 100),
        lambda: content.size > PAGE,
    ]
    disk.damage(file.path, page=1)
    for look in looks:
        with pytest.raises(OSError, match="Input/output error"):
            look()
    disk.repair()
    assert all(look() for look in looks)
