"""A journal is read by journalctl: from where, to where, and what happens when it ends."""

import logging
import os
import signal
from pathlib import Path

import pytest

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.parsers.multiline import MultilineConfig
from tests.unit.shipper.inputs.journald.conftest import JournalLab

JOINED = (MultilineConfig(type="pattern", pattern="^ ", match="after"),)


def child_of(lab: JournalLab) -> int:
    (journal,) = lab.feed._journals
    child = journal.journalctl._child
    assert child is not None
    return child.pid


def test_what_the_pipeline_has_no_room_for_is_given_the_next_time(lab: JournalLab) -> None:
    """Entries of two boots are two batches of one read."""
    lab.journal.log("one")
    lab.journal.boot = "b0070000000000000000000000000002"
    lab.journal.log("two")
    lab.start()
    assert lab.read_one().messages.texts == ["one"]
    lab.read("two")


def test_a_stop_leaves_what_was_not_given_to_the_next_start(lab: JournalLab) -> None:
    lab.journal.log("one")
    lab.journal.boot = "b0070000000000000000000000000002"
    lab.journal.log("two")
    lab.start()
    first = lab.read_one()
    lab.stop()
    assert not lab.feed.finished
    first.resolve()
    assert lab.feed.finished
    lab.start()
    lab.wait_until(lambda: "two" in lab.texts)


def test_entries_are_named_by_their_sequence_and_boot_and_their_number(lab: JournalLab) -> None:
    lab.journal.log("one", "two")
    lab.start()
    lab.read("one", "two")
    lab.journal.boot = "b0070000000000000000000000000002"
    lab.journal.log("three")
    lab.read("one", "two", "three")
    (first, second, third) = lab.names
    assert (first[1], second[1], third[1]) == (1, 2, 3)
    assert first[0] == second[0] != third[0]


def test_a_second_reading_begins_after_what_was_acknowledged(lab: JournalLab) -> None:
    lab.journal.log("one", "two")
    lab.start()
    lab.read("one", "two")
    lab.acknowledge()
    assert lab.feed.status().bytes_behind == 0
    assert (lab.state.kind, lab.state.cursor, lab.state.position) == ("journald", lab.journal.cursor(2), 2)
    lab.stop()
    lab.journal.log("three")
    lab.start()
    lab.read("three")


def test_a_journalctl_that_is_killed_is_replaced_and_repeats_nothing(lab: JournalLab) -> None:
    lab.journal.log("one")
    lab.start()
    lab.read("one")
    killed = child_of(lab)
    os.kill(killed, signal.SIGKILL)
    lab.wait_until(lambda: not lab.feed.status().files_open)
    assert list(lab.feed.status().problems.values()) == ["journalctl was killed by SIGKILL"]
    assert not Path(f"/proc/{killed}").exists()  # nor is it a zombie
    lab.journal.log("two")
    lab.clock.advance(0.9)
    lab.step()
    assert not lab.feed.status().files_open
    lab.clock.advance(0.1)
    lab.read("one", "two")
    assert (lab.metrics.journalctl_failures, dict(lab.feed.status().problems)) == (1, {})


def test_a_stop_ends_journalctl(lab: JournalLab) -> None:
    lab.journal.log("one")
    lab.start()
    lab.read("one")
    pid = child_of(lab)
    lab.stop()
    assert not Path(f"/proc/{pid}").exists()
    lab.acknowledge()
    assert lab.feed.finished


