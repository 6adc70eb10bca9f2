"""A file that may have changed since its entry was made is proven before anything of it is read."""

import gzip
from collections.abc import Callable
from dataclasses import replace

import pytest

from log_shipper.registry.state import FileState
from log_shipper.shipper.errors import Disproved, Truncated
from log_shipper.shipper.inputs.files.identity.opened_file import EntryMatch
from log_shipper.shipper.inputs.files.identity.prefix import KEPT
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from tests.builders import multiline
from tests.failing_disk import PAGE, FailingDisk
from tests.reading_room import Room, acknowledge, entry_of, finish, proof_of, read_all

MakeRoom = Callable[..., Room]

LINES = b"".join(b"line %06d\n" % number for number in range(5_000))  # 60 KB: more than the first read
REST = b"one more\n"


def start(room: Room, name: str, state: FileState, *, once: bool = False) -> Harvester:
    """Resume an existing file from its entry, if it is proven."""
    return room.start(room.open(name), EntryMatch(state, state.path, state), once=once)


def know(room: Room, content: bytes, position: int, more: bytes = b"") -> FileState:
    """Return the entry of a file to which more was written since."""
    room.write("app.log", content)
    state = entry_of(room.path("app.log"), position)
    room.append("app.log", more)
    return state


def texts(harvester: Harvester) -> list[str]:
    return [text for batch in read_all(harvester) for text in batch.messages.texts]


def steps_until_proven(harvester: Harvester) -> int:
    steps = 0
    while not harvester.is_proven:
        assert harvester.read() is None
        steps += 1
    return steps


def test_nothing_is_read_or_noted_before_all_is_proven(room: Room) -> None:
    harvester = start(room, "app.log", know(room, LINES, len(LINES), REST))
    assert (harvester.read(), harvester.is_proven, harvester.at_end) == (None, False, False)
    assert (harvester.offset, harvester.over, room.books.written) == (len(LINES), False, {})


def test_a_replay_saves_what_it_did_not_save_at_the_start(room: Room) -> None:
    """The cut at the end of the file: at the start the entry stayed as it was, because nothing was proven."""
    harvester = start(room, "app.log", know(room, LINES, len(LINES), REST), once=True)
    read_all(harvester)
    assert (harvester.take_unsaved_state(), harvester.take_unsaved_state()) == (harvester.state, None)


def test_what_is_proven_is_noted_and_read_on(room: Room) -> None:
    state = know(room, LINES, len(LINES), REST)
    harvester = start(room, "app.log", state)
    while (batch := harvester.read()) is None:
        assert not harvester.at_end
    assert batch.messages.texts == ["one more"]
    assert batch.messages.start == len(LINES)
    assert room.books.written == {"known": state}


def test_what_is_acknowledged_then_has_a_proof_of_its_own(room: Room) -> None:
    harvester = start(room, "app.log", know(room, LINES, len(LINES), REST))
    while (batch := harvester.read()) is None:
        pass
    batch.resolve()
    noted = room.books.written["known"]
    assert (noted.position, noted.proof) == (len(LINES + REST), proof_of(LINES + REST))


def test_a_file_without_more_is_proven_too_and_is_then_at_its_end(room: Room) -> None:
    harvester = start(room, "app.log", know(room, LINES, len(LINES)))
    while not harvester.at_end:
        assert harvester.read() is None
    assert (harvester.is_proven, harvester.over) == (True, True)


def test_a_file_with_other_bytes_is_not_read(room: Room) -> None:
    """Head and tail are equal, so that nothing is seen at once."""
    state = know(room, LINES, len(LINES))
    room.write("app.log", LINES.replace(b"line 002500", b"LINE 002500") + REST)
    harvester = start(room, "app.log", state)
    with pytest.raises(Disproved):
        read_to_the_proof(harvester)
    assert (harvester.unproven, harvester.settled, harvester.offset) == (state, True, len(LINES))
    assert room.books.written == {}


def read_to_the_proof(harvester: Harvester) -> None:
    while not harvester.is_proven:
        assert harvester.read() is None


def test_a_file_that_shows_other_bytes_at_once_is_another_too_and_not_truncated(room: Room) -> None:
    """Nothing was read of it here, so nothing of it is lost."""
    harvester = start(room, "app.log", know(room, LINES, len(LINES)))
    room.write("app.log", b"new\n")
    with pytest.raises(Disproved):
        harvester.read()


def test_one_that_was_rewritten_before_it_was_read_has_nothing_to_prove_and_was_truncated(room: Room) -> None:
    room.write("app.log", LINES)
    opened = room.open("app.log")
    harvester = room.start(opened, EntryMatch(entry_of(room.path("app.log"), len(LINES)), "/l/app.log"))
    room.write("app.log", b"new\n")
    with pytest.raises(Truncated) as caught:
        harvester.read()
    assert not isinstance(caught.value, Disproved)


