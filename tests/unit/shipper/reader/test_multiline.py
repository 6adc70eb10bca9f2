import itertools
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from log_shipper.shipper.event import DELETED, MULTILINE, TRUNCATED, Doc, Messages
from log_shipper.shipper.parsers.multiline import MultilineConfig
from log_shipper.shipper.reader.base import Reader
from log_shipper.shipper.reader.line import LineReader
from log_shipper.shipper.reader.multiline_open import MessageLimits, PendingMessage
from tests.builders import parsed
from tests.fakes import ManualClock
from tests.short_reads import LogOnDisk

INDENTED = r"^\s"


def open_reader(
    log: LogOnDisk,
    clock: ManualClock,
    pattern: str | None = INDENTED,
    *,
    size: int = 1000,
    max_bytes: int = 1000,
    cuts: tuple[int, ...] = (),
    **options: Any,
) -> Reader:
    file = log.open(sizes=itertools.repeat(size), cuts=cuts)
    return parsed(LineReader(file, 1000), MultilineConfig(pattern=pattern, **options), clock, max_bytes)


def read(reader: Reader) -> list[Messages]:
    return list(iter(reader.next, None))


def texts(runs: list[Messages]) -> list[str]:
    return [text for run in runs for text in run.texts]


@dataclass(frozen=True)
class Joining:
    options: dict[str, Any]
    lines: list[str]
    messages: list[str]
    pending: str | None  # at the end of the file


CASES = {
    "a matching line is added to the one before": Joining(
        {"pattern": "^b"}, ["a", "b", "b", "c", "b", "b", "z"], ["a b b", "c b b"], "z"
    ),
    "a matching line is put before the next": Joining(
        {"pattern": "^b", "match": "before"}, ["b", "b", "a", "b", "b", "c", "b"], ["b b a", "b b c"], "b"
    ),
    "a line that does not match is added": Joining(
        {"pattern": "^b", "negate": True}, ["b", "a", "c", "b", "d", "e", "b"], ["b a c", "b d e"], "b"
    ),
    "a line that does not match is put before": Joining(
        {"pattern": "^b", "negate": True, "match": "before"},
        ["a", "c", "b", "d", "e", "b", "x"],
        ["a c b", "d e b"],
        "x",
    ),
    "nothing before the first line is waited for": Joining({"pattern": "^b"}, ["b", "b", "a"], ["b b"], "a"),
    "a flush pattern ends the message": Joining(
        {"pattern": "start", "negate": True, "flush_pattern": "end"},
        ["start 1", "x", "end", "y", "z", "start 2", "end", "start 3"],
        ["start 1 x end", "y z", "start 2 end"],
        "start 3",
    ),
    "a flush pattern in the first line is not asked": Joining(
        {"pattern": "start", "negate": True, "flush_pattern": "end"},
        ["start end", "x", "end", "end", "end", "start"],
        ["start end x end", "end end"],
        "start",
    ),
    "a line that begins a message and has the flush pattern ends the one before": Joining(
        {"pattern": "start", "negate": True, "flush_pattern": "end"},
        ["start", "start end", "a", "start"],
        ["start start end", "a"],
        "start",
    ),
    "a flush pattern is asked of the line behind the last one too": Joining(
        {"pattern": r"\\$", "match": "before", "flush_pattern": "^end"},
        ["a\\", "b", "end", "c", "d", "x\\", "end\\", "z", "y"],
        ["a\\ b end", "c", "d", "x\\ end\\", "z"],
        "y",
    ),
    "lines are counted": Joining({"type": "count", "count_lines": 3}, list("abcdefgh"), ["a b c", "d e f"], "g h"),
    "one line is a message": Joining({"type": "count", "count_lines": 1}, list("abc"), ["a", "b", "c"], None),
    "lines in a row that match are joined": Joining(
        {"type": "while_pattern", "pattern": "^{"},
        ["{a", "{b", "x", "y", "{c", "z", "{d", "{e"],
        ["{a {b", "x", "y", "{c", "z"],
        "{d {e",
    ),
    "lines in a row that do not match are joined": Joining(
        {"type": "while_pattern", "pattern": "^{", "negate": True},
        ["a", "b", "{x", "{y", "c", "{z"],
        ["a b", "{x", "{y", "c", "{z"],
        None,
    ),
}


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("name", CASES)
def test_lines_are_joined_by_the_rule_of_the_type(log: LogOnDisk, clock: ManualClock, name: str, size: int) -> None:
    case = CASES[name]
    log.write("".join(f"{line}\n" for line in case.lines).encode())
    reader = open_reader(log, clock, **{"pattern": None, **case.options}, size=size)
    runs = read(reader)
    assert [text.replace("\n", " ") for text in texts(runs)] == case.messages
    assert runs[-1].end == sum(len(text) + 1 for text in case.messages)
    assert sum(length for run in runs for length in run.lengths) == runs[-1].end
    last = reader.finish()
    assert (last.texts[0].replace("\n", " ") if last else None) == case.pending


