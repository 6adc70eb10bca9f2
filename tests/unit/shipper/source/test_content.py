import gzip
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from registry.state import FileState
from shipper.source.content import Plain, Zipped, content_of
from shipper.source.identity import HEAD_SIZE, digest, fingerprint, tail_hash


class OpenFile:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._path.touch()
        self.fd = os.open(path, os.O_RDONLY)

    def write(self, content: bytes) -> None:
        self._path.write_bytes(content)

    def state(self, position: int) -> FileState:
        return FileState("f1", str(self._path), 1, 2, fingerprint(self.fd), tail_hash(self.fd, position), position)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[OpenFile]:
    file = OpenFile(tmp_path / "app.log")
    yield file
    os.close(file.fd)


def test_a_file_that_has_grown_is_the_same(file: OpenFile) -> None:
    file.write(b"one\n")
    state = file.state(4)
    file.write(b"one\ntwo\n")
    assert Plain(file.fd).holds(state)


def test_a_file_shorter_than_the_position_is_another(file: OpenFile) -> None:
    file.write(b"one\ntwo\n")
    state = file.state(8)
    file.write(b"one\ntwo")
    assert not Plain(file.fd).holds(state)


def test_another_head_is_another_life(file: OpenFile) -> None:
    file.write(b"A" + b"x" * 2000)
    state = file.state(2001)
    file.write(b"B" + b"x" * 2000)
    assert not Plain(file.fd).holds(state)


def test_other_bytes_before_the_position_behind_an_equal_head_are_another_life(file: OpenFile) -> None:
    file.write(b"x" * HEAD_SIZE + b"old\n")
    state = file.state(HEAD_SIZE + 4)
    file.write(b"x" * HEAD_SIZE + b"new\n")
    assert not Plain(file.fd).holds(state)


def test_an_entry_that_remembers_nothing_yet_fits_any_file(file: OpenFile) -> None:
    file.write(b"anything")
    assert Plain(file.fd).holds(FileState("f1", "/x", 1, 2))


# Compressed.


@pytest.fixture
def lines() -> bytes:
    return b"".join(b"%05d\n" % number for number in range(500))  # 3000 bytes


@pytest.fixture
def zipped(file: OpenFile, lines: bytes) -> Zipped:
    file.write(gzip.compress(lines))
    return Zipped(file.fd)


def plain(lines: bytes, position: int) -> FileState:
    """The entry of the file that was compressed."""
    head = (min(len(lines), HEAD_SIZE), digest(lines[:HEAD_SIZE]))
    return FileState("f1", "/l/app.log", 1, 2, head, digest(lines[max(position - 256, 0) : position]), position)


def test_the_fingerprint_is_that_of_the_content(zipped: Zipped, lines: bytes) -> None:
    assert zipped.fingerprint() == (HEAD_SIZE, digest(lines[:HEAD_SIZE]))
    assert zipped.fingerprint(10) == (10, digest(lines[:10]))
    assert zipped.tail_hash(100) == ""


@pytest.mark.parametrize("position", [0, 1, 256, 1500, 3000])
def test_a_compressed_copy_agrees_at_every_position(zipped: Zipped, lines: bytes, position: int) -> None:
    state = plain(lines, position)
    assert zipped.holds(state)
    assert zipped.agrees_at_position(state)


def test_at_first_only_the_head_is_looked_at_and_then_the_position(zipped: Zipped, lines: bytes) -> None:
    other = plain(lines[:HEAD_SIZE] + lines[HEAD_SIZE:][::-1], 1500)
    assert zipped.holds(other)
    assert not zipped.agrees_at_position(other)


def test_another_head_is_another_content(zipped: Zipped, lines: bytes) -> None:
    assert not zipped.holds(plain(b"other" + lines, 1500))


def test_a_compressed_file_that_is_shorter_than_the_position_does_not_agree(zipped: Zipped, lines: bytes) -> None:
    assert not zipped.agrees_at_position(plain(lines + b"more\n", 3005))


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
    assert Plain(file.fd).holds(state)
    assert not Plain(file.fd).holds(replace(state, compressed=4))


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
def test_a_file_is_compressed_when_the_option_or_its_first_bytes_say_so(
    file: OpenFile, compression: str, content: bytes, kind: type
) -> None:
    file.write(content)
    assert type(content_of(file.fd, compression)) is kind


@pytest.mark.parametrize("compression", ["none", "auto"])
def test_its_reader_goes_on_at_the_offset_and_stops_at_the_cuts(file: OpenFile, compression: str) -> None:
    file.write(b"one\ntwo\nthree\n" if compression == "none" else gzip.compress(b"one\ntwo\nthree\n"))
    reader = content_of(file.fd, compression).reader(4, (8,))
    assert (reader.next(), reader.offset, reader.take_cut()) == (b"two\n", 8, True)
    assert reader.next() == b"three\n"
