import itertools
import re

import pytest

from shipper.event import MULTILINE, TRUNCATED, Messages
from shipper.reader.line import LineReader
from shipper.reader.multiline import MultilineReader, MultilineRule
from shipper.testing import ManualClock
from tests.short_reads import LogOnDisk

INDENTED = re.compile(r"^\s")


def open_reader(
    log: LogOnDisk, clock: ManualClock, rule: MultilineRule, size: int = 1000, **open: object
) -> MultilineReader:
    file = log.open(sizes=itertools.repeat(size), **open)  # type: ignore[arg-type]
    return MultilineReader(LineReader(file, 1000), rule, clock)


def read(reader: MultilineReader) -> list[Messages]:
    return list(iter(reader.next, None))


def texts(runs: list[Messages]) -> list[str]:
    return [text for run in runs for text in run.texts]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_matching_line_is_joined_after_the_line_before(log: LogOnDisk, clock: ManualClock, size: int) -> None:
    log.write(b"error\n at x\n at y\nnext\nlast\n")
    runs = read(open_reader(log, clock, MultilineRule(INDENTED), size))
    assert texts(runs) == ["error\n at x\n at y", "next"]
    assert next(run.lengths[0] for run in runs if run.texts) == 18
    assert runs[-1].end == 23


def test_with_negate_the_lines_that_do_not_match_are_joined(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"[1] a\nb\n[2] c\n")
    assert texts(read(open_reader(log, clock, MultilineRule(re.compile(r"^\["), negate=True)))) == ["[1] a\nb"]


def test_before_joins_a_matching_line_to_the_one_that_follows(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"a \\\nb \\\nc\nd\ne \\\n")
    runs = read(open_reader(log, clock, MultilineRule(re.compile(r"\\$"), before=True)))
    assert texts(runs) == ["a \\\nb \\\nc", "d"]
    assert runs[-1].end == 12


def test_only_a_message_of_several_lines_is_flagged(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"one\ntwo\n +\nthree\n")
    (run,) = read(open_reader(log, clock, MultilineRule(INDENTED)))
    assert (run.texts, run.flags) == (["one", "two\n +"], {1: (MULTILINE,)})


def test_lines_beyond_the_limit_are_dropped_and_counted_in_the_length(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"a\n b\n c\n d\nz\n")
    (run,) = read(open_reader(log, clock, MultilineRule(INDENTED, max_lines=2)))
    assert (run.texts, run.lengths, run.flags) == (["a\n b"], [11], {0: (MULTILINE, TRUNCATED)})


def test_bytes_beyond_the_limit_are_dropped(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"a\n 23456789\n more\nz\n")
    (run,) = read(open_reader(log, clock, MultilineRule(INDENTED, max_bytes=10)))
    assert (run.texts, run.lengths, run.flags) == (["a\n 23456789"], [18], {0: (MULTILINE, TRUNCATED)})


def test_the_message_under_way_keeps_the_position_before_it(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"one\ntwo\n")
    reader = open_reader(log, clock, MultilineRule(INDENTED))
    assert read(reader)[-1].end == 4
    log.append(b" more\nthree\n")
    (run,) = read(reader)
    assert (run.start, run.texts, run.end) == (4, ["two\n more"], 14)


def test_finish_ends_the_message_under_way(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"one\n +\npart")
    reader = open_reader(log, clock, MultilineRule(INDENTED))
    read(reader)
    ended = reader.finish()
    assert ended == Messages(0, 7, ["one\n +"], [0], [7], {0: (MULTILINE,)})
    assert reader.finish() is None
    log.append(b"ial\nnext\n")
    assert texts(read(reader)) == ["partial"]


def test_a_cut_ends_a_message_as_finish_did(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"one\n +\n ++\nnext\n")
    runs = read(open_reader(log, clock, MultilineRule(INDENTED), cuts=(7,)))
    assert texts(runs) == ["one\n +", " ++"]
    assert [run.cut for run in runs] == [True, False]


def test_the_time_of_the_last_line_counts(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"one\n")
    reader = open_reader(log, clock, MultilineRule(INDENTED))
    assert reader.pending_since is None
    read(reader)
    began = clock.monotonic()
    assert reader.pending_since == began
    clock.advance(3)
    log.append(b" half a line")
    read(reader)
    assert reader.pending_since == began
    log.append(b"\n")
    read(reader)
    assert reader.pending_since == began + 3
    reader.finish()
    assert reader.pending_since is None


def test_a_message_that_waits_in_an_inner_reader_is_timed_too(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"one\n +\n")
    reader = MultilineReader(open_reader(log, clock, MultilineRule(INDENTED)), MultilineRule(re.compile("^-")), clock)
    assert texts(read(reader)) == []
    assert reader.pending_since == clock.monotonic()
    ended = reader.finish()
    assert ended is not None
    assert ended.texts == ["one\n +"]
    assert reader.pending_since is None