@pytest.mark.parametrize("size", [2, 1000])
def test_lines_are_joined_without_newlines_where_they_are_skipped(
    log: LogOnDisk, clock: ManualClock, size: int
) -> None:
    log.write(b"a\n b\n c\nd\n e\nf\n")
    runs = read(open_reader(log, clock, skip_newline=True, size=size))
    assert texts(runs) == ["a b c", "d e"]


def test_only_a_message_of_several_lines_is_flagged(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"one\ntwo\n +\nthree\n")
    (run,) = read(open_reader(log, clock))
    assert (run.texts, run.flags) == (["one", "two\n +"], {1: (MULTILINE,)})


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize(
    ("content", "options", "kept"),
    [
        (b"y\na\n b\n c\n d\nz\n", {"max_lines": 2}, "a\n b"),
        (b"y\na\n b\n c\n d\nz\n", {"max_lines": 2, "skip_newline": True}, "a b"),
        (b"y\na\nb\nc\nd\n", {"pattern": None, "type": "count", "count_lines": 2, "max_lines": 1}, "y"),
        (b"y\na\n 23456789\n more\nz\n", {"max_bytes": 10}, "a\n 23456789"),
        (b"y\na\n 23456\n more\nz\n", {"max_bytes": 10}, "a\n 23456\n more"),
        (b"y\na\n 23456789\n more\nz\n", {"max_bytes": 10, "skip_newline": True}, "a 23456789"),
        (b"y\na\n 2345678\n more\nz\n", {"max_bytes": 10, "skip_newline": True}, "a 2345678 more"),
    ],
)
def test_lines_beyond_a_limit_are_dropped(
    log: LogOnDisk, clock: ManualClock, content: bytes, options: dict[str, Any], kept: str, size: int
) -> None:
    """The reader behind it cuts the last line at `max_bytes`."""
    log.write(content)
    runs = [run for run in read(open_reader(log, clock, **options, size=size)) if kept in run.texts]
    index = runs[0].texts.index(kept)
    dropped = len(kept) < runs[0].lengths[index] - 1 and not kept.endswith("more")
    assert runs[0].flags[index] == ((MULTILINE, TRUNCATED) if dropped else (MULTILINE,))


def test_no_limit_of_lines_is_one_of_bytes_only(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"a\n" + b" +\n" * 2000 + b"z\n")
    (message,) = texts(read(open_reader(log, clock, max_lines=0, max_bytes=10_000)))
    assert message.count("\n") == 2000
    (message,) = texts(read(open_reader(log, clock, max_bytes=10_000)))
    assert message.count("\n") == 499


def test_a_message_without_an_end_takes_no_more_memory_than_its_limits(log: LogOnDisk, clock: ManualClock) -> None:
    lines = 300_000
    endless = Endless(b" a line of some words" * 3, lines)
    reader = parsed(endless, MultilineConfig(pattern=INDENTED, max_lines=0), clock, 5000)
    runs = read(reader)
    assert not texts(runs)
    ended = reader.finish()
    assert ended is not None
    assert len(ended.texts[0]) < 5100
    assert ended.lengths == [64 * lines]


