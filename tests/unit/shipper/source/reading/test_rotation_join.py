import gzip
import os
import re
from collections.abc import Callable
from typing import Any

import pytest

from config.shipper.model import MultilineConfig
from config.shipper.ndjson import IncludeMessageConfig
from config.shipper.parsers import ContainerConfig
from shipper.errors import Truncated
from shipper.event import Batch
from shipper.source.identity.entries import EntryMatch
from shipper.source.identity.fingerprint import digest
from shipper.source.reading.harvester import Harvester
from tests.builders import multiline
from tests.reading_room import Room, acknowledge, entry_of, proof_of, read_all

MakeRoom = Callable[..., Room]


class Pair:
    """Two files, the first read to its end, with a message under way there that may go on in the second."""

    def __init__(self, room: Room, first: bytes, second: bytes) -> None:
        self.room = room
        self.old = room.read("app.log.1", first)
        self.before = read_all(self.old)
        self.new = room.read("app.log", second)
        self.old.join(self.new)

    def read(self) -> Batch:
        """The one batch in which the message is."""
        batches = read_all(self.old)
        acknowledge(each for each in batches if not each.events)
        (batch,) = [each for each in batches if each.events]
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


def test_a_message_that_lies_across_comes_out_whole_and_once(join: MakePair) -> None:
    pair = join(b"one\n +\n", b" ++\ntwo\n")
    whole = pair.read()
    assert (whole.messages.texts, whole.source.file_id) == (["one\n +\n ++"], pair.old.state.id)
    assert (whole.messages.offsets, whole.messages.lengths) == ([0], [11])
    pair.room.append("app.log", b"three\n")
    assert acknowledged(read_all(pair.new)) == ["two"]


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


def test_the_entry_says_where_it_goes_on_until_the_message_is_acknowledged(join: MakePair) -> None:
    pair = join(b"one\n +\n", b" ++\ntwo\n")
    pair.old.update(continues_in=pair.new.state.id)
    acknowledge(pair.before)
    whole = pair.read()
    assert pair.old.state.continues_in == pair.new.state.id
    whole.resolve()
    assert pair.old.state.continues_in is None


def test_a_message_that_ends_with_the_file_takes_nothing_of_the_next(join: MakePair) -> None:
    pair = join(b"one\n +\n", b"two\nthree\n")
    whole = pair.read()
    assert whole.messages.texts == ["one\n +"]
    acknowledge([*pair.before, whole])
    assert pair.positions() == (7, 0)
    assert acknowledged(read_all(pair.new)) == ["two"]


def test_all_of_the_next_file_may_belong_to_it(join: MakePair) -> None:
    pair = join(b"one\n", b" +\n ++\n")
    more = read_all(pair.old)
    assert [batch for batch in more if batch.events] == []
    message = pair.old.end_message()
    assert message is not None
    assert message.messages.texts == ["one\n +\n ++"]
    acknowledge([*pair.before, *more, message])
    assert pair.positions() == (4, 7)
    assert pair.new.offset == 7


def test_its_end_by_time_is_a_cut_until_it_is_acknowledged(join: MakePair) -> None:
    pair = join(b"one\n", b" +\n")
    more = read_all(pair.old)
    message = pair.old.end_message()
    assert message is not None
    assert (pair.old.state.cuts, pair.old.must_save) == ((7,), True)
    acknowledge([*pair.before, *more, message])
    assert pair.old.state.cuts == ()


def test_the_first_file_is_at_its_own_end_again(join: MakePair) -> None:
    pair = join(b"one\n", b" +\ntwo\n")
    pair.read()
    assert pair.old.rotation_join is None
    assert (pair.old.offset, pair.old.read_to) == (4, 4)
    assert pair.old.read() is None


def test_while_it_is_joined_only_its_own_bytes_count_as_read(join: MakePair) -> None:
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
    """A copy of it goes on there: nothing of it was shipped as its own."""
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


def test_closing_the_first_file_closes_what_it_read_in_the_next(join: MakePair) -> None:
    pair = join(b"one\n", b" +\n")
    before = set(os.listdir("/proc/self/fd"))
    pair.old.close()
    assert len(before - set(os.listdir("/proc/self/fd"))) == 2


def test_what_of_a_compressed_file_is_under_way_is_not_joined(make_room: MakeRoom) -> None:
    room = make_room(parsers=(multiline(r"^\s"),), compression="auto")
    old: Harvester = room.read("app.log.1.gz", gzip.compress(b"one\n"))
    old.join(room.read("app.log", b" +\n"))
    assert old.rotation_join is None


def test_a_line_without_end_before_the_seam_is_kept_when_time_ends_the_message(make_room: MakeRoom) -> None:
    room = make_room(parsers=(multiline(r"^\s"),), line_terminator="carriage_return")
    pair = Pair(room, b"one\r +\rlast\n", b"")
    message = pair.old.end_message()
    assert message is not None
    assert acknowledged([*pair.before, message]) == ["one\n +"]
    assert (pair.old.rotation_join, pair.positions()) == (None, (7, 0))
    pair.room.append("app.log.1", b"\rtwo\r")
    assert acknowledged(read_all(pair.old)) == ["last\n"]