def test_an_unchanged_file_is_read_at_once(room: Room) -> None:
    room.write("app.log", LINES + REST)
    harvester = start(room, "app.log", entry_of(room.path("app.log"), len(LINES), seen=True))
    assert harvester.is_proven
    assert texts(harvester) == ["one more"]


def test_it_is_proven_against_the_entry_as_it_was_and_not_as_it_is_taken(room: Room) -> None:
    """The entry that is taken has the numbers of the new file: by those it would look unchanged."""
    room.write("app.log", LINES)
    taken = entry_of(room.path("app.log"), len(LINES), seen=True)
    was = replace(taken, device=7)
    assert not room.start(room.open("app.log"), EntryMatch(taken, was.path, was)).is_proven


def test_what_changes_of_an_unproven_file_is_noted_with_the_proof(room: Room) -> None:
    harvester = start(room, "app.log", know(room, LINES, len(LINES)))
    harvester.update(path="/l/app.log.1")
    assert room.books.written == {}
    steps_until_proven(harvester)
    assert room.books.written["known"].path == "/l/app.log.1"


def test_the_proof_of_a_pending_message_is_that_of_what_is_acknowledged(make_room: MakeRoom) -> None:
    room = make_room(parsers=(multiline(r"^\s"),))
    harvester = room.read("app.log", b"one\ntwo\n +\n")
    acknowledge(read_all(harvester))
    assert (harvester.state.position, harvester.state.proof) == (4, proof_of(b"one\n"))
    room.append("app.log", b" ++\nthree\n")
    acknowledge(read_all(harvester))
    assert harvester.state.proof == proof_of(b"one\ntwo\n +\n ++\n")


def test_each_position_has_its_own_proof(room: Room) -> None:
    harvester = room.read("app.log", b"one\n")
    first = read_all(harvester)
    room.append("app.log", b"two\n")
    second = read_all(harvester)
    acknowledge(second)
    assert harvester.state.proof == ""
    acknowledge(first)
    assert harvester.state.proof == proof_of(b"one\ntwo\n")


def test_a_message_of_any_length_has_a_proof_at_its_end(room: Room) -> None:
    content = b"one\n" + b"x" * (3 * KEPT) + b"\ntwo\n"
    harvester = finish(room.read("app.log", content))
    assert (harvester.state.position, harvester.state.proof) == (len(content), proof_of(content))


def test_an_entry_without_a_proof_has_one_when_it_is_read_on(room: Room) -> None:
    """Taken over from Filebeat: what lies before its position was never hashed."""
    room.write("app.log", b"one\ntwo\n")
    harvester = start(room, "app.log", entry_of(room.path("app.log"), 4, proof=""))
    batch = harvester.read()
    assert batch is not None
    assert batch.messages.texts == ["two"]
    acknowledge([batch])
    finish(harvester)
    assert (harvester.state.position, harvester.state.proof) == (8, proof_of(b"one\ntwo\n"))


# With once.


def test_with_once_a_file_at_its_end_is_not_finished_before_it_is_proven(room: Room) -> None:
    harvester = start(room, "app.log", know(room, LINES, len(LINES)), once=True)
    assert harvester.offset == harvester.size
    assert not harvester.finished
    assert steps_until_proven(harvester) > 1
    assert harvester.finished


def test_with_once_one_that_is_another_is_never_finished(room: Room) -> None:
    state = know(room, LINES, len(LINES))
    room.write("app.log", LINES.replace(b"line 002500", b"LINE 002500"))
    harvester = start(room, "app.log", state, once=True)
    with pytest.raises(Disproved):
        read_to_the_proof(harvester)
    assert not harvester.finished


def test_with_once_a_compressed_copy_is_proven_and_its_remainder_is_read(make_room: MakeRoom) -> None:
    room = make_room(compression="auto")
    state = know(room, LINES, len(LINES))
    room.write("app.log.1.gz", gzip.compress(LINES + REST))
    harvester = start(room, "app.log.1.gz", state, once=True)
    while not harvester.is_proven:
        batch = harvester.read()
    assert batch is not None
    assert batch.messages.texts == ["one more"]
    assert harvester.read() is None
    assert harvester.finished


# Bytes that belong to the last message of the predecessor.


def test_what_cannot_be_read_is_not_left_out_of_the_proof_of_what_is_skipped(room: Room, disk: FailingDisk) -> None:
    harvester = room.read("app.log", LINES)
    disk.damage(room.path("app.log"), page=1)
    with pytest.raises(OSError, match="Input/output error"):
        harvester.skip(3 * PAGE, b"")
