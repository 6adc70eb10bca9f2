"""Each sequence of a path is a journal of its own: what one host writes late is not lost because of another one."""

import hashlib

import pytest

from log_shipper.registry.state import FileState
from log_shipper.shipper.inputs.journald.journalctl import BACKOFF
from log_shipper.shipper.inputs.journald.listing import MIN_INTERVAL
from tests.fake_journalctl import Journal
from tests.unit.shipper.inputs.journald.conftest import JournalLab

OTHER = "f" * 32


@pytest.fixture
def other(lab: JournalLab) -> Journal:
    return Journal(lab.journal.directory, "remote-other", OTHER)


def until_read(lab: JournalLab, *texts: str) -> None:
    """Read until all are there, in whatever order."""
    lab.wait_until(lambda: len(lab.texts) >= len(texts))
    assert sorted(lab.texts) == sorted(texts)


def test_entries_that_come_late_are_read(lab: JournalLab, other: Journal) -> None:
    lab.start(merge=True)
    lab.journal.second = 100.0
    lab.journal.log("one", "two")
    until_read(lab, "one", "two")
    other.second = 99.85
    other.log("late", "later")
    until_read(lab, "one", "two", "late", "later")


def test_a_backlog_is_read_after_a_restart(lab: JournalLab, other: Journal) -> None:
    other.log("first")
    lab.journal.second = 100.0
    lab.journal.log("one")
    lab.start(merge=True)
    until_read(lab, "first", "one")
    lab.acknowledge()
    lab.stop()
    other.log("second", "third")
    lab.start(merge=True)
    lab.read("second", "third")
    assert lab.metrics.journal_entries_lost == 0


def test_gaps_of_each_journal_are_counted(lab: JournalLab, other: Journal) -> None:
    lab.start(merge=True)
    for journal in (lab.journal, other):
        journal.log("one")
        journal.number += 2
        journal.log("two")
    until_read(lab, "one", "two", "one", "two")
    assert lab.metrics.journal_entries_lost == 4


def test_a_journal_that_appears_later_is_read_from_its_first_entry(lab: JournalLab) -> None:
    lab.journal.log("old")
    lab.clock.set_by(1.5)
    lab.start(seek="tail")
    lab.journal.log("new")
    lab.read("new")
    Journal(lab.journal.directory / ("a" * 32), sequence=OTHER).log("early")
    lab.clock.advance(MIN_INTERVAL)
    lab.read("new", "early")


def test_what_journalctl_reads_before_the_files_are_listed_again_is_not_taken(lab: JournalLab) -> None:
    """Its file is rotated after it was listed, so that it is given the next file under the same name."""
    lab.journal.log("one")
    lab.program.write_text(lab.program.read_text().replace("main(sys", "time.sleep(0.3); main(sys"))
    lab.start()
    lab.step()
    lab.journal.log("two")
    lab.journal.rotate()
    lab.journal.log("three")
    lab.read("one", "two", "three")


