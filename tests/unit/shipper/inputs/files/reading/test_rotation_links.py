import gzip
import os
from collections.abc import Callable

import pytest

from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from log_shipper.shipper.inputs.files.reading.rotation_links import RotationLinks, is_read_on
from log_shipper.shipper.inputs.files.reading.schedule import Turn
from tests.builders import multiline
from tests.reading_room import Room, acknowledge, read_all

MakeRoom = Callable[..., Room]


class Line:
    """Files of which messages may have several lines, and who follows whom."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.rotation_links = RotationLinks()
        self._time = 0

    def file(self, name: str, content: bytes | None = None) -> Harvester:
        """Younger than those before it, with other lines if none are given."""
        self._time += 1
        harvester = self.room.read(name, b"%d\n +\n" % self._time if content is None else content)
        os.utime(harvester.fd, (self._time, self._time))
        return harvester

    def rotated(self, content: bytes = b"one\n +\n", to: str = "app.log.1") -> Harvester:
        """app.log, renamed."""
        old = self.file("app.log", content)
        self.rename(old, to)
        return old

    def rename(self, harvester: Harvester, name: str) -> None:
        previous_path = harvester.state.path
        self.room.path(previous_path).rename(self.room.path(name))
        harvester.update(path=str(self.room.path(name)))
        self.rotation_links.note_renamed(harvester, previous_path, harvester.state.path)

    def copy_of(self, truncated: Harvester, to: str = "app.log.1") -> Harvester:
        """Return a copy of a file before it was truncated, which resumes now."""
        copy = self.file(to)
        self.rotation_links.note_renamed(copy, truncated.state.path, copy.state.path, truncated=truncated.key)
        return copy

    def pair(self, content: bytes = b"one\n +\n", following: bytes = b" ++\ntwo\n") -> tuple[Harvester, Harvester]:
        old, new = self.rotated(content), self.file("app.log", following)
        assert self.rotation_links.on_new_files([new]) == [old]
        acknowledge(read_all(old))
        return old, new


@pytest.fixture
def line(make_room: MakeRoom) -> Line:
    return Line(make_room(parsers=(multiline(r"^\s"),)))


def test_the_new_file_at_the_previous_path_follows(line: Line) -> None:
    old, new = line.rotated(), line.file("app.log")
    assert line.rotation_links.on_new_files([new]) == [old]
    assert old.state.continues_in == new.state.id
    assert line.room.books.written[old.state.id].continues_in == new.state.id
    assert line.rotation_links.waits_for(new) is old
    assert line.rotation_links.waits_for(old) is None


def test_it_may_appear_later(line: Line) -> None:
    old = line.rotated()
    assert line.rotation_links.on_new_files([line.file("web.log")]) == []
    new = line.file("app.log")
    assert line.rotation_links.on_new_files([new]) == [old]
    assert line.rotation_links.on_new_files([line.file("app.log")]) == []


def test_one_that_was_rotated_too_may_appear_before_the_one_that_followed_it(line: Line) -> None:
    old = line.rotated(to="app.log.2")
    middle = line.file("app.log.1")
    assert line.rotation_links.on_new_files([middle]) == [old]
    assert line.rotation_links.on_new_files([line.file("app.log")]) == [middle]


def test_none_is_joined_while_files_wait_to_be_opened(line: Line) -> None:
    """One of them may be the one that followed."""
    line.rotated()
    assert line.rotation_links.on_new_files([line.file("app.log")], others_wait=True) == []
    assert line.rotation_links.on_new_files([line.file("app.log")]) == []


def test_a_copy_of_the_successor_is_not_between(line: Line) -> None:
    oldest = line.rotated(to="app.log.2")
    copy, newest = line.file("app.log.1", b"two\n ++\n"), line.file("app.log", b"two\n ++\n +++\n")
    assert line.rotation_links.on_new_files([newest, copy]) == [oldest]
    assert oldest.state.continues_in == newest.state.id


def test_neither_is_a_copy_of_a_file_between(line: Line) -> None:
    oldest = line.rotated(to="app.log.3")
    copy, middle, newest = line.file("app.log.2", b"two\n"), line.file("app.log.1", b"two\n ++\n"), line.file("app.log")
    assert line.rotation_links.on_new_files([newest, middle, copy]) == [oldest, middle]
    assert (oldest.state.continues_in, middle.state.continues_in) == (middle.state.id, newest.state.id)


def test_a_file_does_not_continue_in_a_copy_of_itself(line: Line) -> None:
    oldest = line.rotated(b" +\none\n", to="app.log.2")
    copy, newest = line.file("app.log.1", b" +\none\n"), line.file("app.log")
    assert line.rotation_links.on_new_files([newest, copy]) == [oldest]
    assert oldest.state.continues_in == newest.state.id


def test_a_file_that_waited_is_not_joined_over_one_that_was_opened_meanwhile(line: Line) -> None:
    waited, between = line.file("app.log"), line.file("app-20261122.log")
    assert line.rotation_links.on_new_files([between]) == []
    line.rename(waited, "app-20261121.log")
    assert line.rotation_links.on_new_files([line.file("app.log")]) == []
    assert waited.state.continues_in is None


def test_a_file_is_not_joined_over_one_that_an_earlier_process_had_found(line: Line) -> None:
    before, between = line.rotated(to="app-20261121.log"), line.file("app-20261122.log")
    assert line.rotation_links.on_new_files([line.file("app.log")], [between]) == []
    assert before.state.continues_in is None


def test_a_file_is_not_followed_by_an_older_one_that_was_moved_to_its_path(line: Line) -> None:
    moved, rotated = line.file("moved"), line.file("app.log")
    line.rename(rotated, "app.log.1")
    moved.update(path=str(line.room.path("app.log")), birth=1)
    os.utime(moved.fd, (1, 1))
    assert line.rotation_links.on_new_files([moved]) == []
    assert rotated.state.continues_in is None


def test_a_copy_is_followed_by_the_file_that_was_truncated(line: Line) -> None:
    truncated = line.file("app.log")
    copy = line.copy_of(truncated)
    assert line.rotation_links.on_new_files([line.file("web.log")]) == []
    assert line.rotation_links.on_new_files([truncated]) == [copy]
    assert copy.state.continues_in == truncated.state.id


def test_a_copy_is_not_followed_by_a_file_that_came_to_the_path_later(line: Line) -> None:
    """What followed it was opened before, while it waited, or disappeared unseen."""
    truncated = line.file("app.log")
    assert line.rotation_links.on_new_files([truncated]) == []
    copy = line.copy_of(truncated)
    line.rename(truncated, "moved")
    later = line.file("app.log")
    assert line.rotation_links.on_new_files([later]) == [truncated]
    assert copy.state.continues_in is None


def test_a_copy_is_followed_by_nothing_once_the_truncated_file_appeared_elsewhere(line: Line) -> None:
    truncated = line.file("app.log")
    copy = line.copy_of(truncated)
    truncated.update(path=str(line.room.path("moved")))
    assert line.rotation_links.on_new_files([truncated]) == []
    assert line.rotation_links.on_new_files([line.file("app.log")]) == []
    assert copy.state.continues_in is None


def test_an_older_generation_that_is_shifted_was_followed_before(line: Line) -> None:
    """Whether or not this process has seen that: what comes to its place is not what followed it."""
    older = line.file("app.log.1")
    line.rename(older, "app.log.2")
    assert line.rotation_links.on_new_files([line.file("app.log.1"), line.file("app.log")]) == []
    assert older.state.continues_in is None


def test_no_two_files_continue_in_the_same(line: Line) -> None:
    """Three generations, rotated twice between two scans."""
    first = line.rotated()
    second = line.file("app.log")
    line.rotation_links.on_new_files([second])
    line.rotation_links.forget(first)
    line.rename(first, "app.log.3")
    line.rename(second, "app.log.2")
    third, fourth = line.file("app.log.1"), line.file("app.log")
    line.rotation_links.on_new_files([third, fourth])
    assert line.rotation_links.waits_for(third) is second
    assert line.rotation_links.waits_for(fourth) is third
    for harvester in (first, second, third, fourth):
        line.rotation_links.forget(harvester)
    assert line.rotation_links.waits_for(fourth) is None


def test_where_every_line_is_a_message_there_is_nothing_to_join(room: Room) -> None:
    line = Line(room)
    old, new = line.rotated(), line.file("app.log")
    assert line.rotation_links.on_new_files([new]) == []
    assert (old.state.continues_in, line.rotation_links.waits_for(new)) == (None, None)


def test_no_file_is_continued_twice(line: Line) -> None:
    old, _ = line.pair(following=b" ++\n")
    line.rotation_links.continue_or_release(old)
    read_all(old)
    assert line.rotation_links.continue_or_release(old) is None


def test_a_message_continues_over_all_files_that_have_only_its_lines(line: Line) -> None:
    old = line.rotated(to="app.log.3")
    second, third, last = (
        line.file(name, content)
        for name, content in (("app.log.2", b" ++\n"), ("app.log.1", b" +\n"), ("app.log", b" +++\nx\n"))
    )
    assert line.rotation_links.on_new_files([second, third, last]) == [old, second, third]
    acknowledge(read_all(old))
    batches = []
    for _ in range(3):
        assert line.rotation_links.continue_or_release(old) is old
        batches += read_all(old)
    assert all(is_read_on(file) for file in (second, third, last))
    assert [text for batch in batches for text in batch.messages.texts] == ["one\n +\n ++\n +\n +++"]
    assert line.rotation_links.gave_batch(old) is second
    assert line.rotation_links.continue_or_release(second) is third
    assert line.rotation_links.continue_or_release(third) is last
    # Until it is acknowledged: after a kill it is read again as a whole.
    assert (second.state.continues_in, third.state.continues_in) == (third.state.id, last.state.id)
    acknowledge(batches)
    assert {file.state.continues_in for file in (old, second, third)} == {None}
    assert [file.state.position for file in (old, second, third, last)] == [7, 4, 3, 5]


def test_a_file_without_a_whole_line_at_its_end_is_not_continued_further(line: Line) -> None:
    old = line.rotated(to="app.log.2")
    second, last = line.file("app.log.1", b" ++\n unfinished"), line.file("app.log", b" +++\nx\n")
    line.rotation_links.on_new_files([second, last])
    acknowledge(read_all(old))
    assert line.rotation_links.continue_or_release(old) is old
    assert not any(batch.events for batch in read_all(old))
    assert line.rotation_links.continue_or_release(old) is None


def test_nothing_is_read_of_a_file_before_the_link_to_it_is_saved(line: Line) -> None:
    old, new = line.pair()
    new.schedule.turn = Turn.SAVING
    assert line.rotation_links.continue_or_release(old) is None
    new.schedule.turn = Turn.IDLE
    assert line.rotation_links.continue_or_release(old) is old


def test_it_waits_for_the_first_byte_of_the_next_file(line: Line) -> None:
    old, new = line.pair(following=b"")
    assert line.rotation_links.continue_or_release(old) is None
    assert line.rotation_links.waits_for(new) is old
    line.room.append("app.log", b" ++\n")
    assert line.rotation_links.continue_or_release(old) is old


@pytest.mark.parametrize("content", [b"", b"one\n +\ntw"])
def test_without_a_whole_pending_line_the_next_file_is_read_at_once(line: Line, content: bytes) -> None:
    old, new = line.pair(content)
    assert line.rotation_links.continue_or_release(old) is new
    assert (old.is_continued, old.state.continues_in, line.rotation_links.waits_for(new)) == (False, None, None)
    assert line.room.books.written[old.state.id].continues_in is None


def test_a_file_without_a_successor_has_nothing_to_do_at_its_end(line: Line) -> None:
    old = line.rotated()
    acknowledge(read_all(old))
    assert line.rotation_links.continue_or_release(old) is None


def test_a_closed_file_keeps_its_successor_waiting_no_longer(line: Line) -> None:
    old, new = line.pair()
    assert line.rotation_links.closed(old) is new
    assert line.rotation_links.waits_for(new) is None
    assert line.rotation_links.closed(old) is None


def test_a_closed_file_is_followed_by_none(line: Line) -> None:
    old = line.rotated()
    line.rotation_links.closed(old)
    assert line.rotation_links.on_new_files([line.file("app.log")]) == []


def test_a_file_whose_successor_was_closed_is_not_continued_in_it(line: Line) -> None:
    old, new = line.pair()
    line.rotation_links.closed(new)
    new.close()
    assert line.rotation_links.continue_or_release(old) is None
    assert not old.is_continued


def test_one_whose_successor_is_missing_does_not_continue_in_another(line: Line) -> None:
    """Part of its last message, sent before a kill, was in the one that is missing."""
    old = line.file("app.log.1", b"one\n +\n")
    old.update(continues_in="missing")
    line.rename(old, "app.log.2")
    assert line.rotation_links.on_new_files([line.file("app.log.1", b" ++\n")]) == []


def test_a_file_that_is_opened_again_may_be_renamed_again(line: Line) -> None:
    old, first = line.pair()
    line.rotation_links.closed(old)
    old.update(continues_in=None)  # its last message is acknowledged
    line.rename(old, "app.log.1.old")
    second = line.file("app.log.1")
    assert line.rotation_links.on_new_files([second]) == [old]
    assert line.rotation_links.waits_for(first) is None


def test_a_file_that_is_done_with_its_successor_has_no_other(line: Line) -> None:
    old, _ = line.pair()
    line.rotation_links.forget(old)
    line.rename(old, "app.log.2")
    assert line.rotation_links.on_new_files([line.file("app.log.1")]) == []


def test_a_successor_of_which_something_was_acknowledged_does_not_wait(line: Line) -> None:
    """Only the position of the successor was saved: the message is read again as a whole, as the first file's."""
    new = line.file("app.log", b" ++\ntwo\n")
    new.skip(4, b" ++\n")
    old = line.file("app.log.1")
    old.update(continues_in=new.state.id)
    line.rotation_links.resume([old, new], {harvester.state.id: harvester for harvester in (old, new)})
    assert line.rotation_links.waits_for(new) is None
    acknowledge(read_all(old))
    assert line.rotation_links.continue_or_release(old) is old


