import gzip
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from log_shipper.shipper.errors import Truncated
from log_shipper.shipper.event import TRUNCATED, Batch
from log_shipper.shipper.inputs.files.identity.content import PlainFile
from log_shipper.shipper.inputs.files.identity.fingerprint import digest
from log_shipper.shipper.inputs.files.identity.opened_file import EntryMatch
from log_shipper.shipper.inputs.files.identity.prefix import Prefix, ProofTrail
from log_shipper.shipper.inputs.files.reading.continued_file import ContinuedFile
from log_shipper.shipper.parsers.container import ContainerConfig
from log_shipper.shipper.parsers.include_message import IncludeMessageConfig
from log_shipper.shipper.parsers.multiline import MultilineConfig
from log_shipper.shipper.reader import line
from log_shipper.shipper.reader.gzip_file import CompressionError
from tests.builders import multiline
from tests.descriptors import open_below
from tests.reading_room import Room, acknowledge, entry_of, proof_of, read_all

MakeRoom = Callable[..., Room]


class Pair:
    """Two files, the first read to its end, with a message pending there that may continue in the second."""

    def __init__(self, room: Room, first: bytes, second: bytes, **changes: Any) -> None:
        """Apply `changes` to the entry of the first."""
        self.room = room
        room.write("app.log.1", first)
        opened = room.open("app.log.1")
        self.old = room.start(opened, EntryMatch(replace(room.entries.make(opened).state, **changes)))
        self.before = read_all(self.old)
        self.new = room.read("app.log", second)
        self.old.continue_in(self.new)

    def read(self) -> Batch:
        """Return the one batch with the message."""
        batches = read_all(self.old)
        acknowledge(batch for batch in batches if not batch.events)
        (batch,) = [batch for batch in batches if batch.events]
        return batch

    def positions(self) -> tuple[int, int]:
        return self.old.state.position, self.new.state.position


MakePair = Callable[[bytes, bytes], Pair]


@pytest.fixture
def join(make_room: MakeRoom) -> MakePair:
    room = make_room(parsers=(multiline(r"^\s"),))
    return lambda first, second: Pair(room, first, second)


def acknowledged(batches: list[Batch]) -> list[str]:
    acknowledge(batches)
    return [text for batch in batches for text in batch.messages.texts]


def test_both_positions_move_when_it_is_acknowledged_and_not_before(join: MakePair) -> None:
    pair = join(b"one\n +\n", b" ++\ntwo\n")
    acknowledge(pair.before)
    whole = pair.read()
    assert pair.positions() == (0, 0)
    whole.resolve()
    assert pair.positions() == (7, 4)


def test_the_successor_is_saved_first(join: MakePair) -> None:
    """Should only that one be on disk, the message is read again as a whole."""
    pair = join(b"one\n +\n", b" ++\ntwo\n")
    acknowledge(pair.before)
    whole = pair.read()
    pair.room.books.written.clear()
    whole.resolve()
    assert list(pair.room.books.written) == [pair.new.state.id, pair.old.state.id]


def test_a_message_that_ends_with_the_file_takes_nothing_of_the_next(join: MakePair) -> None:
    pair = join(b"one\n +\n", b"two\nthree\n")
    whole = pair.read()
    assert whole.messages.texts == ["one\n +"]
    acknowledge([*pair.before, whole])
    assert pair.positions() == (7, 0)
    assert acknowledged(read_all(pair.new)) == ["two"]


def test_its_end_by_time_is_a_cut_until_it_is_acknowledged(join: MakePair) -> None:
    pair = join(b"one\n", b" +\n")
    more = read_all(pair.old)
    message = pair.old.end_message()
    assert message is not None
    assert (pair.old.state.cuts, pair.old.take_unsaved_state()) == ((7,), pair.old.state)
    acknowledge([*pair.before, *more, message])
    assert pair.old.state.cuts == ()