def test_the_end_of_a_journal_is_reported_with_what_was_not_read(
    lab: JournalLab, other: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    other.log("one")
    lab.start(once=False)
    lab.read("one")
    lab.acknowledge()
    lab.stop()
    other.log("two", "three")
    lab.start(journalctl_path="/bin/false")
    other.file.unlink()
    lab.clock.advance(MIN_INTERVAL)
    lab.wait_until(lambda: lab.metrics.journal_entries_lost == 2)
    assert "2 entries (sequence numbers 2 to 3) are missing" in caplog.text
    assert len(lab.feed._journals) == 1


@pytest.mark.parametrize("mark", ["", "^"])
def test_a_position_of_all_journals_stands_for_one_and_the_others_begin_at_its_time(
    lab: JournalLab, other: Journal, mark: str
) -> None:
    lab.journal.log("one", "two", "three")
    other.log("a", "b", "c")
    path = str(lab.journal.directory)
    old = hashlib.sha256("\0".join(("journald", "sys", path)).encode()).hexdigest()[:32]
    cursor = mark + lab.journal.cursor(2)
    lab.entries.save(FileState(id=old, path=path, device=0, inode=0, input="sys", kind="journald", cursor=cursor))
    lab.start(merge=True)
    until_read(lab, *(["two"] if mark else []), "three", "b", "c")
    Journal(lab.journal.directory, "remote-new", "e" * 32).log("first")
    lab.clock.advance(MIN_INTERVAL)
    lab.wait_until(lambda: "first" in lab.texts)


def test_of_an_archived_journal_there_is_no_journalctl_that_waits(lab: JournalLab) -> None:
    lab.journal.log("one")
    lab.journal.rotate()
    lab.journal.file.unlink()
    lab.start()
    lab.read("one")
    lab.wait_until(lambda: not lab.feed.status().files_open)
    lab.clock.advance(MIN_INTERVAL)
    lab.step()
    assert (lab.feed.status().files_open, dict(lab.feed.status().problems)) == (0, {})


PATTERN = ("web*",)


def test_once_a_journal_in_which_no_unit_matches_is_like_an_empty_one(lab: JournalLab, other: Journal) -> None:
    lab.journal.log("one", _SYSTEMD_UNIT="web.service")
    other.log("not wanted", _SYSTEMD_UNIT="db.service")
    lab.start(once=True, merge=True, units=PATTERN)
    lab.wait_until(lambda: lab.feed.status().reading == 0)
    lab.acknowledge()
    assert lab.feed.finished
    assert (lab.texts, lab.feed.status().problems) == (["one"], {})


def test_once_units_that_match_in_no_journal_are_a_problem(lab: JournalLab, other: Journal) -> None:
    for journal in (lab.journal, other):
        journal.log("not wanted", _SYSTEMD_UNIT="db.service")
    lab.start(once=True, merge=True, units=PATTERN)
    lab.wait_until(lambda: lab.feed.finished)
    (problem,) = lab.feed.status().problems.values()
    assert problem.startswith("no unit in the journal matches units (web*); nothing is read")


def test_a_unit_that_matches_later_is_read_from_its_first_entry(
    lab: JournalLab, other: Journal, caplog: pytest.LogCaptureFixture
) -> None:
    lab.journal.log("one", _SYSTEMD_UNIT="web.service")
    other.log("not wanted", _SYSTEMD_UNIT="db.service")
    lab.start(merge=True, units=PATTERN)
    lab.wait_until(lambda: lab.texts == ["one"] and lab.feed.status().files_open == 1)
    for _ in range(10):  # attempts, each with a new entry
        other.log("not wanted either", _SYSTEMD_UNIT="db.service")
        lab.clock.advance(BACKOFF.max)
        lab.step()
        assert lab.feed.status().files_open == 2
        lab.wait_until(lambda: lab.feed.status().files_open == 1)
        assert not lab.feed.status().problems
    lab.clock.advance(BACKOFF.max)
    lab.step()
    assert lab.feed.status().files_open == 1  # there is nothing new
    other.log("two", "three", _SYSTEMD_UNIT="web.service")
    lab.clock.advance(BACKOFF.max)
    lab.read("one", "two", "three")
    assert not caplog.records
    assert lab.metrics.journalctl_failures == 0


def test_units_that_match_in_no_journal_are_one_problem_until_they_match(
    lab: JournalLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.start(units=PATTERN)
    lab.wait_until(lambda: bool(lab.feed.status().problems))
    for _ in range(3):
        lab.journal.log("not wanted", _SYSTEMD_UNIT="db.service")
        lab.clock.advance(BACKOFF.max)
        lab.step()
        assert lab.feed.status().files_open == 1
        lab.wait_until(lambda: not lab.feed.status().files_open)
        (problem,) = lab.feed.status().problems.values()
        assert "matches units (web*)" in problem
    lab.journal.log("one", _SYSTEMD_UNIT="web.service")
    lab.clock.advance(BACKOFF.max)
    lab.read("one")
    lab.step()
    assert not lab.feed.status().problems
    assert [record.levelname for record in caplog.records if record.levelname != "INFO"] == ["ERROR"]
