import errno
import gzip
import os
import random
import time
import tracemalloc
import zlib
from collections.abc import Callable
from typing import cast

import pytest

from log_shipper.shipper.errors import Truncated
from log_shipper.shipper.reader.gzip_file import CompressionError, GzipFile, ends_before, head, is_gzip
from log_shipper.shipper.reader.line import LineReader
from log_shipper.shipper.reader.log_file import FIRST_READ, READ_LINES, READ_SIZE, LogFile
from tests.short_reads import LogOnDisk

MANY_ZEROS = 20_000_000
Open = Callable[..., GzipFile]


@pytest.fixture
def open_gzip(log: LogOnDisk) -> Open:
    """Opens the log, whose bytes a test wrote, as a gzip file."""
    return lambda offset=0, cuts=(), pread=os.pread: GzipFile(log.open().fd, offset, cuts, pread)


def read_all(file: GzipFile) -> bytes:
    """All up to the end for now, in as many calls as it takes."""
    content = b""
    while (data := file.next()) or file.busy:
        content += data
    return content


def noise(size: int) -> bytes:
    """Bytes that do not get smaller by compressing them."""
    return random.Random(size).randbytes(size)


# Reading


def test_reads_on_from_its_offset_in_the_content(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(b"one\ntwo\n"))
    file = open_gzip(4)
    assert file.next() == b"two\n"
    assert (file.offset, file.next()) == (8, b"")


def test_the_last_bytes_come_with_the_knowledge_that_they_are_the_last(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(b"one\ntwo"))
    file = open_gzip()
    assert (file.next(), file.complete, file.pop_cut(), file.pop_cut()) == (b"one\ntwo", True, True, False)
    assert file.raw_offset == len(gzip.compress(b"one\ntwo"))


def test_a_last_line_without_terminator_is_whole(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(b"one\ntwo"))
    messages = LineReader(cast(LogFile, open_gzip()), 100).next()
    assert messages is not None
    assert (messages.texts, messages.end, messages.cut) == (["one", "two"], 7, True)


@pytest.mark.parametrize("size", [FIRST_READ - 1, FIRST_READ, FIRST_READ + 1, FIRST_READ + READ_SIZE])
def test_the_end_is_reported_with_the_last_block_wherever_it_falls(size: int, log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(b"x" * size))
    file = open_gzip()
    reads = [(len(data), file.pop_cut()) for data in iter(file.next, b"")]
    assert sum(length for length, _ in reads) == size
    assert [cut for _, cut in reads] == [False] * (len(reads) - 1) + [True]


def test_big_content_comes_in_blocks(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(b"x" * (FIRST_READ + READ_SIZE + 10)))
    assert [len(block) for block in iter(open_gzip().next, b"")] == [FIRST_READ, READ_SIZE, 10]


def test_a_block_of_short_lines_is_smaller_because_each_costs_memory(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(b"a\n" * READ_SIZE))
    assert max(block.count(b"\n") for block in iter(open_gzip().next, b"")) <= READ_LINES


def test_content_that_does_not_compress_is_read_in_full(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(noise(1_000_000), 1))
    assert read_all(open_gzip()) == noise(1_000_000)


def test_stops_at_each_cut_and_reports_it_once(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(b"one\ntwo\nthree\nfour"))
    file = open_gzip(4, (14, 8, 8, 4, 2))
    reads = [(data, file.pop_cut(), file.pop_cut()) for data in iter(file.next, b"")]
    assert reads == [(b"two\n", True, False), (b"three\n", True, False), (b"four", True, False)]


def test_a_cut_at_the_very_end_is_reported_once(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(b"one"))
    file = open_gzip(0, (3,))
    assert (file.next(), file.pop_cut(), file.next(), file.pop_cut()) == (b"one", True, b"", False)


def test_compressed_nothing_is_complete(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(b""))
    file = open_gzip()
    assert (file.next(), file.complete, file.pop_cut(), file.pop_cut()) == (b"", True, True, False)


# Members


def test_members_are_read_one_after_the_other(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(b"one\ntw") + gzip.compress(b"") + gzip.compress(b"o\n"))
    file = open_gzip(2)
    assert (file.next(), file.pop_cut()) == (b"e\ntwo\n", True)


