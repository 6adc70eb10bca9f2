import os

import pytest

from log_shipper.shipper.errors import Truncated
from log_shipper.shipper.reader.log_file import FIRST_READ, READ_LINES, READ_SIZE, LogFile, read_fully
from tests.failing_disk import PAGE, FailingDisk
from tests.short_reads import LogOnDisk


def read_all(file: LogFile) -> list[bytes]:
    return list(iter(file.next, b""))


def test_reads_on_from_its_offset(log: LogOnDisk) -> None:
    log.write(b"one\ntwo\n")
    file = log.open(offset=4)
    assert read_all(file) == [b"two\n"]
    assert file.offset == 8


def test_resumes_when_the_file_has_grown(log: LogOnDisk) -> None:
    log.write(b"one\n")
    file = log.open()
    assert read_all(file) == [b"one\n"]
    log.append(b"two\n")
    assert read_all(file) == [b"two\n"]


def test_a_big_file_comes_in_blocks(log: LogOnDisk) -> None:
    log.write(b"x" * (FIRST_READ + READ_SIZE + 10))
    assert [len(block) for block in read_all(log.open())] == [FIRST_READ, READ_SIZE, 10]


def test_a_block_of_short_lines_is_smaller_because_each_costs_memory_beside_its_bytes(log: LogOnDisk) -> None:
    log.write(b"a\n" * READ_SIZE)
    assert max(block.count(b"\n") for block in read_all(log.open())) <= READ_LINES


def test_a_file_that_became_shorter_is_truncated(log: LogOnDisk) -> None:
    log.write(b"one\ntwo\n")
    file = log.open()
    read_all(file)
    log.write(b"one\n")
    with pytest.raises(Truncated) as raised:
        file.next()
    assert raised.value.size == 4


def test_a_file_that_was_rewritten_and_has_grown_past_the_offset_is_truncated(log: LogOnDisk) -> None:
    log.write(b"header\nold old\n")
    file = log.open()
    read_all(file)
    log.write(b"header\nnew new\nand more of it\n")
    with pytest.raises(Truncated):
        file.next()


def test_bytes_far_before_the_offset_are_not_compared(log: LogOnDisk) -> None:
    log.write(b"a" + b"x" * 300)
    file = log.open()
    read_all(file)
    log.write(b"b" + b"x" * 300 + b"more")
    assert file.next() == b"more"


def test_stops_at_each_cut_and_reports_it_once(log: LogOnDisk) -> None:
    log.write(b"one\ntwo\nthree\n")
    file = log.open(cuts=(8, 4))
    reads = [(file.next(), file.pop_cut(), file.pop_cut()) for _ in range(3)]
    assert reads == [(b"one\n", True, False), (b"two\n", True, False), (b"three\n", False, False)]


def test_a_cut_that_is_given_twice_does_not_stop_reading_forever(log: LogOnDisk) -> None:
    log.write(b"one\ntwo\n")
    file = log.open(cuts=(4, 4))
    assert file.next() == b"one\n"
    assert file.pop_cut()
    assert file.next() == b"two\n"


def test_cuts_up_to_the_offset_are_over(log: LogOnDisk) -> None:
    log.write(b"one\ntwo\n")
    file = log.open(offset=4, cuts=(2, 4))
    assert file.next() == b"two\n"
    assert not file.pop_cut()


# A page that cannot be read: the kernel returns the bytes before it without an error.


def test_such_a_page_is_not_the_end_of_the_file(log: LogOnDisk, disk: FailingDisk) -> None:
    log.write(b"x" * PAGE + b"more")
    disk.damage(log.path, page=1)
    file = LogFile(log.open().fd, 0)
    assert file.next() == b"x" * PAGE
    for _ in range(2):
        with pytest.raises(OSError, match="Input/output error"):
            file.next()
    disk.repair()
    assert read_all(file) == [b"more"]


def test_nor_is_a_file_truncated_that_has_such_a_page_just_before_the_offset(log: LogOnDisk, disk: FailingDisk) -> None:
    log.write(b"x" * (PAGE + 100) + b"more")
    file = LogFile(log.open().fd, PAGE + 100)
    disk.damage(log.path, page=1)
    with pytest.raises(OSError, match="Input/output error"):
        LogFile(file.fd, PAGE + 100)
    with pytest.raises(OSError, match="Input/output error"):
        file.next()
    disk.repair()
    assert read_all(file) == [b"more"]


def test_a_page_that_can_be_read_at_once_again_is_read(log: LogOnDisk, disk: FailingDisk) -> None:
    log.write(b"x" * PAGE + b"more")
    disk.damage(log.path, page=1, reads=2)
    assert read_all(LogFile(log.open().fd, 0)) == [b"x" * PAGE, b"more"]


def test_such_a_page_behind_a_cut_does_not_prevent_the_cut(log: LogOnDisk, disk: FailingDisk) -> None:
    log.write(b"x" * PAGE + b"more")
    disk.damage(log.path, page=1)
    file = LogFile(log.open().fd, 0)
    file.next()
    file.cut_here()
    assert (file.next(), file.pop_cut()) == (b"", True)


def test_a_part_of_a_file_is_read_up_to_the_end_of_the_file_or_an_error(log: LogOnDisk, disk: FailingDisk) -> None:
    content = b"x" * PAGE + b"more"
    log.write(content)
    fd = log.open().fd
    assert read_fully(fd, 2 * PAGE, 0) == content
    disk.damage(log.path, page=1)
    with pytest.raises(OSError, match="Input/output error"):
        read_fully(fd, 2 * PAGE, 0)
    disk.damage(log.path, page=1, reads=1)
    assert read_fully(fd, 2 * PAGE, 0) == content


def test_only_a_read_that_gives_nothing_new_costs_a_second_call(log: LogOnDisk) -> None:
    calls = []

    def counted(fd: int, size: int, offset: int) -> bytes:
        calls.append((size, offset))
        return os.pread(fd, size, offset)

    log.write(b"one\n")
    file = LogFile(log.open().fd, 4, pread=counted)
    calls.clear()
    file.next()
    assert calls == [(4 + FIRST_READ, 0), (1, 4)]
    log.append(b"two\n")
    calls.clear()
    assert (file.next(), len(calls)) == (b"two\n", 1)
