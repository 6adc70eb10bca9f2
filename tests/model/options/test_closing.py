"""When a file is closed, and what happens to what is still unread in it."""

import pytest

from tests.model.user_lab import DAY, UserLab


def test_a_file_without_new_data_for_five_minutes_is_closed_and_a_later_line_is_read_without_a_scan(
    lab: UserLab,
) -> None:
    lab.options = {"prospector.scanner.check_interval": "24h"}
    lab.ship("a.log", "one")
    lab.pass_time(299)
    assert lab.is_open("a.log")
    lab.pass_time(10)
    assert not lab.is_open("a.log")
    lab.append("a.log", "two\n")
    lab.until_messages("one", "two")
    assert len(lab.file_ids) == 1


def test_close_on_state_change_inactive_of_zero_keeps_a_file_open(lab: UserLab) -> None:
    lab.options = {"close.on_state_change.inactive": 0}
    lab.ship("a.log", "one")
    lab.pass_time(DAY)
    assert lab.is_open("a.log")


def test_a_file_that_is_written_to_now_and_then_is_not_inactive(lab: UserLab) -> None:
    lab.options = {"close.on_state_change.inactive": "1m"}
    lab.start()
    for number in range(5):
        lab.append("a.log", f"{number}\n")
        lab.wait_until(lambda expected=number + 1: len(lab.messages) == expected)  # type: ignore[misc]  # a default: not inferred
        lab.pass_time(50)
        assert lab.is_open("a.log")
    assert lab.running.metrics.harvesters_started == 1


@pytest.mark.parametrize("closes", [True, False])
def test_close_on_state_change_renamed_closes_a_renamed_file_at_its_end_or_keeps_it(lab: UserLab, closes: bool) -> None:
    lab.options = {"close.on_state_change.renamed": closes}
    lab.ship("a.log", "one")
    lab.append("a.log", "two\n")
    lab.rotate("a.log", to="a.log.1")
    lab.pass_time(60)
    assert lab.messages == ["one", "two"]
    assert lab.is_open("a.log.1") != closes
    lab.append("a.log.1", "late\n")
    lab.until_messages("one", "two", "late")


@pytest.mark.parametrize("closes", [True, False])
def test_close_on_state_change_removed_closes_a_deleted_file_at_its_end_or_keeps_it_until_it_is_inactive(
    lab: UserLab, closes: bool
) -> None:
    lab.options = {"close.on_state_change.removed": closes}
    lab.ship("a.log", "one")
    lab.append("a.log", "two\n")
    inode = lab.inode("a.log")
    lab.remove("a.log")
    lab.pass_time(30)
    assert lab.messages == ["one", "two"]
    assert (inode in lab.opened_by_agent()) != closes
    lab.pass_time(400)
    assert inode not in lab.opened_by_agent()
    assert lab.running.metrics.bytes_lost == 0


def test_what_is_written_to_a_deleted_file_that_is_kept_is_shipped(lab: UserLab) -> None:
    lab.options = {"close.on_state_change.removed": False}
    lab.ship("a.log", "one")
    with (lab.logs / "a.log").open("ab", buffering=0) as writer:
        lab.remove("a.log")
        lab.pass_time(30)
        writer.write(b"two\n")
        lab.until_messages("one", "two")


def test_close_reader_on_eof_closes_a_file_at_its_end_and_new_data_opens_it_again(lab: UserLab) -> None:
    lab.options = {"close.reader.on_eof": True}
    lab.append("a.log", "one\nhalf")
    lab.start()
    lab.until_messages("one")
    lab.wait_until(lambda: not lab.is_open("a.log"), seconds=0.001)
    lab.append("a.log", " line\n")
    lab.until_messages("one", "half line")
    lab.wait_until(lambda: not lab.is_open("a.log"), seconds=0.001)