def test_a_file_that_comes_back_is_not_continued_in_what_was_read_without_it(line: Line) -> None:
    """The copy of one that was truncated, which is met a moment later."""
    old, new = line.pair()
    assert line.rotation_links.closed(old) is new
    acknowledge(read_all(new))
    copy = line.file("app.log.2")
    copy.update(continues_in=new.state.id)
    line.rotation_links.resume([copy], {new.state.id: new})
    acknowledge(read_all(copy))
    assert line.rotation_links.continue_or_release(copy) is None
    assert line.room.books.written[copy.state.id].continues_in is None


def test_a_successor_that_is_not_there_is_not_waited_for(line: Line) -> None:
    old = line.file("app.log.1")
    old.update(continues_in="missing")
    line.rotation_links.resume([old], {old.state.id: old})
    acknowledge(read_all(old))
    assert line.rotation_links.continue_or_release(old) is None


# Compressed files.


@pytest.fixture
def packed(make_room: MakeRoom) -> Line:
    return Line(make_room(parsers=(multiline(r"^\s"),), compression="auto"))


def test_a_compressed_file_that_begins_as_another_may_be_its_copy(packed: Line) -> None:
    """Only the head is compared, and there may have been a file between."""
    packed.rotated(gzip.compress(b"one\n"), to="app.log.2.gz")
    middle = packed.file("app.log.1.gz", gzip.compress(b" +\n"))
    assert packed.rotation_links.on_new_files([middle, packed.file("app.log", b" +\ntwo\n")]) == []


