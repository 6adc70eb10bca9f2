import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from log_shipper.shipper.inputs.files.identity.padding import SETTLED, Padding, _next_data, content_size, end_of_content
from log_shipper.shipper.reader.log_file import READ_SIZE
from tests.fakes import ManualClock


class OnDisk:
    """A file of which blocks are read as LogFile reads them."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w+b", buffering=0)
        self.fd = self._file.fileno()

    def write(self, content: bytes, offset: int = 0) -> None:
        os.pwrite(self.fd, content, offset)

    def block(self, offset: int = 0) -> bytes:
        return os.pread(self.fd, READ_SIZE, offset)

    def close(self) -> None:
        self._file.close()


@pytest.fixture
def file(tmp_path: Path) -> Iterator[OnDisk]:
    file = OnDisk(tmp_path / "app.log")
    yield file
    file.close()


def content(padding: Padding, file: OnDisk, offset: int = 0) -> bytes:
    """Of the block that is read there now."""
    block = file.block(offset)
    return block[: padding.content(file.fd, block, offset)]


@pytest.mark.parametrize(
    ("data", "start", "unit", "end"),
    [
        (b"one\n", 0, 1, 4),
        (b"one\n\0\0\0", 0, 1, 4),
        (b"\0\0\0", 5, 1, 0),
        (b"one\n" + bytes(200_000), 0, 1, 4),
        (b"a\0\n\0", 0, 2, 4),
        (b"a\0\n\0\0\0\0", 0, 2, 4),
        (b"\0a\0\n\0\0", 0, 2, 4),
        (b"\0\n\0\0\0", 1, 2, 3),  # the first byte is the second of a character
        (b"", 0, 1, 0),
    ],
)
def test_the_nuls_at_the_end_of_a_block_are_distinguished_from_half_a_character(
    data: bytes, start: int, unit: int, end: int
) -> None:
    assert end_of_content(data, start, unit) == end


def test_what_lies_before_the_nuls_at_the_end_is_content(file: OnDisk) -> None:
    file.write(b"one\ntw")
    os.truncate(file.fd, 1000)
    padding = Padding(1)
    assert content(padding, file) == b"one\ntw"
    assert content(padding, file, 6) == b""
    assert (padding.end, padding.busy) == (1000, False)


def test_a_file_that_has_no_nuls_has_no_padding(file: OnDisk) -> None:
    file.write(b"one\n")
    padding = Padding(1)
    assert content(padding, file) == b"one\n"
    assert content(padding, file, 4) == b""
    assert padding.end == 0


def test_half_of_a_line_that_is_stored_behind_nuls_waits_for_the_other_half(file: OnDisk) -> None:
    clock = ManualClock()
    padding = Padding(1, clock.monotonic)
    file.write(b"one\n\0\0\0end\n")
    os.truncate(file.fd, 1000)
    assert content(padding, file) == b"one\n"
    assert padding.busy
    assert content(padding, file, 4) == b""
    assert padding.busy
    file.write(b"the", offset=4)
    assert content(padding, file, 4) == b"theend\n"


def test_nuls_that_stay_with_content_behind_them_are_content(file: OnDisk) -> None:
    clock = ManualClock()
    padding = Padding(1, clock.monotonic)
    file.write(b"end\n", offset=100)
    os.truncate(file.fd, 1000)
    assert content(padding, file) == b""
    clock.advance(2 * SETTLED)
    assert content(padding, file) == bytes(100) + b"end\n"


def test_a_hole_that_is_longer_than_a_read_is_content_if_something_lies_behind_it(file: OnDisk) -> None:
    clock = ManualClock()
    padding = Padding(1, clock.monotonic)
    file.write(b"end\n", offset=3 * READ_SIZE)
    assert content(padding, file) == b""
    clock.advance(2 * SETTLED)
    read = b"".join(content(padding, file, offset) for offset in range(0, 4 * READ_SIZE, READ_SIZE))
    assert read == bytes(3 * READ_SIZE) + b"end\n"


def test_nuls_that_are_on_disk_are_scanned_one_read_at_a_time(file: OnDisk) -> None:
    clock = ManualClock()
    padding = Padding(1, clock.monotonic)
    file.write(bytes(3 * READ_SIZE) + b"end\n")
    looks = 0
    while not content(padding, file):
        assert padding.busy
        clock.advance(SETTLED / 3)
        looks += 1
    assert looks == 2 + 4  # two more reads until the content is found, and four looks until it counts


def test_a_look_that_was_made_a_moment_ago_is_not_made_again(file: OnDisk) -> None:
    clock = ManualClock()
    padding = Padding(1, clock.monotonic)
    file.write(bytes(3 * READ_SIZE))
    while content(padding, file) or padding.busy:
        pass
    assert padding.end == 3 * READ_SIZE
    file.write(b"late\n", offset=2 * READ_SIZE)  # by a writer that fills the end first
    assert (content(padding, file), padding.busy) == (b"", False)
    clock.advance(6)
    while padding.content(file.fd, file.block(), 0) == 0:
        clock.advance(2 * SETTLED)
    assert content(padding, file) == file.block()


def test_where_nuls_end_lines_they_are_content(file: OnDisk) -> None:
    file.write(b"one\0\0")
    assert content(Padding(0), file) == b"one\0\0"


def test_a_file_that_shrinks_to_its_content_has_no_padding_any_more(file: OnDisk) -> None:
    file.write(b"one\n")
    os.truncate(file.fd, 10 * READ_SIZE)
    padding = Padding(1)
    content(padding, file, 4)
    assert padding.end == 10 * READ_SIZE
    os.truncate(file.fd, 4)
    assert (content(padding, file, 4), padding.end) == (b"", 0)


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, READ_SIZE, 5 * READ_SIZE + 7])
@pytest.mark.parametrize("nuls", [0, 1, 4096, READ_SIZE + 1, 20 * READ_SIZE])
def test_the_size_of_the_content_is_found_from_the_end(file: OnDisk, size: int, nuls: int) -> None:
    file.write(b"x" * size)
    os.truncate(file.fd, size + nuls)
    assert content_size(file.fd, 1) == size


def test_a_hole_of_any_size_is_jumped_over(file: OnDisk) -> None:
    file.write(b"one\n")
    os.truncate(file.fd, 2**42)
    assert content_size(file.fd, 1) == 4


def test_too_many_nuls_on_disk_are_content(file: OnDisk) -> None:
    file.write(b"one\n" + bytes(4 * READ_SIZE))
    assert content_size(file.fd, 1, most=2 * READ_SIZE) is None


def test_where_the_system_cannot_look_for_holes_all_is_data() -> None:
    """As for a pipe, on some FUSE and SMB file systems, each with an error of its own."""
    reading, writing = os.pipe()
    try:
        assert _next_data(reading, 5) == 5
    finally:
        os.close(reading)
        os.close(writing)