def test_zeros_behind_a_member_are_padding(log: LogOnDisk, open_gzip: Open) -> None:
    padded = gzip.compress(b"one\n") + bytes(70_000)
    log.write(padded)
    file = open_gzip()
    assert (file.next(), file.complete, file.raw_offset, file.pop_cut()) == (b"one\n", True, len(padded), True)
    log.append(gzip.compress(b"two\n"))
    assert (file.next(), file.pop_cut(), file.next()) == (b"two\n", True, b"")


def test_a_member_that_is_appended_after_the_end_is_read_and_its_end_is_reported(
    log: LogOnDisk, open_gzip: Open
) -> None:
    log.write(gzip.compress(b"one\n"))
    file = open_gzip()
    assert (file.next(), file.pop_cut(), file.next()) == (b"one\n", True, b"")
    member = gzip.compress(b"two\n")
    log.append(member[:-1])
    assert (file.next(), file.complete, file.pop_cut()) == (b"two\n", False, False)
    log.append(member[-1:])
    assert (file.next(), file.complete, file.pop_cut(), file.pop_cut()) == (b"", True, True, False)


@pytest.mark.parametrize("garbage", [b"\n", b"some text", b"\0\0\0x"])
def test_something_else_behind_the_last_member_is_reported_after_its_content(
    garbage: bytes, log: LogOnDisk, open_gzip: Open
) -> None:
    member = gzip.compress(b"one\ntwo")
    log.write(member + garbage)
    file = open_gzip()
    assert (file.next(), file.pop_cut(), file.complete) == (b"one\ntwo", True, False)
    offset = len(member + garbage.rstrip(b"\nsomextext "))
    for _ in range(2):
        with pytest.raises(CompressionError, match=f"compressed byte {offset}: other data follows the gzip data"):
            file.next()
    assert not file.pop_cut()


def test_something_else_that_is_appended_later_is_reported_too(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(b"one\n"))
    file = open_gzip()
    assert (file.next(), file.pop_cut()) == (b"one\n", True)
    log.append(b"plain\n")
    with pytest.raises(CompressionError):
        file.next()
    assert not file.complete
    assert not file.pop_cut()


# A file that is still being written


def test_a_file_without_its_trailer_gives_its_content_and_resumes_later(log: LogOnDisk, open_gzip: Open) -> None:
    packed = gzip.compress(b"one\n" + noise(1000) + b"end")
    log.write(packed[:500])
    file = open_gzip()
    first = file.next()
    assert len(first) > 400
    assert (file.next(), file.busy, file.complete, file.pop_cut()) == (b"", False, False, False)
    log.append(packed[500:])
    assert first + file.next() == b"one\n" + noise(1000) + b"end"
    assert file.pop_cut()


def test_little_input_with_much_output_is_read_in_full_though_no_more_input_comes(
    log: LogOnDisk, open_gzip: Open
) -> None:
    packed = gzip.compress(bytes(FIRST_READ + 10_000))
    for size in range(len(packed)):
        log.write(packed[:size])
        assert read_all(open_gzip()) == zlib.decompressobj(31).decompress(packed[:size])


def test_a_trailer_that_comes_after_the_last_bytes_reports_the_end_without_bytes(
    log: LogOnDisk, open_gzip: Open
) -> None:
    packed = gzip.compress(b"one\ntwo")
    log.write(packed[:-8])
    file = open_gzip()
    assert (file.next(), file.pop_cut()) == (b"one\ntwo", False)
    log.append(packed[-8:-3])
    assert (file.next(), file.pop_cut()) == (b"", False)
    log.append(packed[-3:])
    assert (file.next(), file.pop_cut(), file.pop_cut()) == (b"", True, False)


@pytest.mark.parametrize("size", [0, 1, 5, 10])
def test_a_file_without_content_yet_is_not_complete(size: int, log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(b"one\n")[:size])
    file = open_gzip()
    assert (file.next(), file.complete, file.pop_cut()) == (b"", False, False)
    log.append(gzip.compress(b"one\n")[size:])
    assert (file.next(), file.pop_cut()) == (b"one\n", True)


