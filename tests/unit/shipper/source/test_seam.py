import gzip
import os
from collections.abc import Callable

import pytest

from shipper.event import Batch
from shipper.source.harvester import Harvester
from tests.builders import multiline
from tests.reading_room import Room, acknowledge, read_all

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
        (batch,) = [each for each in read_all(self.old) if each.events]
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
    assert pair.old.seam is None
    assert (pair.old.offset, pair.old.read_to) == (4, 4)
    assert pair.old.read() is None


def test_while_it_is_joined_only_its_own_bytes_count_as_read(join: MakePair) -> None:
    pair = join(b"one\n", b" +\n")
    read_all(pair.old)
    assert pair.old.read_to == 4


def test_a_successor_that_was_read_before_is_not_read_twice(join: MakePair) -> None:
    """After a crash: of the two positions, only its own was saved."""
    pair = join(b"one\n +\n", b" ++\ntwo\n")
    pair.new.skip(4)()
    whole = pair.read()
    assert whole.messages.texts == ["one\n +\n ++"]
    acknowledge([*pair.before, whole])
    assert pair.positions() == (7, 4)


def test_closing_the_first_file_closes_what_it_read_in_the_next(join: MakePair) -> None:
    pair = join(b"one\n", b" +\n")
    before = set(os.listdir("/proc/self/fd"))
    pair.old.close()
    assert len(before - set(os.listdir("/proc/self/fd"))) == 2


def test_what_of_a_compressed_file_is_under_way_is_not_joined(make_room: MakeRoom) -> None:
    room = make_room(parsers=(multiline(r"^\s"),), compression="auto")
    old: Harvester = room.read("app.log.1.gz", gzip.compress(b"one\n"))
    old.join(room.read("app.log", b" +\n"))
    assert old.seam is None
