"""Entries at which journalctl ends each time are left out, and no others."""

import pytest

from log_shipper.shipper.inputs.journald.damaged_entries import MAX_ATTEMPTS, DamagedEntries
from log_shipper.shipper.inputs.journald.journalctl import ATTEMPTS_PAST_DAMAGE
from tests.unit.shipper.inputs.journald.conftest import JournalLab

CURSOR = "s=a;i=1f;b=c;m=2;t=3;x=4"


def read_on(lab: JournalLab, *texts: str) -> None:
    """Read until there are so many events, however often journalctl is started for it."""
    for _ in range(12):
        lab.wait_until(lambda: len(lab.texts) >= len(texts) or not lab.feed.status().files_open)
        if len(lab.texts) >= len(texts):
            break
        lab.clock.advance(60)
    assert lab.texts == list(texts)


@pytest.mark.parametrize("damaged", [1, 2, 5])
def test_damaged_entries_are_left_out_and_counted(
    lab: JournalLab, damaged: int, caplog: pytest.LogCaptureFixture
) -> None:
    lab.journal.log("one", "two")
    lab.journal.log(*("damaged" for _ in range(damaged)), DAMAGED="1")
    lab.journal.log("three", "four")
    lab.start()
    read_on(lab, "one", "two", "three", "four")
    lab.journal.log("new")
    read_on(lab, "one", "two", "three", "four", "new")
    assert lab.metrics.journal_entries_lost == damaged
    assert f"journalctl fails repeatedly at the entry after {lab.journal.cursor(2)}" in caplog.text
    assert not lab.feed.status().problems


def test_what_ends_for_another_reason_leaves_nothing_out(lab: JournalLab) -> None:
    """As where --follow is not possible, because the user has no inotify watches left."""
    wrapper = lab.program.with_name("no_follow")
    wrapper.write_text(
        f'#!/bin/sh\ncase "$*" in\n*--follow*) echo cannot follow >&2; {lab.program} '
        '$(echo "$*" | sed s/--follow//); exit 1;;\nesac\n'
        f'exec {lab.program} "$@"\n'
    )
    wrapper.chmod(0o755)
    lab.journal.log("one")
    lab.start(journalctl_path=str(wrapper))
    expected: list[str] = ["one"]
    for number in range(3):
        read_on(lab, *expected)
        for _ in range(4):
            lab.wait_until(lambda: not lab.feed.status().files_open)
            lab.clock.advance(60)
            lab.step()
        expected.append(f"more {number}")
        lab.journal.log(expected[-1])
        lab.clock.advance(60)
    assert lab.metrics.journal_entries_lost == 0


def test_once_entries_that_are_left_out_are_a_problem(lab: JournalLab) -> None:
    lab.journal.log("one")
    lab.journal.log("damaged", DAMAGED="1")
    lab.journal.log("two")
    lab.start(once=True)
    read_on(lab, "one", "two")
    lab.wait_until(lambda: lab.feed.status().reading == 0)
    (problem,) = lab.feed.status().problems.values()
    assert problem == "skipped entries at which journalctl failed repeatedly (the log has their cursors)"


def test_once_it_ends_where_nothing_behind_the_damage_can_be_read(lab: JournalLab) -> None:
    lab.journal.log("one")
    lab.journal.log(*("damaged" for _ in range(300)), DAMAGED="1")
    lab.start(once=True)
    for _ in range(ATTEMPTS_PAST_DAMAGE):
        lab.wait_until(lambda: not lab.feed.status().files_open)
        lab.clock.advance(60)
    lab.acknowledge()
    assert lab.feed.finished
    assert lab.texts == ["one"]
    (problem,) = lab.feed.status().problems.values()
    assert problem == "journalctl exited with code 1: Invalid field"


def test_it_is_asked_without_follow_first_and_then_skips_more_and_more() -> None:
    damaged = DamagedEntries()
    starts = []
    for _ in range(5):
        starts.append((damaged.may_follow, damaged.start(CURSOR)))
        damaged.ended(CURSOR, 1, came=not damaged.skipped, new=False)
    assert starts == [
        (True, CURSOR),
        (False, CURSOR),
        (False, "s=a;i=21;t=3"),
        (False, "s=a;i=22;t=3"),
        (False, "s=a;i=23;t=3"),
    ]
    assert [DamagedEntries(attempts).skipped for attempts in (16, 17, 18, 19)] == [15, 16, 32, 64]


@pytest.mark.parametrize("code", [None, 0, -9, -15])
def test_an_end_from_outside_is_no_obstacle(code: int | None) -> None:
    damaged = DamagedEntries(3)
    damaged.ended(CURSOR, code, came=True, new=False)
    assert damaged.attempts == 0


@pytest.mark.parametrize(
    ("attempts", "code", "cursor", "came", "left"),
    [
        (0, -11, CURSOR, True, 1),  # it crashed
        (0, 1, CURSOR, False, 0),  # it cannot read anything
        (2, 1, CURSOR, False, 3),
        (0, 1, "", True, 0),
        (0, 1, "@5.0", True, 0),
        (0, 1, f"^{CURSOR}", True, 0),
        (MAX_ATTEMPTS, 1, CURSOR, False, 0),
    ],
)
def test_only_what_ends_behind_an_entry_that_was_given_is_one(
    attempts: int, code: int, cursor: str, came: bool, left: int
) -> None:
    damaged = DamagedEntries(attempts)
    damaged.ended(cursor, code, came=came, new=False)
    assert damaged.attempts == left
    damaged.ended(cursor, code, came=True, new=True)
    assert damaged.attempts == 0
