import os
import pty
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from log_shipper.shipper.event import Messages
from log_shipper.shipper.reader.line import LineReader
from log_shipper.shipper.reader.stream import READ_SIZE, Stream

LONG = 60.0  # seconds; what takes so long has failed


class Pipe:
    def __init__(self) -> None:
        self.fd, self._writer = os.pipe()
        self.stream = Stream(self.fd)

    def write(self, data: bytes) -> None:
        os.write(self._writer, data)

    def end(self) -> None:
        if self._writer >= 0:
            os.close(self._writer)
            self._writer = -1

    def close(self) -> None:
        self.end()
        os.close(self.fd)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    pipe.close()


def read_all(stream: Stream) -> bytes:
    """Return all bytes to the end of the stream, which must come soon."""
    content = b""
    deadline = time.monotonic() + LONG
    while not stream.complete:
        content += stream.next()
        stream.pop_cut()
        assert time.monotonic() < deadline
    return content


def test_what_is_in_the_pipe_is_read_and_counted(pipe: Pipe) -> None:
    pipe.write(b"one\ntw")
    assert (pipe.stream.next(), pipe.stream.offset) == (b"one\ntw", 6)
    pipe.write(b"o\n")
    assert (pipe.stream.next(), pipe.stream.offset) == (b"o\n", 8)


def test_an_empty_pipe_is_not_waited_for_and_is_not_the_end(pipe: Pipe) -> None:
    began = time.monotonic()
    assert pipe.stream.next() == b""
    assert not pipe.stream.pop_cut()
    assert not pipe.stream.complete
    assert time.monotonic() - began < LONG / 2


def test_the_end_is_a_cut_that_is_reported_once(pipe: Pipe) -> None:
    pipe.write(b"last")
    pipe.end()
    assert pipe.stream.next() == b"last"
    assert not pipe.stream.pop_cut()
    assert pipe.stream.next() == b""
    assert not pipe.stream.complete, "the cut was not taken yet"
    assert pipe.stream.pop_cut()
    assert not pipe.stream.pop_cut()
    assert pipe.stream.complete
    assert (pipe.stream.next(), pipe.stream.offset) == (b"", 4)


def test_more_than_one_read_comes_in_pieces(tmp_path: Path) -> None:
    content = os.urandom(3 * READ_SIZE + 5)
    (tmp_path / "x").write_bytes(content)
    with (tmp_path / "x").open("rb") as file:
        stream = Stream(file.fileno())
        assert len(stream.next()) == READ_SIZE
        assert content[:READ_SIZE] + read_all(stream) == content


def test_a_file_is_read_from_the_offset_of_its_descriptor(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"header\nline\n")
    with (tmp_path / "x").open("rb") as file:
        os.lseek(file.fileno(), 7, os.SEEK_SET)
        assert read_all(Stream(file.fileno())) == b"line\n"


def test_the_null_device_is_at_its_end() -> None:
    with Path(os.devnull).open("rb") as null:
        assert read_all(Stream(null.fileno())) == b""


def test_a_terminal_gives_lines_until_ctrl_d_and_keeps_its_flags() -> None:
    master, terminal = pty.openpty()
    try:
        stream = Stream(terminal)
        assert stream.next() == b""
        os.write(master, b"typed\n\x04")
        assert read_all(stream) == b"typed\n"
        assert os.get_blocking(terminal)
    finally:
        os.close(master)
        os.close(terminal)


def test_a_refused_read_is_the_end_of_it(tmp_path: Path) -> None:
    directory = os.open(tmp_path, os.O_RDONLY)
    try:
        stream = Stream(directory)
        with pytest.raises(IsADirectoryError):
            stream.next()
        assert stream.next() == b""
        assert stream.pop_cut()
        assert stream.complete
    finally:
        os.close(directory)


def lines(reader: LineReader) -> Messages:
    messages = reader.next()
    assert messages is not None
    return messages


def test_the_last_line_without_terminator_is_whole_at_the_end(pipe: Pipe) -> None:
    reader = LineReader(pipe.stream, 1000)
    pipe.write(b"one\ntw")
    assert lines(reader).texts == ["one"]
    assert reader.next() is None
    pipe.write(b"o")
    pipe.end()
    assert lines(reader).texts == []
    last = lines(reader)
    assert (last.texts, last.offsets, last.lengths, last.end, last.cut) == (["two"], [4], [3], 7, True)
    assert reader.next() is None


def test_the_end_behind_a_terminator_makes_no_message(pipe: Pipe) -> None:
    reader = LineReader(pipe.stream, 1000)
    pipe.write(b"one\n")
    pipe.end()
    assert lines(reader).texts == ["one"]
    last = lines(reader)
    assert (last.texts, last.start, last.end, last.cut) == ([], 4, 4, True)
    assert reader.next() is None