def test_the_first_file_is_at_its_own_end_again(join: MakePair) -> None:
    pair = join(b"one\n", b" +\ntwo\n")
    pair.read()
    assert not pair.old.is_continued
    assert (pair.old.offset, pair.old.read_to) == (4, 4)
    assert pair.old.read() is None


def test_while_it_is_continued_only_its_own_bytes_count_as_read(join: MakePair) -> None:
    pair = join(b"one\n", b" +\n")
    read_all(pair.old)
    assert pair.old.read_to == 4


def test_a_successor_that_was_read_before_is_not_read_twice(join: MakePair) -> None:
    """After a crash: of the two positions, only its own was saved."""
    pair = join(b"one\n +\n", b" ++\ntwo\n")
    pair.new.skip(4, b" ++\n")()
    whole = pair.read()
    assert whole.messages.texts == ["one\n +\n ++"]
    acknowledge([*pair.before, whole])
    assert pair.positions() == (7, 4)


def test_what_was_read_of_the_successor_is_proven_though_it_was_truncated_since(join: MakePair) -> None:
    """A copy of it resumes there: nothing of it was shipped as its own."""
    pair = join(b"one\n +\n", b" ++\n")
    read_all(pair.old)
    pair.room.write("app.log", b"")
    whole = pair.old.end_message()
    assert whole is not None
    acknowledge([*pair.before, whole])
    state = pair.new.state
    assert (state.position, state.proof, state.tail_hash) == (4, proof_of(b" ++\n"), digest(b" ++\n"))


def test_what_was_written_to_the_successor_instead_is_not_passed_over(join: MakePair) -> None:
    pair = join(b"one\n +\n", b"")
    pair.room.append("app.log", b" ++\n")
    read_all(pair.old)
    pair.room.write("app.log", b"two\nthree\n")
    pair.old.end_message()
    with pytest.raises(Truncated):
        read_all(pair.new)


def test_a_successor_that_was_closed_meanwhile_takes_nothing(join: MakePair) -> None:
    pair = join(b"one\n +\n", b" ++\ntwo\n")
    pair.new.close()
    acknowledge([*pair.before, pair.read()])
    assert pair.positions() == (7, 0)


def test_closing_the_first_file_closes_what_it_read_in_the_next(join: MakePair) -> None:
    pair = join(b"one\n", b" +\n")
    own, next_one = (str(pair.room.path(name)) for name in ("app.log.1", "app.log"))
    assert open_below(pair.room.folder) == [next_one, next_one, own]
    pair.old.close()
    assert open_below(pair.room.folder) == [next_one]


def test_a_line_without_end_in_the_first_file_is_kept_when_time_ends_the_message(
    make_room: MakeRoom,
) -> None:
    room = make_room(parsers=(multiline(r"^\s"),), line_terminator="carriage_return")
    pair = Pair(room, b"one\r +\rlast\n", b"")
    message = pair.old.end_message()
    assert message is not None
    assert acknowledged([*pair.before, message]) == ["one\n +"]
    assert (pair.old.is_continued, pair.positions()) == (False, (7, 0))
    pair.room.append("app.log.1", b"\rtwo\r")
    assert acknowledged(read_all(pair.old)) == ["last\n"]