def test_what_is_entangled_with_a_message_across_has_a_name_in_the_first_file(make_room: MakeRoom) -> None:
    first, second = cri(("F", "zero"), ("P", "one")), cri(("f", "two"), ("f", "three"), ("F", " ++"), ("F", "four"))
    pair = Pair(make_room(parsers=(ContainerConfig(),)), first, second)
    whole = pair.read().messages
    assert whole.texts == ["one ++", "two", "three"]
    assert whole.offsets == [len(first) // 2 + 1, len(first) - 2, len(first) - 1]
    assert [offset + length for offset, length in zip(whole.offsets, whole.lengths, strict=True)] == [
        *whole.offsets[1:],
        whole.end,
    ]


CRI = b"2026-01-01T00:00:00.%dZ %s %s %s\n"


def cri(*lines: tuple[str, str]) -> bytes:
    """Lines of a container: a tag and a text each. A capital tag is stdout's, a small one stderr's."""
    return b"".join(
        CRI % (index, b"stdout" if tag.isupper() else b"stderr", tag.upper().encode(), text.encode())
        for index, (tag, text) in enumerate(lines)
    )


# Options of the input, both files, the texts that come of the first and of the second.
ACROSS: dict[str, tuple[dict[str, Any], bytes, bytes, list[str], list[str]]] = {
    "dropped by exclude_lines": (
        {"parsers": (multiline(r"^\s"),), "exclude_lines": ("^one",)},
        b"zero\none\n +\n", b" ++\ntwo\nthree\n", ["zero"], ["two"],
    ),
    "not included": (
        {"parsers": (multiline(r"^\s"),), "include_lines": ("^t",)},
        b"one\n +\n", b" ++t\ntwo\n ++\nthree\n", [], ["two\n ++"],
    ),
    "dropped by a parser": (
        {"parsers": (multiline(r"^\s"), IncludeMessageConfig(patterns=("^t",)))},
        b"one\n", b" ++\n ++\ntwo\nthree\n", [], ["two"],
    ),
    "dropped, and it ends with the file": (
        {"parsers": (multiline(r"^\s"),), "exclude_lines": ("^one",)},
        b"one\n +\n", b"two\nthree\nfour\n", [], ["two", "three"],
    ),
    "it and the next dropped": (
        {"parsers": (MultilineConfig(type="while_pattern", pattern=r"^\s"),), "exclude_lines": (r"^\s|^two",)},
        b"zero\n +\n", b" ++\ntwo\nthree\n", ["zero"], ["three"],
    ),
    "a line of its own ends it": (
        {"parsers": (MultilineConfig(type="while_pattern", pattern=r"^\s"),)},
        b"zero\n +\n", b" ++\ntwo\nthree\n", ["zero", " +\n ++"], ["two", "three"],
    ),
    "two parsers that join": (
        {"parsers": (multiline(r"^\s"), multiline("^a"))},
        b"one\nab\n +\n", b"ac\n +\ntwo\nthree\nfour\n", ["one\nab\n +\nac\n +"], ["two"],
    ),
    "two parsers that join, and the outer one's ends in the first file": (
        {"parsers": (multiline(r"^\s"), multiline("^a"))},
        b"one\ntwo\n +\n", b" ++\nab\nthree\nfour\nfive\n", ["one", "two\n +\n ++\nab"], ["three"],
    ),
    "the next file has a byte order mark": (
        {"parsers": (multiline(r"^\[", negate=True),)},
        b"[1]\n+\n", b"\xef\xbb\xbf[2]\n+\n[3]\n", ["[1]\n+"], ["[2]\n+"],
    ),
    "the next file has one in utf-16, and its first line belongs to the last one's message": (
        {"parsers": (multiline(r"^\s"),), "encoding": "utf-16le-bom"},
        "\ufeffone\n".encode("utf-16-le"), "\ufeff +\ntwo\nthree\n".encode("utf-16-le"), ["one\n +"], ["two"],
    ),
    "parts of a container's line, with others between": (
        {"parsers": (ContainerConfig(),)},
        cri(("F", "zero"), ("P", "one")), cri(("f", "two"), ("F", " ++"), ("F", "three")),
        ["zero", "one ++", "two"], ["three"],
    ),
    "parts of a container's line, of one stream": (
        {"parsers": (ContainerConfig(stream="stdout"),)},
        cri(("F", "zero"), ("P", "one")), cri(("f", "two"), ("F", " ++"), ("f", "two"), ("F", "three")),
        ["zero", "one ++"], ["three"],
    ),
    "parts of a container's line, with others between, that are dropped": (
        {"parsers": (ContainerConfig(),), "exclude_lines": ("^one",)},
        cri(("F", "zero"), ("P", "one")), cri(("f", "two"), ("F", " ++"), ("F", "three")),
        ["zero", "two"], ["three"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ACROSS)
@pytest.mark.parametrize("grows", [False, True])
def test_what_lies_across_is_read_once_whatever_becomes_of_it(case: str, grows: bool, make_room: MakeRoom) -> None:
    options, first, second, of_first, of_second = ACROSS[case]
    lines = re.findall(rb"[^\n]*\n\0?|[^\n]+", second) if grows else [second]
    pair = Pair(make_room(**options), first, lines.pop(0))
    found = [*pair.before, *read_all(pair.old)]
    for line in lines:
        pair.room.append("app.log", line)
        found += read_all(pair.old)
    assert acknowledged(found) == of_first
    assert acknowledged(read_all(pair.new)) == of_second
    assert pair.old.state.position == len(first)


def test_a_file_that_is_still_to_be_proven_sends_what_was_taken_of_it_once_more(make_room: MakeRoom) -> None:
    """Its position lies within the message, which ended elsewhere when it was shipped: the pattern was another."""
    room = make_room(parsers=(multiline(r"^\s"),))
    first = room.read("app.log.1", b"one\n +\n")
    acknowledge(read_all(first))
    room.write("app.log", b" ++\n +++\nnext\n")
    state = entry_of(room.path("app.log"), 4)
    second = room.start(room.open("app.log"), EntryMatch(state, state.path, state))
    first.join(second)
    assert acknowledged(read_all(first)) == ["one\n +\n ++\n +++"]
    read_all(second)
    assert second.is_proven
