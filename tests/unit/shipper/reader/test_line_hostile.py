"""Files with hostile content, by accident or on purpose: memory and time stay bounded, and every byte is counted."""

import tracemalloc

import pytest

from log_shipper.config.text.encodings import LineTerminator
from log_shipper.shipper.event import TRUNCATED, Messages
from log_shipper.shipper.reader import line
from log_shipper.shipper.reader.limit import limit

MIB = 1024 * 1024


class Endless:
    """A file of the same bytes again and again, as many reads as are wanted, and a last one that ends the line."""

    offset = 0
    start = 0
    busy = False
    complete = False
    cuts = ()

    def __init__(self, read: bytes, reads: int, last: bytes) -> None:
        self._read = read
        self._reads = reads
        self._last = last

    def next(self) -> bytes:
        self._reads -= 1
        data = self._read if self._reads > 0 else self._last if self._reads == 0 else b""
        self.offset += len(data)
        return data

    def cut_here(self) -> None:
        raise AssertionError("not asked for here")

    def head(self, length: int) -> bytes:
        return self._read[:length]

    def pop_cut(self) -> bool:
        return False

    def at_end(self) -> bool:
        return False

    def require_complete(self) -> None:
        pass


@pytest.mark.parametrize(
    ("encoding", "terminator", "pattern", "last", "text"),
    [
        ("utf-8", "auto", b"x", b"\n", "xxxx"),
        ("utf-8", "auto", b"\0", b"\n", ""),
        ("utf-8", "auto", b"\xff", b"\n", "\ufffd"),
        ("utf-8", "line_separator", b"\xe2\x80", b"\xe2\x80\xa8", "\ufffd"),
        ("utf-8", "carriage_return_line_feed", b"\r", b"\r\n", "\r\r\r\r"),
        ("utf-16le", "auto", b"x\0", b"\n\0", "xxxx"),
        ("utf-16le", "auto", b"\0\xd8", b"\n\0", "\ufffd"),
        ("utf-16le", "auto", b"\0\n", b"\n\0", "\u0a00"),
        ("utf-16be-bom", "null_terminator", b"\1\0\0\1", b"\0\0", "\u0100\1"),
        ("latin1", "auto", b"\xe9", b"\n", "éé"),
        ("gb18030", "auto", b"\x81", b"\n", "亖"),
        ("shift-jis", "auto", b"\xb1", b"\n", "ｱ"),
        ("iso-2022-jp", "auto", b"\x1b$B\x1b(J", b"\n", ""),
        ("hz-gb-2312", "auto", b"~{~}", b"\n", ""),
    ],
)
def test_100_mb_without_an_end_take_the_memory_of_a_few_reads(
    encoding: str, terminator: LineTerminator, pattern: bytes, last: bytes, text: str
) -> None:
    read = pattern * (MIB // len(pattern))
    reader = limit(line.build(encoding, terminator, Endless(read, 100, last + b"rest"), 4), 4)
    tracemalloc.start()
    try:
        runs = list(iter(reader.next, None))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * MIB
    assert {run.end for run in runs[:-1]} == {0}
    length = len(read) * 99 + len(last)
    kept = ([text], [0], [length], {0: (TRUNCATED,)}) if text else ()  # a line of nothing is dropped
    assert runs[-1] == Messages(0, length, *kept)


@pytest.mark.parametrize(
    ("encoding", "block"),
    [("utf-8", b"\n"), ("utf-16le", b"\n\0"), ("latin1", b"\r\n"), ("gb18030", b"\x81\n"), ("hz-gb-2312", b"~{\n")],
)
def test_lines_of_nothing_are_counted_each(encoding: str, block: bytes) -> None:
    reader = line.build(encoding, "auto", Endless(block * 10_000, 2, b""), 100)
    run = reader.next()
    assert run is not None
    assert (run.end, len(run.texts), sum(run.lengths)) == (len(block) * 10_000, 10_000, len(block) * 10_000)