def test_what_is_interleaved_with_a_split_message_has_offsets_of_the_first_file(make_room: MakeRoom) -> None:
    first, second = cri(("F", "zero"), ("P", "one")), cri(("f", "two"), ("f", "three"), ("F", " ++"), ("F", "four"))
    pair = Pair(make_room(parsers=(ContainerConfig(),)), first, second)
    whole = pair.read().messages
    assert whole.texts == ["one ++", "two", "three"]
    assert whole.offsets == [len(first) // 2 + 1, len(first) - 2, len(first) - 1]
    assert [offset + length for offset, length in zip(whole.offsets, whole.lengths, strict=True)] == [
        *whole.offsets[1:],
        whole.end,
    ]


# The file itself, below the readers.


class Rotated:
    """A file that was read to its end and is continued in another. `trail` has the proofs of its own bytes."""

    def __init__(self, room: Room, first: bytes, second: bytes, *, line_end: bytes = b"\n", cuts: tuple[int, ...] = ()):
        self.trail = ProofTrail(Prefix())
        self.room = room
        self.old, self.new = room.read("app.log.1", first), room.read("app.log", second)
        self.file = ContinuedFile(PlainFile(self.old.fd, 0, cuts, self.trail, len(line_end)), line_end)
        while self.file.next():
            self.file.pop_cut()
        self.file.continue_in(self.new)

    def pieces(self) -> list[bytes]:
        return list(iter(self.file.next, b""))


def test_no_more_than_one_line_ends_in_what_one_read_of_the_next_file_gives(room: Room) -> None:
    rotated = Rotated(room, b"a\nb\n", b"c\n\n" + b"d" * 99 + b"\ne")
    assert rotated.pieces() == [b"c\n", b"\n", b"d" * 99 + b"\n", b"e"]
    assert (rotated.file.offset, rotated.file.start) == (108, 4)
    rotated.file.close()


def test_in_utf_16_too(make_room: MakeRoom) -> None:
    ends = "\n".encode("utf-16-le")
    room = make_room(encoding="utf-16le")
    rotated = Rotated(room, "a\n".encode("utf-16-le"), "b\nc\n".encode("utf-16-le"), line_end=ends)
    pieces = rotated.pieces()
    assert b"".join(pieces) == "b\nc\n".encode("utf-16-le")
    assert all(piece.count(b"\n") <= 1 for piece in pieces)
    assert len(pieces) == 3  # the NUL behind a line feed comes with the next line
    rotated.file.close()


def test_what_is_written_to_the_next_file_meanwhile_follows(room: Room) -> None:
    rotated = Rotated(room, b"a\n", b"")
    assert rotated.file.next() == b""
    room.append("app.log", b"b")
    assert rotated.pieces() == [b"b"]
    room.append("app.log", b"c\nd\n")
    assert rotated.pieces() == [b"c\n", b"d\n"]
    rotated.file.close()


def test_a_cut_in_the_next_file_is_reached_where_it_was_made(room: Room) -> None:
    rotated = Rotated(room, b"a\n", b"b\nc\nd\n", cuts=(2, 6))
    assert [(rotated.file.next(), rotated.file.pop_cut()) for _ in range(3)] == [
        (b"b\n", False),
        (b"c\n", True),
        (b"d\n", False),
    ]
    rotated.file.close()


def test_what_is_read_of_the_next_file_is_no_proof_of_the_first(room: Room) -> None:
    """Its bytes are that file's."""
    rotated = Rotated(room, b"one\n", b"two\n")
    rotated.pieces()
    assert (rotated.trail.proof_at(4), rotated.trail.proof_at(8)) == (proof_of(b"one\n"), "")
    rotated.file.close()


def test_the_byte_order_mark_of_the_next_file_is_not_text_either(room: Room) -> None:
    rotated = Rotated(room, "\ufeffa\n".encode(), "\ufeffb\n\ufeffc\n".encode())
    reader = line.build("utf-8", "auto", rotated.file, 1000)
    runs = list(iter(reader.next, None))
    assert [(run.texts, run.offsets) for run in runs] == [(["b"], [5]), (["\ufeffc"], [10])]
    rotated.file.close()


def test_a_long_line_of_the_next_file_is_cut_and_flagged(room: Room) -> None:
    rotated = Rotated(room, b"a\n", b"b" * 99 + b"\nc\n")
    runs = list(iter(line.LineReader(rotated.file, 50).next, None))
    assert [(run.start, run.end, run.flags) for run in runs] == [(2, 102, {0: (TRUNCATED,)}), (102, 104, {})]
    rotated.file.close()


def test_a_next_file_that_was_rewritten_before_it_was_read_is_not_what_followed(room: Room) -> None:
    rotated = Rotated(room, b"a\n", b"b\n")
    room.write("app.log", b"other\n")
    with pytest.raises(Truncated):
        rotated.file.next()
    rotated.file.close()


def test_a_line_of_which_half_is_stored_is_read_again_soon(room: Room) -> None:
    half = bytes(8) + b"stored\n" + bytes(100)
    rotated = Rotated(room, b"a\n", half)
    assert (rotated.file.next(), rotated.file.busy) == (b"", True)
    rotated.file.close()
    room.append("app.log.1", half)
    own = ContinuedFile(PlainFile(rotated.old.fd, 2), b"\n")
    assert (own.next(), own.busy) == (b"", True)


def test_nuls_at_the_end_of_the_next_file_are_not_content(room: Room) -> None:
    rotated = Rotated(room, b"a\n", b"b\n" + bytes(4096))
    assert rotated.pieces() == [b"b\n"]
    rotated.file.close()


# Compressed ones.

PACKED = pytest.mark.parametrize(
    "pack", [(gzip.compress, bytes), (bytes, gzip.compress), (gzip.compress, gzip.compress)]
)
Pack = tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]