def test_an_existing_file_is_closed_after_the_interval_and_resumes_without_loss_or_repeat(lab: UserLab) -> None:
    lab.options = {"close.reader.after_interval": "1m", "close.on_state_change.inactive": 0}
    expected = []
    lab.start()
    for number in range(30):
        lab.append("a.log", f"{number}\n")
        expected.append(f"{number}")
        lab.pass_time(11, steps=3)
    lab.pass_time(30)
    assert lab.messages == expected
    assert lab.running.metrics.harvesters_started >= 4
    assert len(lab.file_ids) == 1


def test_a_deleted_file_that_a_blocked_output_keeps_is_given_up_after_the_interval_logged_and_counted(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.options = {"close.reader.after_interval": "1m"}
    lab.queue_events = 32
    lab.ship("a.log", "one")
    lab.destination.room = 0
    lab.append("a.log", "blocked\n" * 100_000)
    inode, size = lab.inode("a.log"), 4 + 800_000
    lab.remove("a.log")
    lab.pass_time(50)
    assert inode in lab.opened_by_agent()
    lab.pass_time(20)
    assert inode not in lab.opened_by_agent()
    lab.destination.room = None
    lab.pass_time(5)
    (file_id,) = lab.file_ids
    end = max(event.offset + event.length for event in lab.arrived)
    assert 0 < lab.running.metrics.bytes_lost == size - end
    (warning,) = [line for line in caplog.messages if "closed before its end (close.reader.after_interval)" in line]
    assert f"{lab.logs}/a.log (file id {file_id})" in warning
    assert f"{size - end} bytes, from offset {end} to {size}" in warning


def test_an_existing_file_that_a_blocked_output_keeps_is_not_given_up(lab: UserLab) -> None:
    lab.options = {"close.reader.after_interval": "1m", "close.removed.max_bytes": 1}
    lab.queue_events = 32
    lab.append("a.log", "blocked\n" * 20_000)
    lab.start()
    lab.wait_until(lambda: lab.running.metrics.events_read)
    lab.destination.room = 0
    lab.pass_time(600)
    lab.destination.room = None
    lab.wait_until(lambda: len(lab.messages) == 20_000, seconds=1)
    assert lab.running.metrics.bytes_lost == 0
    assert len({(event.file_id, event.offset) for event in lab.arrived}) == 20_000


def test_of_deleted_files_above_the_budget_the_one_opened_first_is_given_up_and_the_other_arrives_whole(
    lab: UserLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.options = {"close.removed.max_bytes": "1MB"}
    lab.queue_events = 32
    lab.start()
    for name in ("old.log", "new.log"):
        lab.append(name, f"{name}\n")
        lab.pass_time(11)
    lab.destination.room = 0
    for name in ("old.log", "new.log"):
        lab.append(name, f"more of {name}\n" * 40_000)
        lab.remove(name)
        lab.pass_time(11)
    lab.destination.room = None
    lab.wait_until(lambda: lab.messages.count("more of new.log") == 40_000, seconds=0.01)
    assert lab.messages.count("more of old.log") < 40_000
    (warning,) = [line for line in caplog.messages if "closed before its end" in line]
    assert "old.log" in warning
    assert "close.removed.max_bytes" in warning


def test_type_log_closes_by_its_old_names(lab: UserLab) -> None:
    lab.options = {"type": "log", "close_inactive": "1m", "scan_frequency": "24h"}
    lab.ship("a.log", "one")
    lab.pass_time(50)
    assert lab.is_open("a.log")
    lab.pass_time(20)
    assert not lab.is_open("a.log")


INDENTED = {"multiline": {"pattern": r"^\s", "match": "after", "timeout": "5s"}}


def test_a_message_that_is_pending_when_the_interval_ends_is_sent_after_its_timeout(lab: UserLab) -> None:
    lab.options = {"close.reader.after_interval": "100ms", "parsers": [INDENTED]}
    lab.append("a.log", "one\n two\n")
    lab.start()
    lab.pass_time(60)
    assert lab.messages == ["one\n two"]
    assert not lab.is_open("a.log")
    lab.append("a.log", "three\n")
    lab.pass_time(60)
    assert lab.messages == ["one\n two", "three"]