class Endless:
    """The same line many times."""

    pending_since: float | None = None

    def __init__(self, line: bytes, lines: int, run: int = 4000) -> None:
        self._text, self._lines, self._run = line.decode(), lines, run
        self._read = 0

    def next(self) -> Messages | None:
        if self._read == self._lines:
            return None
        size = len(self._text) + 1
        start = self._read * size
        self._read += self._run
        offsets = [start + index * size for index in range(self._run)]
        return Messages(start, start + size * self._run, [self._text] * self._run, offsets, [size] * self._run)

    def finish(self) -> Messages | None:
        return None


@pytest.mark.parametrize("size", [1, 1000])
def test_empty_lines_at_the_beginning_count_and_leave_no_text(log: LogOnDisk, clock: ManualClock, size: int) -> None:
    log.write(b"\n\na\n\n\nb\n\n\n\n\n")
    runs = read(open_reader(log, clock, None, type="count", count_lines=4, size=size))
    assert texts(runs) == ["a\n", "b\n\n"]
    assert [length for run in runs for length in run.lengths] == [5, 5]


def test_the_pending_message_keeps_the_position_before_it(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"one\ntwo\n")
    reader = open_reader(log, clock)
    assert read(reader)[-1].end == 4
    log.append(b" more\nthree\n")
    (run,) = read(reader)
    assert (run.start, run.texts, run.end) == (4, ["two\n more"], 14)


def test_finish_ends_the_pending_message(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"one\n +\npart")
    reader = open_reader(log, clock)
    read(reader)
    ended = reader.finish()
    assert ended == Messages(0, 7, ["one\n +"], [0], [7], {0: (MULTILINE,)})
    assert reader.finish() is None
    log.append(b"ial\nnext\n")
    assert texts(read(reader)) == ["partial"]


def test_a_cut_ends_a_message_as_finish_did(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"one\n +\n ++\nnext\n")
    runs = read(open_reader(log, clock, cuts=(7,)))
    assert texts(runs) == ["one\n +", " ++"]
    assert [run.cut for run in runs] == [True, False]


def test_after_a_cut_lines_are_counted_from_0(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"a\nb\nc\nd\ne\nf\n")
    runs = read(open_reader(log, clock, None, type="count", count_lines=3, cuts=(4,)))
    assert texts(runs) == ["a\nb", "c\nd\ne"]


def test_a_cut_forgets_that_the_last_line_wanted_more(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"a\\\nb\nend\n")
    runs = read(open_reader(log, clock, r"\\$", match="before", flush_pattern="end", cuts=(3,)))
    assert texts(runs) == ["a\\", "b\nend"]


def test_the_time_of_the_last_line_counts(log: LogOnDisk, clock: ManualClock) -> None:
    log.write(b"one\n")
    reader = open_reader(log, clock)
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
    reader = parsed(open_reader(log, clock), MultilineConfig(pattern="^-"), clock, 1000)
    assert texts(read(reader)) == []
    assert reader.pending_since == clock.monotonic()
    ended = reader.finish()
    assert ended is not None
    assert ended.texts == ["one\n +"]
    assert reader.pending_since is None


class Documents:
    """Lines that carry documents, in runs of the given lengths."""

    pending_since: float | None = None

    def __init__(self, lines: list[tuple[str, Doc]], *runs: int) -> None:
        self._lines: Iterator[tuple[int, tuple[str, Doc]]] = enumerate(lines)
        self._runs = iter(runs)

    def next(self) -> Messages | None:
        lines = list(itertools.islice(self._lines, next(self._runs, 0)))
        if not lines:
            return None
        run = Messages(lines[0][0] * 10, lines[-1][0] * 10 + 10)
        for index, (text, doc) in lines:
            run.append(text, index * 10, 10)
            run.documents()[-1] = doc
        return run

    def finish(self) -> Messages | None:
        return None