def test_a_file_that_will_not_grow_must_have_its_end(log: LogOnDisk, open_gzip: Open) -> None:
    packed = gzip.compress(b"one\n")
    log.write(packed[:-1])
    file = open_gzip()
    assert file.next() == b"one\n"
    with pytest.raises(CompressionError, match=f"compressed byte {len(packed) - 1}: the file ends within"):
        file.require_complete()
    log.append(packed[-1:])
    file.next()
    file.require_complete()


# Resuming


def test_skipping_is_done_in_slices_and_busy_meanwhile(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(bytes(MANY_ZEROS) + b"end\n"))
    file = open_gzip(MANY_ZEROS)
    skipping = 0
    while not (data := file.next()):
        assert (file.busy, file.pop_cut(), file.offset) == (True, False, MANY_ZEROS)
        skipping += 1
    assert (data, file.busy, file.pop_cut()) == (b"end\n", False, True)
    assert 3 < skipping < 20


def test_skipping_continues_when_the_file_has_grown_to_the_offset(log: LogOnDisk, open_gzip: Open) -> None:
    packed = gzip.compress(noise(1000))
    log.write(packed[:200])
    file = open_gzip(900)
    assert (file.next(), file.busy) == (b"", False)
    log.append(packed[200:])
    assert file.next() == noise(1000)[900:]


def test_resumed_at_the_end_of_the_content_the_end_is_reported(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(b"one"))
    file = open_gzip(3)
    assert (file.next(), file.pop_cut(), file.complete) == (b"", True, True)


def test_content_that_ends_before_the_offset_is_not_what_was_read(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(b"one"))
    with pytest.raises(Truncated) as raised:
        open_gzip(4).next()
    assert raised.value.size == 3


@pytest.mark.parametrize("offset", [0, MANY_ZEROS])
def test_a_bomb_needs_little_memory(offset: int, log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(bytes(MANY_ZEROS) + b"x"))
    file = open_gzip(offset)
    tracemalloc.start()
    try:
        size = 0
        while (data := file.next()) or file.busy:
            size += len(data)
        assert tracemalloc.get_traced_memory()[1] < 4_000_000
    finally:
        tracemalloc.stop()
    assert size == MANY_ZEROS + 1 - offset


@pytest.mark.parametrize(
    "filling", [gzip.compress(b"") * 2000, gzip.compress(b"") + bytes(10_000_000)], ids=["empty members", "padding"]
)
def test_members_without_content_are_read_in_slices_too(filling: bytes, log: LogOnDisk, open_gzip: Open) -> None:
    log.write(filling + gzip.compress(b"one\n"))
    file = open_gzip()
    assert (file.next(), file.busy, file.pop_cut()) == (b"", True, False)
    assert (read_all(file), file.pop_cut()) == (b"one\n", True)


# Damage

PACKED = gzip.compress(noise(3000))


def damaged(offset: int, value: int = 0xFF) -> bytes:
    offset %= len(PACKED)
    return PACKED[:offset] + bytes([PACKED[offset] ^ value]) + PACKED[offset + 1 :]


@pytest.mark.parametrize(
    ("raw", "offset", "words", "before"),
    [
        (b"plain text\n", 1, "not a gzip file; compression: auto reads plain files too", 0),
        (damaged(2), 3, "unknown compression method", 0),
        (damaged(3), 3, "unknown header flags set", 0),
        (damaged(-8), len(PACKED) - 5, "the content does not match its checksum \\(crc\\)", 3000),
        (damaged(-4), len(PACKED) - 1, "the content does not have the length in the trailer", 3000),
        (damaged(10, 6), 10, "invalid block type", 0),
    ],
)
def test_damage_is_reported_after_all_before_it(
    raw: bytes, offset: int, words: str, before: int, log: LogOnDisk, open_gzip: Open
) -> None:
    log.write(raw)
    file = open_gzip()
    if before:
        assert file.next() == noise(before)
        assert not file.pop_cut()
    for _ in range(2):
        with pytest.raises(CompressionError, match=f"compressed byte {offset}: {words}") as raised:
            file.next()
        assert raised.value.raw_offset == file.raw_offset == offset
    assert not file.complete