@pytest.fixture
def followed(make_room: MakeRoom) -> Callable[..., Pair]:
    """Of the first file it is known that the second one followed it."""
    room = make_room(parsers=(multiline(r"^\s"),), compression="auto")

    def make(first: bytes, second: bytes, *, size_seen: int = 0) -> Pair:
        return Pair(room, first, second, continues_in="the next one", size_seen=size_seen)

    return make


@PACKED
def test_a_message_is_one_also_where_a_file_is_compressed(followed: Callable[..., Pair], pack: Pack) -> None:
    pair = followed(pack[0](b"one\n +\n"), pack[1](b" ++\ntwo\n"))
    whole = pair.read()
    assert (whole.messages.texts, whole.messages.offsets, whole.messages.lengths) == (["one\n +\n ++"], [0], [11])
    acknowledge(pair.before)
    whole.resolve()
    assert pair.positions() == (7, 4)
    assert pair.new.state.proof == proof_of(b" ++\n")
    assert acknowledged(read_all(pair.new))[:1] == (["two"] if pack[1] is gzip.compress else [])


def test_the_end_of_a_compressed_file_that_none_follows_ends_the_message(make_room: MakeRoom) -> None:
    room = make_room(parsers=(multiline(r"^\s"),), compression="auto")
    harvester = room.read("app.log.1.gz", gzip.compress(b"one\n +\n"))
    assert acknowledged(read_all(harvester)) == ["one\n +"]
    assert harvester.is_complete


def test_a_compressed_file_is_not_complete_while_its_message_may_continue(followed: Callable[..., Pair]) -> None:
    """Its entry would say that all of it was read."""
    pair = followed(gzip.compress(b"one\n"), b"")
    assert (pair.old.is_complete, pair.old.message_deadline is not None) == (False, True)


def test_a_line_without_end_is_the_last_of_a_compressed_file(followed: Callable[..., Pair]) -> None:
    pair = followed(gzip.compress(b"one\n +"), b" ++\n")
    assert [text for batch in pair.before for text in batch.messages.texts] == ["one\n +"]
    assert not pair.old.is_continued


def test_a_line_without_end_is_also_the_last_of_a_compressed_file_between(followed: Callable[..., Pair]) -> None:
    pair = followed(b"one\n", gzip.compress(b" ++\n +"))
    pair.new.update(continues_in="the next one")
    assert pair.read().messages.texts == ["one\n ++\n +"]


def test_something_else_behind_the_compressed_data_ends_the_message(followed: Callable[..., Pair]) -> None:
    harvester = followed(b"", b"").room.read("damaged.log", gzip.compress(b"one\n") + b"else")
    harvester.update(continues_in="the next one")
    batch = harvester.read()
    assert batch is not None
    assert batch.messages.texts == ["one"]
    with pytest.raises(CompressionError):
        harvester.read()


