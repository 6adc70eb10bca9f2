"""The reader chain against a naive one: random bytes, random parsers, random sizes of reads, random endings by time."""

import itertools
import random

from log_shipper.shipper.event import MULTILINE, TRUNCATED, Messages
from log_shipper.shipper.options.model import InputConfig
from log_shipper.shipper.parsers.multiline import MultilineConfig
from log_shipper.shipper.reader import chain
from tests.builders import input_config, multiline
from tests.fakes import ManualClock
from tests.model.naive_reader import Message, as_messages, read_naively
from tests.model.piecemeal import GrowingFile, drain, random_sizes, under_a_hole
from tests.model.seeds import for_each_seed
from tests.short_reads import LogOnDisk

NEWLINES = [b"\n", b"\r\n", b"\n\n", b"\r"]
WORDS = [b"one", b"a line of some words", b" indented", b"\tat x.y(Z.java:1)", b"[1] start"]
HALF_CHARACTERS = [b"\xff", b"\xc3", b"\xe2\x82"]
CHARACTERS = ["zwölf €".encode(), "\U0001f600".encode(), b"\x00\x1b\x7f"]
PIECES = [*NEWLINES, *WORDS, *HALF_CHARACTERS, *CHARACTERS, b"x" * 40, "é".encode() * 30, b"end\\", b"-"]
PARSERS = [
    multiline(r"^\s"),
    multiline(r"^\[", negate=True),
    multiline(r"\\$", match="before"),
    multiline(r"x$", negate=True, match="before", max_lines=3),
    multiline(r"^\s|^$|€$", max_lines=2),
    MultilineConfig(pattern=r"^\[", negate=True, flush_pattern="-$"),
    MultilineConfig(pattern=r"^\s|^$", flush_pattern="^one|x", max_lines=0, skip_newline=True),
    MultilineConfig(pattern=r"\\$", match="before", flush_pattern="^-|x$"),
    MultilineConfig(pattern=r"x$", negate=True, match="before", flush_pattern="^$"),
    MultilineConfig(type="while_pattern", pattern=r"^\s|^$"),
    MultilineConfig(type="while_pattern", pattern=r"[x€]", negate=True, max_lines=3, skip_newline=True),
    MultilineConfig(type="count", count_lines=3),
    MultilineConfig(type="count", count_lines=4, max_lines=2, skip_newline=True),
    MultilineConfig(type="count", count_lines=1),
]
SIZES = (1, 3, 20, 1000)


def random_content(dice: random.Random) -> bytes:
    pieces = [dice.choice(PIECES) + dice.choice([b"", b"\n", b"\n", b"\r\n"]) for _ in range(dice.randrange(60))]
    return under_a_hole(b"".join(pieces))


def random_config(dice: random.Random) -> tuple[InputConfig, int]:
    parsers = dice.sample(PARSERS, dice.choice([0, 1, 1, 2]))
    return input_config(*parsers), dice.choice([1, 3, 10, 38, 60, 10_000])


def check_runs(runs: list[Messages], start: int) -> None:
    """Check that the runs are contiguous, ascend, and account for each raw byte."""
    for run in runs:
        assert run.start == start
        assert run.end >= run.start
        inside = [run.start, *itertools.chain(*((m.offset, m.end) for m in as_messages(run))), run.end]
        assert inside == sorted(inside)
        start = run.end


def flatten(runs: list[Messages]) -> list[Message]:
    return [message for run in runs for message in as_messages(run)]


@for_each_seed(400)
def test_the_chain_reads_what_the_naive_model_reads_whatever_the_sizes_of_the_reads(seed: int, log: LogOnDisk) -> None:
    dice = random.Random(seed)
    content, (config, max_bytes) = random_content(dice), random_config(dice)
    log.write(content)
    runs = drain(chain.build(config, log.open(sizes=random_sizes(dice, *SIZES)), max_bytes, ManualClock()))
    assert flatten(runs) == read_naively(content, config, max_bytes)
    check_runs(runs, 0)
    flags = {flags for run in runs for flags in run.flags.values()}
    assert flags <= {(MULTILINE,), (TRUNCATED,), (MULTILINE, TRUNCATED)}


@for_each_seed(300)
def test_a_second_reading_from_any_position_gives_the_same_messages(seed: int, log: LogOnDisk) -> None:
    """The file grows during the first reading, which ends some messages by time; the second reading has its cuts."""
    dice = random.Random(seed)
    content, (config, max_bytes) = random_content(dice), random_config(dice)
    log.write(b"")
    reader = chain.build(config, log.open(sizes=random_sizes(dice, *SIZES)), max_bytes, ManualClock())
    file = GrowingFile(dice, log, lambda: dice.randrange(1, 80))
    runs = file.write(content, reader)
    check_runs(runs, 0)
    first = flatten(runs)
    assert first == read_naively(content, config, max_bytes, tuple(file.cuts))
    for position in dice.sample([0, *(run.end for run in runs)], min(len(runs) + 1, 5)):
        again = log.open(position, file.cuts_behind(position), random_sizes(dice, *SIZES))
        repeated = drain(chain.build(config, again, max_bytes, ManualClock()))
        check_runs(repeated, position)
        expected = [message for message in first if message.offset >= position]
        assert flatten(repeated)[: len(expected)] == expected
        assert len(flatten(repeated)) == len(expected)


@for_each_seed(100)
def test_a_reading_that_ends_at_the_files_size_leaves_no_byte_out(seed: int, log: LogOnDisk) -> None:
    """With `--once` the end of the file is a cut, also in the middle of a line."""
    dice = random.Random(seed)
    content, (config, max_bytes) = random_content(dice) + b"x", random_config(dice)
    log.write(content)
    cuts = (len(content),)
    runs = drain(chain.build(config, log.open(0, cuts, random_sizes(dice, *SIZES)), max_bytes, ManualClock()))
    assert flatten(runs) == read_naively(content, config, max_bytes, cuts)
    check_runs(runs, 0)
    assert runs[-1].end == len(content)
