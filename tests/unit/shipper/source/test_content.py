import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from registry.state import FileState
from shipper.source.content import Plain
from shipper.source.identity import HEAD_SIZE, fingerprint, tail_hash


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