def test_nothing_continues_behind_a_compressed_file_that_is_not_whole(followed: Callable[..., Pair]) -> None:
    assert not followed(gzip.compress(b"one\n")[:-8], b" +\n").old.is_continued


def test_nothing_continues_behind_a_compressed_file_that_lacks_lines_of_its_original(
    followed: Callable[..., Pair],
) -> None:
    """Something was written to the original after it had been compressed, and is lost."""
    assert not followed(gzip.compress(b"one\n"), b" +\n", size_seen=7).old.is_continued


def test_a_cut_at_the_end_of_a_compressed_file_stays_one(followed: Callable[..., Pair]) -> None:
    """There the message was ended by time: it has the same text whenever it is read."""
    pair = followed(gzip.compress(b"one\n"), b"")
    ended = pair.old.end_message()
    assert ended is not None
    assert pair.old.state.cuts == (4,)
    again = pair.room.start(pair.room.open("app.log.1"), EntryMatch(pair.old.state))
    assert [batch.messages.texts for batch in read_all(again) if batch.events] == [["one"]]


def test_damage_in_the_next_file_ends_the_message(followed: Callable[..., Pair]) -> None:
    damaged = gzip.compress(b" +\n")[:-8] + bytes(8)
    pair = followed(b"one\n", damaged)
    assert pair.read().messages.texts == ["one\n +"]
    with pytest.raises(CompressionError):
        read_all(pair.new)


def test_of_much_that_was_taken_of_a_compressed_file_there_is_no_proof(followed: Callable[..., Pair]) -> None:
    many = (b" " + bytes(range(97, 122)) * 40 + b"\n") * 400
    pair = followed(b"one\n", gzip.compress(many + b"two\n"))
    batches = read_all(pair.old)
    acknowledge([*pair.before, *batches])
    assert acknowledged(read_all(pair.new)) == ["two"]
    assert (pair.new.state.position, pair.new.state.proof) == (len(many) + 4, "")


CRI = b"2026-01-01T00:00:00.%dZ %s %s %s\n"


def cri(*lines: tuple[str, str]) -> bytes:
    """Lines of a container: a tag and a text each. A capital tag is stdout's, a small one stderr's."""
    return b"".join(
        CRI % (index, b"stdout" if tag.isupper() else b"stderr", tag.upper().encode(), text.encode())
        for index, (tag, text) in enumerate(lines)
    )


# Options of the input, both files, the texts that come of the first and of the second.
@dataclass(frozen=True)
class Across:
    """Two files, and the messages that are read of each."""

    options: dict[str, Any]
    first: bytes
    second: bytes
    of_first: list[str]
    of_second: list[str]