def test_damage_in_a_later_member_is_reported_after_those_before_it(log: LogOnDisk, open_gzip: Open) -> None:
    good = gzip.compress(b"one\n")
    log.write(good + damaged(-8))
    file = open_gzip()
    assert file.next() == b"one\n" + noise(3000)
    with pytest.raises(CompressionError, match=f"compressed byte {len(good + PACKED) - 5}"):
        file.next()


def test_damage_while_skipping_is_reported(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(damaged(-8) + PACKED)
    with pytest.raises(CompressionError):
        open_gzip(4000).next()


# A file that is not the same any more


def test_a_file_that_became_shorter_is_truncated(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(b"one\n"))
    file = open_gzip()
    assert file.next() == b"one\n"
    log.write(gzip.compress(b"one\n")[:20])
    with pytest.raises(Truncated) as raised:
        file.next()
    assert raised.value.size == 20


def test_a_file_that_was_rewritten_is_truncated(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(b"one\n"))
    file = open_gzip()
    assert file.next() == b"one\n"
    log.write(gzip.compress(b"two, and more than that\n"))
    with pytest.raises(Truncated):
        file.next()


def test_an_error_of_the_disk_loses_nothing(log: LogOnDisk, open_gzip: Open) -> None:
    log.write(gzip.compress(noise(100_000), 1))
    results = iter([16384, None, None, 16384, None, 10, None])

    def failing(fd: int, size: int, offset: int) -> bytes:
        if (result := next(results, size)) is None:
            raise OSError(errno.EIO, "Input/output error")
        return os.pread(fd, min(size, result + 256), offset)

    file = open_gzip(1000, pread=failing)
    content, errors = b"", 0
    while not file.complete:
        try:
            content += file.next()
        except OSError:
            errors += 1
    assert content == noise(100_000)[1000:]
    assert errors > 1


# What identity asks for


def test_gzip_is_known_by_its_first_bytes(log: LogOnDisk) -> None:
    reads = []
    for raw in (gzip.compress(b""), b"\x1f\x8b\x08", b"\x1f\x8b", b"", b"plain\n", b"\x1f\x8b\x07 old"):
        log.write(raw)
        reads.append(is_gzip(log.open().fd))
    assert reads == [True, True, False, False, False, False]


def test_the_head_is_of_the_content(log: LogOnDisk) -> None:
    log.write(gzip.compress(noise(700)) + gzip.compress(noise(50_000)))
    fd = log.open().fd
    assert head(fd, 1024) == (noise(700) + noise(50_000))[:1024]
    assert head(fd, 60_000) == noise(700) + noise(50_000)
    assert head(fd, 0) == b""


@pytest.mark.parametrize("raw", [PACKED[:-8], PACKED[:-2], damaged(-8), PACKED + b"garbage"])
def test_the_head_of_a_file_without_a_good_end_is_what_can_be_had(raw: bytes, log: LogOnDisk) -> None:
    log.write(raw)
    assert head(log.open().fd, 4000) == noise(3000)


def test_the_head_of_something_else_is_empty(log: LogOnDisk) -> None:
    log.write(b"plain text\n")
    assert head(log.open().fd, 100) == b""


def test_a_whole_file_ends_before_every_place_behind_its_content(log: LogOnDisk) -> None:
    content = bytes(MANY_ZEROS) + noise(1000)
    log.write(gzip.compress(content))
    fd = log.open().fd
    assert [ends_before(fd, len(content) + more) for more in (-1, 0, 1, 300)] == [False, False, True, True]


@pytest.mark.parametrize("raw", [PACKED[:-1], PACKED[:-9], damaged(-8), b"", b"plain text"])
def test_a_file_that_may_grow_or_is_damaged_ends_nowhere(raw: bytes, log: LogOnDisk) -> None:
    log.write(raw)
    assert not ends_before(log.open().fd, 10_000)


def test_a_head_behind_which_there_are_terabytes_of_zeros_is_known_at_once(log: LogOnDisk) -> None:
    log.write(gzip.compress(b"one\ntwo\n"))
    os.truncate(log.path, 1 << 40)
    began = time.process_time()
    fd = log.open().fd
    assert head(fd, 1024) == b"one\ntwo\n"
    assert not ends_before(fd, 1024)
    assert time.process_time() - began < 5