def test_the_copy_of_a_compressed_file_may_be_another_file_that_begins_alike(packed: Line) -> None:
    packed.rotated(gzip.compress(b"one\n +\n"), to="app.log.2.gz")
    middle = packed.file("app.log.1", b"one\n")
    assert packed.rotation_links.on_new_files([middle, packed.file("app.log")]) == []


def test_a_file_that_was_compressed_late_is_not_younger_for_that(packed: Line) -> None:
    """Logback and Log4j do so meanwhile, and the .gz has the time at which it was made."""
    old = packed.rotated(gzip.compress(b"one\n"), to="app-2026-11-21.1.log.gz")
    middle, last = packed.file("app-2026-11-21.2.log"), packed.file("app.log")
    os.utime(old.fd, (9, 9))
    assert packed.rotation_links.on_new_files([middle, last]) == [old, middle]
    assert (old.state.continues_in, middle.state.continues_in) == (middle.state.id, last.state.id)


def test_nor_is_one_of_a_higher_number_older_for_that(packed: Line) -> None:
    old = packed.rotated(gzip.compress(b"one\n"), to="app.log.1.gz")
    between, last = packed.file("app.log.2"), packed.file("app.log")
    os.utime(old.fd, (9, 9))
    assert packed.rotation_links.on_new_files([between, last]) == []


def test_a_compressed_file_that_waited_is_not_joined_over_what_was_opened_meanwhile(packed: Line) -> None:
    waited = packed.file("app.log", gzip.compress(b"one\n"))
    assert packed.rotation_links.on_new_files([packed.file("app-20261122.log")]) == []
    packed.rename(waited, "app-20261121.log.gz")
    os.utime(waited.fd, (9, 9))
    assert packed.rotation_links.on_new_files([packed.file("app.log")]) == []
