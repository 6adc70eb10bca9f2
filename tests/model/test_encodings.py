"""Lines in every encoding and with every terminator against a naive reading: random bytes, random sizes of reads,
random places where a line was ended by time."""

import codecs
import random
from dataclasses import replace

from log_shipper.config.text.encodings import LineTerminator
from log_shipper.shipper.reader import line
from log_shipper.shipper.reader.base import MappedReader, Reader
from log_shipper.shipper.reader.limit import limit
from tests.model.naive_lines import DIALECTS, TERMINATORS, Dialect, read_naively
from tests.model.naive_reader import Message, as_messages
from tests.model.piecemeal import random_sizes, under_a_hole
from tests.model.seeds import for_each_seed
from tests.short_reads import LogOnDisk

PLAIN_TEXTS = ["one", "a line of some words", "", "\r"]
LANGUAGES = ["zwölf €", "日本語のログ", "中文日志", "로그", "журнал", "שלום", "é", "\U0001f600", "\U00020000"]
ODD_CHARACTERS = ["\ufeff", "\ufffd", "\n", "\x00\x1b\x7f", "\u0a00\u0d0a\u0a0d", "\u0100\u8500", "~{"]
TEXTS = [*PLAIN_TEXTS, *LANGUAGES, *ODD_CHARACTERS, "x" * 40]
HALF_CHARACTERS = [b"\xff", b"\xc3", b"\xe2\x80", b"\x81", b"\x81\x30", b"\x84\x31\x95", b"\x8f\xa2"]
HALF_SURROGATE_PAIRS = [b"\x00\xd8", b"\xd8\x00", b"\x00\xdc", b"\xdc"]
HALF_UNITS = [b"\x0a", b"\x00"]
ESCAPES = [b"\x1b$B", b"\x1b$", b"\x1b(J", b"\x1b.", b"\x0e", b"~{", b"~", b"~}", b"\x1b$B\x1b(J" * 12, b"~{~}" * 15]
DAMAGE = [*HALF_CHARACTERS, *HALF_SURROGATE_PAIRS, *HALF_UNITS, *ESCAPES]
SIZES = (1, 3, 20, 1000)


def random_content(dice: random.Random, dialect: Dialect, terminator: LineTerminator) -> bytes:
    damaged = dice.random() < 0.6
    pieces = [codecs.BOM_UTF16_LE if dice.random() < 0.5 else codecs.BOM_UTF16_BE] if dialect.codec == "" else []
    if dialect.codec and dice.random() < 0.3:
        pieces.append(dice.choice([codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, b"\x84\x31\x95\x33"]))
    codec = with_order(dialect, b"".join(pieces)).codec
    for _ in range(dice.randrange(50)):
        if damaged and dice.random() < 0.3:
            pieces.append(dice.choice(DAMAGE))
        ending = dice.choice(["", TERMINATORS[terminator], TERMINATORS[terminator], "\n", "\r\n"])
        pieces.append((dice.choice(TEXTS) + ending).encode(codec, "ignore"))
    return under_a_hole(b"".join(pieces)) if dialect.codec else b"".join(pieces)


def with_order(dialect: Dialect, content: bytes) -> Dialect:
    """Return the dialect with the codec that a byte order mark decides."""
    if dialect.marked and content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return replace(dialect, codec="utf-16-le" if content[:2] == codecs.BOM_UTF16_LE else "utf-16-be")
    return dialect


def random_case(dice: random.Random) -> tuple[Dialect, LineTerminator, bytes, int]:
    dialect = dice.choice(DIALECTS)
    terminator = dice.choice((dialect if dialect.codec else DIALECTS[2]).terminators)
    content = random_content(dice, dialect, terminator)
    return with_order(dialect, content), terminator, content, dice.choice([1, 3, 10, 38, 60, 10_000])


def read(reader: Reader, start: int = 0) -> list[Message]:
    """Return all messages; check that the runs are contiguous, and account for each raw byte but those of empty lines
    that the limit has dropped."""
    messages: list[Message] = []
    for run in iter(reader.next, None):
        assert run.start == start
        for message in as_messages(run):
            assert message.offset == start or isinstance(reader, MappedReader)
            start = message.end
            messages.append(message)
        assert run.end == start or isinstance(reader, MappedReader)
        start = run.end
    return messages


@for_each_seed(1000, failed_once=[12989])
def test_lines_are_what_a_naive_reading_finds_whatever_the_sizes_of_the_reads(seed: int, log: LogOnDisk) -> None:
    dice = random.Random(seed)
    dialect, terminator, content, max_bytes = random_case(dice)
    cuts = tuple(sorted(dice.sample(range(1, len(content) + 1), min(dice.choice([0, 0, 1, 3]), len(content)))))
    log.write(content)
    file = log.open(0, cuts, random_sizes(dice, *SIZES))
    messages = read(limit(line.build(dialect.encoding, terminator, file, max_bytes), max_bytes))
    expected = [naive for naive in read_naively(content, dialect, terminator, max_bytes, cuts) if naive.text]
    assert messages == expected
    for position in dice.sample([0, *(message.end for message in expected)], min(len(expected) + 1, 4)):
        again = log.open(position, tuple(cut for cut in cuts if cut > position), random_sizes(dice, *SIZES))
        repeated = read(limit(line.build(dialect.encoding, terminator, again, max_bytes), max_bytes), position)
        assert repeated == [message for message in expected if message.offset >= position]


@for_each_seed(500)
def test_what_is_kept_of_a_line_does_not_depend_on_the_sizes_of_the_reads(seed: int, log: LogOnDisk) -> None:
    """Parsers read it before the limit truncates it."""
    dice = random.Random(seed)
    dialect, terminator, content, max_bytes = random_case(dice)
    log.write(content)
    at_once = read(line.build(dialect.encoding, terminator, log.open(), max_bytes))
    file = log.open(sizes=random_sizes(dice, *SIZES))
    assert read(line.build(dialect.encoding, terminator, file, max_bytes)) == at_once
