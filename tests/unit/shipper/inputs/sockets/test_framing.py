"""Random streams, cut anywhere, against a splitter that sees all of it at once."""

import random

import pytest

from log_shipper.shipper.formats.text import cut_text
from log_shipper.shipper.inputs.sockets.framing import DelimiterFraming, Frames, Framing, OctetFraming
from tests.model.seeds import for_each_seed

LIMIT = 40
PIECES = [
    b"a",
    b"1",
    b"23 ",
    b" ",
    b"<13>x",
    b"\n",
    b"\r\n",
    b"\r",
    b"\0",
    b"\xff",
    b"\xc3",
    "é€😀".encode(),
    b"ab",
    b"x" * 60,
]
DELIMITERS = ["\n", "\0", "\r\n", "ab", "aa", "aba", "€"]


def received(framing: Framing, pieces: list[bytes]) -> Frames:
    frames = Frames()
    for piece in pieces:
        given = framing.add(piece)
        frames.texts += given.texts
        frames.lengths += given.lengths
    given, _ = framing.end()
    frames.texts += given.texts
    frames.lengths += given.lengths
    return frames


def cut_anywhere(data: bytes, chance: random.Random) -> list[bytes]:
    places = sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(12)))
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True) if b > a]


def text_of(raw: bytes, delimiter: str) -> str:
    text = raw.decode("utf-8", "replace")
    return text.removesuffix("\r") if delimiter == "\n" else text


def naive_lines(data: bytes, delimiter: str) -> tuple[list[str], list[int]]:
    *lines, rest = data.split(delimiter.encode())
    size = len(delimiter.encode())
    ended = [*lines, rest] if rest else lines
    texts = [text_of(line, delimiter) for line in ended]
    return texts, [len(line) + size for line in lines] + [len(rest)] * bool(rest)


def naive_octets(data: bytes, delimiter: str) -> tuple[list[str], list[int]]:
    texts, lengths, end = [], [], delimiter.encode()
    while data:
        if data[:1].isdigit():
            digits, blank, rest = data.partition(b" ")
            if not blank or not digits.isdigit() or len(digits) > 10 or len(rest) < int(digits):
                break
            texts.append(rest[: int(digits)].decode("utf-8", "replace"))
            lengths.append(len(digits) + 1 + int(digits))
        else:
            line, ended, _ = data.partition(end)
            texts.append(text_of(line, delimiter))
            lengths.append(len(line) + len(ended))
        data = data[lengths[-1] :]
    return texts, lengths


def limited(texts: list[str]) -> list[str]:
    """Return what the chain's limit leaves (`limit`)."""
    return [cut_text(text, LIMIT) for text in texts]


@for_each_seed(400)
def test_lines_do_not_depend_on_where_reads_end(seed: int) -> None:
    chance = random.Random(seed)
    delimiter = chance.choice(DELIMITERS)
    pieces = [*PIECES, *[delimiter.encode()] * 8]
    data = b"".join(chance.choices(pieces, k=chance.randrange(60)))
    frames = received(DelimiterFraming(delimiter, LIMIT), cut_anywhere(data, chance))
    texts, lengths = naive_lines(data, delimiter)
    assert limited(frames.texts) == limited(texts)
    assert frames.lengths == lengths


@for_each_seed(400)
def test_octet_counted_messages_do_not_depend_on_where_reads_end(seed: int) -> None:
    chance = random.Random(seed)
    delimiter = chance.choice(DELIMITERS)
    data = b""
    for _ in range(chance.randrange(20)):
        body = b"".join(chance.choices(PIECES, k=chance.randrange(8)))
        if chance.random() < 0.6:
            data += b"%d " % len(body) + body
        elif not body[:1].isdigit():
            data += body + delimiter.encode()
        if chance.random() < 0.05:
            data += chance.choice([b"12x ", b"99999999999 ", b"7"])
    frames = received(OctetFraming(delimiter, LIMIT), cut_anywhere(data, chance))
    texts, lengths = naive_octets(data, delimiter)
    assert limited(frames.texts) == limited(texts)
    assert frames.lengths == lengths


@pytest.mark.parametrize("nonsense", [b"12x <13>a", b"99999999999 a", b"1" * 30, b"5\n"])
def test_what_is_no_length_ends_the_messages_and_keeps_those_before(nonsense: bytes) -> None:
    framing = OctetFraming("\n", LIMIT)
    frames = framing.add(b"3 abc" + nonsense)
    assert frames.texts == ["abc"]
    assert "does not begin with a message length" in framing.failure


def test_a_message_that_comes_byte_by_byte_is_not_looked_at_twice() -> None:
    size = 200_000
    framing = DelimiterFraming("ab", size)
    for _ in range(size):
        framing.add(b"a")
    assert framing.pending == size
    assert framing.add(b"b").lengths == [size + 1]


@pytest.mark.parametrize("kind", [DelimiterFraming, OctetFraming])
def test_of_a_message_beyond_the_limit_no_more_than_the_limit_is_kept(kind: type[Framing]) -> None:
    framing = kind("\n", LIMIT)  # type: ignore[call-arg]  # both take the same
    for _ in range(100):
        framing.add(b"x" * 1000)
    assert framing.pending < 2 * LIMIT
    frames = framing.add(b"\nnext\n")
    assert (frames.texts[1], frames.lengths) == ("next", [100_001, 5])


def test_a_counted_message_beyond_the_limit_is_kept_up_to_it() -> None:
    framing = OctetFraming("\n", LIMIT)
    framing.add(b"100000 ")
    for _ in range(99):
        framing.add(b"x" * 1000)
    assert framing.pending < 2 * LIMIT
    frames = framing.add(b"x" * 1000 + b"4 next")
    assert (frames.texts[1], frames.lengths) == ("next", [100_007, 6])


@pytest.mark.parametrize(
    ("kind", "begun", "rest"),
    [
        (DelimiterFraming, b"begun", b"rest\nnext\n"),
        (OctetFraming, b"begun", b"rest\nnext\n"),
        (OctetFraming, b"9 begun", b"restnext\n"),
    ],
)
def test_a_message_that_was_cut_is_flagged_and_its_rest_is_dropped(
    kind: type[Framing], begun: bytes, rest: bytes
) -> None:
    framing = kind("\n", LIMIT)  # type: ignore[call-arg]  # both take the same
    framing.add(begun)
    cut = framing.cut()
    assert (cut.texts, cut.flags, framing.pending) == (["begun"], {0: ("truncated",)}, 0)
    assert framing.add(rest).texts == ["next"]


def test_the_end_of_a_connection_ends_its_last_line() -> None:
    framing = DelimiterFraming("\n", LIMIT)
    assert framing.add(b"one\ntw").texts == ["one"]
    framing.add(b"o\r")
    frames, lost = framing.end()
    assert (frames.texts, frames.lengths, lost) == (["two"], [4], 0)


def test_a_counted_message_that_did_not_come_whole_is_lost() -> None:
    framing = OctetFraming("\n", LIMIT)
    assert framing.add(b"3 one5 tw").texts == ["one"]
    assert framing.end() == (Frames(), 4)
