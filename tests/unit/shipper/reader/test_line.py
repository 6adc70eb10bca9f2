import itertools

import pytest

from log_shipper.shipper.event import TRUNCATED, Messages
from log_shipper.shipper.reader.line import LineReader
from tests.short_reads import LogOnDisk


def rows(runs: list[Messages]) -> list[tuple[str, int, int]]:
    return [row for run in runs for row in zip(run.texts, run.offsets, run.lengths, strict=True)]


def read(reader: LineReader) -> list[Messages]:
    return list(iter(reader.next, None))


def test_a_line_has_its_offset_and_its_raw_length(log: LogOnDisk) -> None:
    log.write("one\nzwölf\n".encode())
    assert rows(read(LineReader(log.open(), 100))) == [("one", 0, 4), ("zwölf", 4, 7)]


def test_offsets_count_from_the_start_of_the_file(log: LogOnDisk) -> None:
    log.write(b"one\ntwo\nthree\n")
    assert rows(read(LineReader(log.open(offset=4), 100))) == [("two", 4, 4), ("three", 8, 6)]


def test_one_carriage_return_before_the_terminator_is_taken_off(log: LogOnDisk) -> None:
    log.write(b"a\r\nb\r\r\nc\rd\n")
    assert rows(read(LineReader(log.open(), 100))) == [("a", 0, 3), ("b\r", 3, 4), ("c\rd", 7, 4)]


def test_empty_lines_are_lines(log: LogOnDisk) -> None:
    log.write(b"\n\r\na\n")
    assert rows(read(LineReader(log.open(), 100))) == [("", 0, 1), ("", 1, 2), ("a", 3, 2)]


def test_bytes_that_are_not_utf_8_become_replacement_characters(log: LogOnDisk) -> None:
    log.write(b"a\xffb\n\xc3\nend\n")
    assert rows(read(LineReader(log.open(), 100))) == [("a\ufffdb", 0, 4), ("\ufffd", 4, 2), ("end", 6, 4)]


def test_a_line_without_terminator_waits(log: LogOnDisk) -> None:
    log.write(b"one\ntw")
    reader = LineReader(log.open(), 100)
    first = read(reader)
    assert rows(first) == [("one", 0, 4)]
    assert first[-1].end == 4
    assert reader.finish() is None
    log.append(b"o\n")
    assert rows(read(reader)) == [("two", 4, 4)]


def test_a_character_may_be_split_between_two_reads(log: LogOnDisk) -> None:
    log.write("€\n".encode())
    assert rows(read(LineReader(log.open(sizes=itertools.repeat(1)), 100))) == [("€", 0, 4)]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_of_a_long_line_a_little_more_than_the_limit_is_kept_and_all_is_counted(log: LogOnDisk, size: int) -> None:
    line = b"0123456789abcdefghijklmnopqrstuvwxyz\n"
    log.write(b"a\n" + line + b"z\n")
    runs = read(LineReader(log.open(sizes=itertools.repeat(size)), 4))
    assert rows(runs) == [("a", 0, 2), ("0123456789abcdef", 2, 37), ("z", 39, 2)]
    assert [(run.texts[index], flags) for run in runs for index, flags in run.flags.items()] == [
        ("0123456789abcdef", (TRUNCATED,))
    ]


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_a_line_of_exactly_the_limit_loses_its_carriage_return(log: LogOnDisk, size: int) -> None:
    log.write(b"0123\r\n")
    (run,) = (run for run in read(LineReader(log.open(sizes=itertools.repeat(size)), 4)) if run.texts)
    assert (rows([run]), run.flags) == ([("0123", 0, 6)], {})


def test_a_cut_ends_the_pending_line(log: LogOnDisk) -> None:
    log.write(b"one\ntwo")
    (run,) = read(LineReader(log.open(cuts=(7,)), 100))
    assert rows([run]) == [("one", 0, 4), ("two", 4, 3)]
    assert (run.cut, run.end) == (True, 7)


def test_a_cut_between_lines_adds_nothing(log: LogOnDisk) -> None:
    log.write(b"one\ntwo\n")
    first, second = read(LineReader(log.open(cuts=(4,)), 100))
    assert (rows([first]), first.cut) == ([("one", 0, 4)], True)
    assert (rows([second]), second.cut) == ([("two", 4, 4)], False)


def test_runs_join_and_cover_every_byte(log: LogOnDisk) -> None:
    content = b"one\n\ntwo\r\n" + b"x" * 50 + b"\nrest"
    log.write(content)
    runs = read(LineReader(log.open(sizes=itertools.cycle([1, 7, 2])), 10))
    assert runs[0].start == 0
    assert all(left.end == right.start for left, right in itertools.pairwise(runs))
    assert sum(sum(run.lengths) for run in runs) == runs[-1].end == len(content) - len("rest")