def test_entries_that_were_vacuumed_are_counted_and_reading_continues(
    lab: JournalLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.journal.log("one")
    lab.start()
    lab.read("one")
    lab.acknowledge()
    lab.stop()
    lab.journal.log("two", "three")
    lab.journal.rotate()
    lab.journal.log("four")
    lab.journal.vacuum()
    lab.start()
    lab.read("four")
    assert lab.metrics.journal_entries_lost == 2
    (warning,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert "2 entries (sequence numbers 2 to 3) are missing" in warning


def test_refused_entries_and_gaps_are_both_reported(lab: JournalLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.journal.log("one")
    lab.journal.log("refused", __REALTIME_TIMESTAMP="-1")
    lab.journal.number += 2
    lab.journal.log("two")
    lab.start()
    lab.read("one", "two")
    assert "skipped a line of journalctl that is not an entry" in caplog.text
    assert "3 entries (sequence numbers 2 to 4) are missing" in caplog.text
    assert "0 other gaps" in caplog.text


@pytest.mark.parametrize("seek", ["head", "tail", "since"])
def test_entries_that_were_vacuumed_before_the_first_acknowledgement_are_counted(lab: JournalLab, seek: str) -> None:
    lab.start(seek=seek, since_ago=1.0)
    lab.journal.log("one", "two")
    lab.read("one", "two")
    lab.stop()
    lab.boot()  # nothing of them is acknowledged
    lab.journal.log("three")
    lab.journal.rotate()
    lab.journal.log("four")
    lab.journal.vacuum()
    lab.start(seek=seek, since_ago=1.0)
    lab.read("four")
    assert lab.metrics.journal_entries_lost == 3
    lab.acknowledge()
    assert lab.state.cursor == lab.journal.cursor(4)


def test_the_first_entry_is_read_again_and_gaps_behind_it_are_counted_before_the_first_acknowledgement(
    lab: JournalLab,
) -> None:
    lab.journal.number = 7  # older ones were deleted before the first start
    lab.journal.log("one")
    lab.start()
    lab.read("one")
    lab.stop()
    lab.boot()
    lab.journal.number += 2
    lab.journal.log("two")
    lab.start()
    lab.read("one", "two")
    assert lab.metrics.journal_entries_lost == 2


def test_with_a_filter_a_first_entry_that_was_deleted_is_reported(
    lab: JournalLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.start(syslog_identifiers=("a",))
    lab.journal.log("one", SYSLOG_IDENTIFIER="a")
    lab.read("one")
    lab.stop()
    lab.start(syslog_identifiers=("a",))
    lab.read("one")
    assert not caplog.records
    lab.stop()
    lab.journal.rotate()
    lab.journal.log("two", SYSLOG_IDENTIFIER="a")
    lab.journal.vacuum()
    lab.start(syslog_identifiers=("a",))
    lab.read("two")
    assert "the first entry read (number 1) is missing" in caplog.text


def test_a_vacuum_after_all_was_read_loses_nothing(lab: JournalLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.journal.log("one")
    lab.start()
    lab.read("one")
    lab.acknowledge()
    lab.stop()
    lab.journal.rotate()
    lab.journal.log("two")
    lab.journal.vacuum()
    lab.start()
    lab.read("two")
    assert (lab.metrics.journal_entries_lost, caplog.records) == (0, [])


def test_with_a_filter_numbers_do_not_show_what_is_missing(lab: JournalLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.journal.log("one", SYSLOG_IDENTIFIER="a")
    lab.journal.log("two")
    lab.journal.log("three", SYSLOG_IDENTIFIER="a")
    lab.start(syslog_identifiers=("a",))
    lab.read("one", "three")
    assert (lab.metrics.journal_entries_lost, caplog.records) == (0, [])
    lab.stop()


@pytest.mark.parametrize(("seek", "texts"), [("head", ["old", "new"]), ("tail", ["new"]), ("since", ["old", "new"])])
def test_seek_says_where_to_begin(lab: JournalLab, seek: str, texts: list[str]) -> None:
    lab.journal.log("old")
    lab.clock.set_by(1.5)
    lab.start(seek=seek, since_ago=1.0)
    assert lab.state.cursor == {"head": "", "tail": "@1763000001.500000", "since": "@1763000000.500000"}[seek]
    lab.journal.log("new")
    lab.read(*texts)


def test_the_place_of_a_first_start_survives_a_restart_without_an_acknowledgement(lab: JournalLab) -> None:
    lab.start(seek="tail")
    lab.stop()
    lab.journal.log("between")
    lab.clock.advance(100)
    lab.start(seek="tail")
    lab.read("between")


def test_once_it_ends_with_what_is_there(lab: JournalLab) -> None:
    lab.journal.log("one", "two")
    lab.start(once=True)
    lab.wait_until(lambda: lab.feed.status().reading == 0)
    assert lab.texts == ["one", "two"]
    assert not lab.feed.finished
    lab.acknowledge()
    assert lab.feed.finished


def test_once_a_journal_that_cannot_be_read_is_a_problem(lab: JournalLab) -> None:
    missing = f"{lab.journal.directory}/missing"
    lab.start(once=True, paths=(missing,))
    for _ in range(3):
        lab.wait_until(lambda: not lab.feed.status().files_open)
        lab.clock.advance(60)
    lab.wait_until(lambda: lab.feed.finished)
    (problem,) = lab.feed.status().problems.values()
    assert problem.startswith("journalctl exited with code 1: Failed to open")


def test_a_missing_program_is_an_error_at_the_start(lab: JournalLab) -> None:
    with pytest.raises(StartError, match="input sys: /nowhere/journalctl does not exist"):
        lab.start(journalctl_path="/nowhere/journalctl")


def test_an_entry_that_is_too_large_is_left_out_and_counted(lab: JournalLab) -> None:
    lab.journal.log("one")
    lab.journal.log("two", LARGE="x" * 1_100_000)
    lab.journal.log("three")
    lab.start(message_max_bytes=100)
    lab.read("one", "three")
    assert lab.metrics.journal_entries_lost == 1


def test_a_long_message_is_truncated_and_flagged(lab: JournalLab) -> None:
    lab.journal.log("x" * 30)
    lab.start(message_max_bytes=10)
    lab.read("x" * 10)
    assert lab.batches[0].messages.flags == {0: ("truncated",)}


def test_a_message_that_parsers_join_is_not_passed_before_its_end(lab: JournalLab) -> None:
    lab.journal.log("one", "two", " more")
    lab.start(parsers=JOINED)
    lab.read("one")
    lab.acknowledge()
    assert lab.state.cursor == lab.journal.cursor(1)
    lab.journal.log("three")
    lab.read("one", "two\n more")
    assert lab.names[1][1] == 2


def test_a_message_that_ends_by_time_ends_there_at_a_second_reading_too(lab: JournalLab) -> None:
    lab.journal.log("one", " more")
    lab.start(parsers=JOINED)
    (journal,) = lab.feed._journals
    lab.wait_until(lambda: len(journal._entries) == 2)  # read, and pending
    lab.clock.advance(5.0)
    lab.read("one\n more")
    lab.stop()
    lab.journal.log(" late", "two")
    lab.boot()
    lab.start(parsers=JOINED)
    lab.wait_until(lambda: len(lab.texts) >= 2)
    assert lab.texts[:2] == ["one\n more", " late"]


def test_bytes_are_those_of_the_lines_and_not_the_numbers(lab: JournalLab) -> None:
    lab.journal.log("one", "two")
    lab.start()
    lab.read("one", "two")
    read = lab.metrics.bytes_read + sum(batch.size for batch in lab.batches)  # as the loop counts
    assert read == sum(map(len, lab.journal.read_lines()))
    lab.acknowledge()
    lab.acknowledge()
    assert lab.metrics.bytes_acked + sum(batch.size for batch in lab.batches) == read