@pytest.mark.parametrize("runs", [(9,), (1,) * 9, (2, 1, 9)])
def test_the_documents_of_the_lines_become_one_and_the_later_wins(clock: ManualClock, runs: tuple[int, ...]) -> None:
    lines: list[tuple[str, Doc]] = [
        ("a", {"x": 1, "json": {"k": 1, "deep": {"m": 1}}, "gone": 1}),
        (" b", {"y": 2, "json": {"l": 2, "deep": {"m": 2, "n": 2}}, "gone": DELETED, "@timestamp": "later"}),
        ("c", {"@timestamp": "c"}),
        (" d", {"@timestamp": "d", "message": 7}),
        ("", {"message": 8}),
        ("z", {}),
    ]
    reader = parsed(Documents(lines, *runs), MultilineConfig(pattern=INDENTED), clock, 1000)
    documents = [(text, doc) for run in read(reader) for text, doc in zip(run.texts, run.docs or [], strict=True)]
    assert documents == [
        ("a\n b", {"x": 1, "y": 2, "json": {"k": 1, "l": 2, "deep": {"m": 2, "n": 2}}, "gone": DELETED}),
        ("c\n d", {"@timestamp": "c"}),
        ("", {"message": 8}),
    ]


def test_a_line_that_is_dropped_leaves_nothing_of_its_document(clock: ManualClock) -> None:
    lines: list[tuple[str, Doc]] = [("a", {"a": 1}), (" b", {"b": 1}), (" c", {"c": 1}), ("z", {})]
    reader = parsed(Documents(lines, 9), MultilineConfig(pattern=INDENTED, max_lines=2), clock, 1000)
    (run,) = read(reader)
    assert run.docs == [{"a": 1, "b": 1}]


def test_documents_of_any_depth_are_merged(clock: ManualClock) -> None:
    def deep(name: str) -> Doc:
        doc: Doc = {name: 1}
        for _ in range(5000):
            doc = {"k": doc}
        return doc

    lines = [("a", deep("a")), (" b", deep("b")), ("z", {})]
    (run,) = read(parsed(Documents(lines, 9), MultilineConfig(pattern=INDENTED), clock, 1000))
    assert run.docs is not None
    (doc,) = run.docs
    while "k" in doc:
        doc = doc["k"]
    assert doc == {"a": 1, "b": 1}


@pytest.mark.parametrize("pattern", ["(a+)+$", "(.*a){20}", "(a|a?)+$"])
def test_no_pattern_delays_the_reader(clock: ManualClock, pattern: str) -> None:
    start = time.process_time()
    read(parsed(Endless(b"a" * 1_000_000 + b"!", 3, 1), MultilineConfig(pattern=pattern), clock, 10**7))
    assert time.process_time() - start < 1


def test_a_message_of_very_many_short_lines_takes_little_more_than_its_bytes(
    log: LogOnDisk, clock: ManualClock
) -> None:
    lines = 300_000
    log.write(b"first\n" + b" x\n" * lines)
    reader = open_reader(log, clock, size=100_000, max_bytes=10_000_000, max_lines=0)
    tracemalloc.start()
    try:
        assert texts(read(reader)) == []
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert taken < 3 * lines * 2  # a text of its own for each line would be some 60 bytes
    last = reader.finish()
    assert last is not None
    assert last.texts == ["first" + "\n x" * lines]


def test_lines_far_behind_the_first_leave_no_document(clock: ManualClock) -> None:
    def lines() -> Messages:
        texts = ["first", " a", " b", " c"]
        run = Messages(0, 400, texts, [0, 100, 200, 300], [100] * 4)
        run.docs = [{"first": 1}, {"a": 1}, {"b": 1}, {"c": 1}]
        return run

    message = PendingMessage(MessageLimits(100, 200, "\n"))
    message.add(lines(), 0, 4)
    joined = Messages(0, 400)
    message.close(joined)
    assert joined.texts == ["first\n a\n b\n c"]
    assert joined.docs == [{"first": 1, "a": 1, "b": 1}]
