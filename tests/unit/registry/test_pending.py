from __future__ import annotations

from dataclasses import replace

import pytest

from log_shipper.registry.pending import MIN_PAUSE, PAUSE_FOR_WORK, Pending
from log_shipper.registry.state import FileState

A = FileState("a", "/logs/a", 1, 2)
NEWER = replace(A, position=9)


def failing(retry_interval: float = 60.0) -> Pending:
    """At time 100, the disk refused an urgent save of A."""
    pending = Pending(1.0, retry_interval)
    pending.urge([A], 100.0)
    pending.failed(pending.pop_all(), 100.0)
    return pending


def test_nothing_is_due_until_something_is_noted() -> None:
    pending = Pending(1.0, 1.0)
    assert pending.empty
    assert pending.wait(100.0) is None


def test_only_the_first_note_has_to_wake_the_thread() -> None:
    pending = Pending(1.0, 1.0)
    assert pending.note({"a": A}, 100.0)
    assert not pending.note({"a": NEWER}, 100.5)
    assert pending.wait(100.5) == 0
    assert pending.take_unwritten(100.5) == {"a": NEWER}
    assert pending.wait(100.5) == 0.5
    assert pending.note({"a": A}, 100.6)
    assert pending.wait(200.0) == 0
    assert pending.take_unwritten(200.0) is None
    assert pending.pop_all().entries == {"a": A}
    assert pending.note({"a": A}, 300.0)


def test_writes_are_so_far_apart_that_they_take_little_of_the_processor() -> None:
    pending = Pending(10.0, 1.0)
    pending.note({"a": A}, 100.0)
    pending.take_unwritten(100.0)
    pending.note({"a": A}, 100.0)  # while it is written
    pending.written(100.0, 100.01)
    assert pending.wait(100.01) == pytest.approx(PAUSE_FOR_WORK * 0.01)
    pending.take_unwritten(101.0)
    pending.written(101.0, 101.0)
    pending.note({"a": A}, 101.001)
    assert pending.wait(101.001) == pytest.approx(MIN_PAUSE - 0.001)


def test_while_notes_are_steady_the_thread_wakes_once_for_a_write_and_no_note_wakes_it_before() -> None:
    pending = Pending(10.0, 1.0)
    pending.note({"a": A}, 100.0)
    pending.take_unwritten(100.0)
    pending.written(100.0, 100.0)
    assert pending.note({"a": A}, 100.0 + MIN_PAUSE / 2)  # the first one in a pause
    pending.take_unwritten(100.0 + MIN_PAUSE)
    pending.written(101.0, 101.0)
    assert pending.wait(101.0) == pytest.approx(MIN_PAUSE)
    assert not pending.note({"a": NEWER}, 101.0 + MIN_PAUSE / 2)
    assert pending.wait(101.0 + MIN_PAUSE) == 0
    assert pending.take_unwritten(101.0 + MIN_PAUSE) == {"a": NEWER}


def test_where_notes_are_rare_the_thread_does_not_wake_for_the_end_of_a_pause() -> None:
    pending = Pending(10.0, 1.0)
    for now in (100.0, 100.5, 101.0):
        assert pending.note({"a": A}, now)
        pending.take_unwritten(now)
        pending.written(now, now)
        assert pending.wait(now) == pytest.approx(110.0 - now)


def test_a_pause_without_notes_ends_and_the_next_note_wakes_the_thread() -> None:
    pending = Pending(10.0, 1.0)
    pending.note({"a": A}, 100.0)
    pending.take_unwritten(100.0)
    pending.written(100.0, 100.0)
    assert pending.wait(100.0 + MIN_PAUSE) == pytest.approx(10.0 - MIN_PAUSE)
    assert pending.note({"a": NEWER}, 100.0 + MIN_PAUSE)
    assert pending.wait(100.0 + MIN_PAUSE) == 0


def test_what_is_to_be_on_disk_at_once_is_not_written_before() -> None:
    pending = Pending(1.0, 1.0)
    pending.note({"a": A}, 100.0)
    pending.urge([], 100.0)
    assert pending.take_unwritten(100.0) is None
    assert pending.pop_all().entries == {"a": A}
    assert pending.wait(100.0) is None
    pending.note({"b": A}, 100.0)
    assert pending.take_unwritten(100.0) == {"b": A}


def test_what_was_noted_while_the_disk_refused_is_newer_than_what_is_put_back() -> None:
    pending = Pending(1.0, 1.0)
    pending.note({"a": A, "b": None}, 100.0)
    taken = pending.pop_all()
    pending.note({"a": NEWER}, 100.1)
    pending.failed(taken, 100.2)
    assert pending.pop_all().entries == {"a": NEWER, "b": None}


def test_tickets_are_put_back_before_later_ones() -> None:
    pending = Pending(1.0, 1.0)
    first = pending.urge([A], 100.0)
    taken = pending.pop_all()
    second = pending.urge([A], 100.0)
    pending.failed(taken, 100.0)
    assert pending.pop_all().tickets == [first, second]


def test_an_urgent_save_does_not_hurry_a_disk_that_refuses() -> None:
    pending = failing()
    pending.urge([A], 101.0)
    assert pending.wait(101.0) == 59.0


def test_closing_asks_a_disk_that_refused_once_more_at_once_and_ends_at_the_deadline() -> None:
    pending = failing()
    pending.close(103.0, 101.0)
    assert not pending.finished(104.0)
    assert pending.wait(101.0) == 0
    pending.failed(pending.pop_all(), 101.5)
    assert pending.wait(101.5) == 1.5
    assert not pending.finished(102.9)
    assert pending.finished(103.0)


def test_closing_with_nothing_left_is_finished() -> None:
    pending = Pending(1.0, 1.0)
    assert not pending.finished(100.0)
    pending.close(103.0, 100.0)
    assert pending.finished(100.0)