ACROSS = {
    "dropped by exclude_lines": Across(
        {"parsers": (multiline(r"^\s"),), "exclude_lines": ("^one",)},
        b"zero\none\n +\n",
        b" ++\ntwo\nthree\n",
        ["zero"],
        ["two"],
    ),
    "not included": Across(
        {"parsers": (multiline(r"^\s"),), "include_lines": ("^t",)},
        b"one\n +\n",
        b" ++t\ntwo\n ++\nthree\n",
        [],
        ["two\n ++"],
    ),
    "dropped by a parser": Across(
        {"parsers": (multiline(r"^\s"), IncludeMessageConfig(patterns=("^t",)))},
        b"one\n",
        b" ++\n ++\ntwo\nthree\n",
        [],
        ["two"],
    ),
    "dropped, and it ends with the file": Across(
        {"parsers": (multiline(r"^\s"),), "exclude_lines": ("^one",)},
        b"one\n +\n",
        b"two\nthree\nfour\n",
        [],
        ["two", "three"],
    ),
    "it and the next dropped": Across(
        {"parsers": (MultilineConfig(type="while_pattern", pattern=r"^\s"),), "exclude_lines": (r"^\s|^two",)},
        b"zero\n +\n",
        b" ++\ntwo\nthree\n",
        ["zero"],
        ["three"],
    ),
    "a line of its own ends it": Across(
        {"parsers": (MultilineConfig(type="while_pattern", pattern=r"^\s"),)},
        b"zero\n +\n",
        b" ++\ntwo\nthree\n",
        ["zero", " +\n ++"],
        ["two", "three"],
    ),
    "two parsers that join": Across(
        {"parsers": (multiline(r"^\s"), multiline("^a"))},
        b"one\nab\n +\n",
        b"ac\n +\ntwo\nthree\nfour\n",
        ["one\nab\n +\nac\n +"],
        ["two"],
    ),
    "two parsers that join, and the outer one's ends in the first file": Across(
        {"parsers": (multiline(r"^\s"), multiline("^a"))},
        b"one\ntwo\n +\n",
        b" ++\nab\nthree\nfour\nfive\n",
        ["one", "two\n +\n ++\nab"],
        ["three"],
    ),
    "the next file has a byte order mark": Across(
        {"parsers": (multiline(r"^\[", negate=True),)},
        b"[1]\n+\n",
        b"\xef\xbb\xbf[2]\n+\n[3]\n",
        ["[1]\n+"],
        ["[2]\n+"],
    ),
    "the next file has one in utf-16, and its first line belongs to the last one's message": Across(
        {"parsers": (multiline(r"^\s"),), "encoding": "utf-16le-bom"},
        "\ufeffone\n".encode("utf-16-le"),
        "\ufeff +\ntwo\nthree\n".encode("utf-16-le"),
        ["one\n +"],
        ["two"],
    ),
    "parts of a container's line, with others between": Across(
        {"parsers": (ContainerConfig(),)},
        cri(("F", "zero"), ("P", "one")),
        cri(("f", "two"), ("F", " ++"), ("F", "three")),
        ["zero", "one ++", "two"],
        ["three"],
    ),
    "parts of a container's line, of one stream": Across(
        {"parsers": (ContainerConfig(stream="stdout"),)},
        cri(("F", "zero"), ("P", "one")),
        cri(("f", "two"), ("F", " ++"), ("f", "two"), ("F", "three")),
        ["zero", "one ++"],
        ["three"],
    ),
    "parts of a container's line, with others between, that are dropped": Across(
        {"parsers": (ContainerConfig(),), "exclude_lines": ("^one",)},
        cri(("F", "zero"), ("P", "one")),
        cri(("f", "two"), ("F", " ++"), ("F", "three")),
        ["zero", "two"],
        ["three"],
    ),
}


@pytest.mark.parametrize("case", ACROSS)
@pytest.mark.parametrize("grows", [False, True])
def test_a_split_message_is_read_once_also_where_it_is_dropped(case: str, grows: bool, make_room: MakeRoom) -> None:
    across = ACROSS[case]
    lines = re.findall(rb"[^\n]*\n\0?|[^\n]+", across.second) if grows else [across.second]
    pair = Pair(make_room(**across.options), across.first, lines.pop(0))
    batches = [*pair.before, *read_all(pair.old)]
    for following in lines:
        pair.room.append("app.log", following)
        batches += read_all(pair.old)
    assert acknowledged(batches) == across.of_first
    assert acknowledged(read_all(pair.new)) == across.of_second
    assert pair.old.state.position == len(across.first)


def test_a_file_that_is_still_to_be_proven_sends_what_was_taken_of_it_once_more(make_room: MakeRoom) -> None:
    """Its position lies within the message, which ended elsewhere when it was shipped: the pattern was another."""
    room = make_room(parsers=(multiline(r"^\s"),))
    first = room.read("app.log.1", b"one\n +\n")
    acknowledge(read_all(first))
    room.write("app.log", b" ++\n +++\nnext\n")
    state = entry_of(room.path("app.log"), 4)
    second = room.start(room.open("app.log"), EntryMatch(state, state.path, state))
    first.continue_in(second)
    assert acknowledged(read_all(first)) == ["one\n +\n ++\n +++"]
    read_all(second)
    assert second.is_proven
