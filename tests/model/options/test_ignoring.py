"""Files that are ignored, or read from their end."""

import pytest

from tests.model.user_lab import DAY, HOUR, UserLab


def test_a_file_older_than_ignore_older_is_left_alone_and_what_is_added_to_it_is_shipped(lab: UserLab) -> None:
    lab.options = {"ignore_older": "2h"}
    for name, ago in (("old.log", 3 * HOUR), ("young.log", HOUR)):
        lab.append(name, f"{name}\n")
        lab.date(name, ago)
    lab.start()
    lab.until_messages("young.log")
    lab.pass_time(30)
    lab.append("old.log", "added\n")
    lab.date("old.log")
    lab.until_messages("young.log", "added")


def test_a_file_that_was_read_and_grows_old_is_not_read_again_after_a_restart(lab: UserLab) -> None:
    lab.options = {"ignore_older": "2h"}
    lab.append("a.log", "one\n")
    lab.date("a.log")
    lab.start()
    lab.until_messages("one")
    lab.stop()
    lab.clock.advance(DAY)
    lab.start()
    lab.pass_time(30)
    lab.append("a.log", "two\n")
    lab.date("a.log")
    lab.until_messages("one", "two")


@pytest.mark.parametrize(("since", "expected"), [("since_first_start", ["b"]), ("since_last_start", [])])
def test_ignore_inactive_leaves_out_what_was_not_written_to_since_the_first_or_the_last_start(
    lab: UserLab, since: str, expected: list[str]
) -> None:
    lab.options = {"ignore_inactive": since}
    lab.append("a.log", "a\n")
    lab.date("a.log", 60)
    lab.start()
    lab.pass_time(60)
    assert lab.messages == []
    lab.stop()
    lab.append("b.log", "b\n")
    lab.date("b.log")
    lab.clock.advance(60)
    lab.start()
    lab.pass_time(60)
    assert lab.messages == expected
    lab.append("c.log", "c\n")
    lab.date("c.log")
    lab.until_messages(*expected, "c")
    lab.append("a.log", "added\n")
    lab.date("a.log")
    lab.until_messages(*expected, "c", "added")


def test_tail_files_of_type_log_begins_at_the_end_of_the_files_of_the_first_scan_and_reads_later_ones_whole(
    lab: UserLab,
) -> None:
    lab.options = {"type": "log", "tail_files": True}
    lab.append("a.log", "old\n")
    lab.start()
    lab.pass_time(30)
    lab.append("a.log", "new\n")
    lab.until_messages("new")
    lab.append("b.log", "of another\n")
    lab.until_messages("new", "of another")
    lab.stop()
    lab.append("a.log", "while down\n")
    lab.start()
    lab.until_messages("new", "of another", "while down")
