"""What a stop reads and ships with `read_until_eof`: nobody reads the files of a pod that ends later."""

import pytest

from tests.model.user_lab import UserLab, pack

MULTILINE = {"parsers": [{"multiline": {"pattern": "^ ", "match": "after"}}]}


@pytest.fixture(autouse=True)
def reading(lab: UserLab) -> None:
    lab.options = {"read_until_eof.enabled": True}


def test_a_stop_ships_the_lines_that_were_not_read_yet(lab: UserLab) -> None:
    lab.ship("a.log", "one")
    lab.append("a.log", "two\nthree\n")
    lab.stop()
    assert lab.messages == ["one", "two", "three"]


def test_a_stop_ships_a_file_that_no_scan_has_seen(lab: UserLab) -> None:
    lab.ship("a.log", "one")
    lab.append("b.log", "of another file\n")
    lab.stop()
    assert lab.messages == ["one", "of another file"]


def test_a_stop_before_the_first_step_ships_everything(lab: UserLab) -> None:
    lab.append("a.log", "one\ntwo\n")
    lab.start()
    lab.stop()
    assert lab.messages == ["one", "two"]


def test_a_stop_reads_more_than_one_read(lab: UserLab) -> None:
    lab.ship("a.log", "first")
    lines = [f"{number:0100}" for number in range(20_000)]
    lab.append("a.log", "".join(f"{line}\n" for line in lines))
    lab.stop()
    assert lab.messages == ["first", *lines]


def test_a_stop_ships_a_closed_file_with_new_data(lab: UserLab) -> None:
    lab.options |= {"close.on_state_change.inactive": "1s"}
    lab.ship("a.log", "one")
    lab.pass_time(60)
    assert not lab.is_open("a.log")
    lab.append("a.log", "two\n")
    lab.stop()
    assert lab.messages == ["one", "two"]


def test_a_stop_ships_the_rest_of_a_deleted_file(lab: UserLab) -> None:
    lab.ship("a.log", "one")
    lab.append("a.log", "two\n")
    lab.remove("a.log")
    lab.stop()
    assert lab.messages == ["one", "two"]


def test_a_stop_ships_compressed_files(lab: UserLab) -> None:
    lab.options |= {"compression": "auto"}
    lab.ship("a.log", "one")
    pack(lab, "b.log.gz", b"two\nthree")
    lab.stop()
    assert lab.messages == ["one", "two", "three"]


def test_a_line_without_terminator_and_a_message_that_may_go_on_are_shipped_as_they_are(lab: UserLab) -> None:
    lab.options |= MULTILINE
    lab.append("a.log", "Traceback:\n  line 1\n  line 2")
    lab.start()
    lab.take_steps()
    assert lab.messages == []
    before = lab.clock.monotonic()
    lab.stop()
    assert lab.messages == ["Traceback:\n  line 1\n  line 2"]
    assert 0.9 < lab.clock.monotonic() - before < 1.5, "it was given a second"
    assert "truncated" not in lab.records[-1]


def test_a_second_reading_ends_the_unfinished_line_at_the_same_offset(lab: UserLab) -> None:
    lab.append("a.log", "one\ntw")
    lab.start()
    lab.stop()
    assert lab.messages == ["one", "tw"]
    lab.append("a.log", "o\nthree\n")
    lab.start()
    lab.until_messages("one", "tw", "o", "three")
    assert [event.offset for event in lab.arrived] == [0, 4, 6, 8]


def test_a_line_that_is_finished_while_the_stop_waits_is_shipped_whole(lab: UserLab) -> None:
    lab.append("a.log", "one\ntw")
    lab.start()
    lab.take_steps()
    rest = iter(["o\n"])
    lab.stop(meanwhile=lambda: lab.append("a.log", next(rest, "")))
    assert lab.messages == ["one", "two"]


def test_a_message_that_continues_in_the_next_file_is_shipped_whole(lab: UserLab) -> None:
    lab.options |= MULTILINE
    lab.append("a.log", "one\n")
    lab.start()
    lab.wait_until(lambda: lab.is_open("a.log"))
    lab.take_steps()
    lab.append("a.log", "two\n")
    lab.take_steps()
    lab.rotate("a.log", to="a.log.1")
    lab.append("a.log", " and more\n")
    lab.stop()
    assert lab.messages == ["one", "two\n and more"]


def test_a_program_that_goes_on_writing_does_not_hold_up_the_stop(lab: UserLab) -> None:
    lab.ship("a.log", "one")
    lab.append("a.log", "two\n")
    lab.stop(meanwhile=lambda: lab.append("a.log", "more\n"))
    assert lab.messages[:2] == ["one", "two"]
    assert len(lab.messages) < 10


def test_a_stop_reads_no_longer_than_its_timeout(lab: UserLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.options |= {"read_until_eof.timeout": "2s"}
    lab.queue_events = 10
    lab.ship("a.log", "one")
    lab.destination.holding = True
    for number in range(3):
        lab.append("a.log", f"{number}\n" * 20)
        lab.append(f"{number}.log", f"{number}\n" * 20)
    before = lab.clock.monotonic()
    lab.read_to_end()
    assert lab.clock.monotonic() - before == pytest.approx(2, abs=0.2)
    lab.destination.holding = False
    lab.stop()
    assert "stopped before the end of 3 files, 120 bytes were not read (read_until_eof): " in caplog.text


def test_without_the_option_a_stop_reads_nothing(lab: UserLab) -> None:
    lab.options = {}
    lab.ship("a.log", "one")
    lab.append("a.log", "two\n")
    lab.append("b.log", "three\n")
    lab.stop()
    assert lab.messages == ["one"]


def test_files_of_inputs_without_the_option_are_not_read(lab: UserLab) -> None:
    lab.others = [{"type": "filestream", "id": "other", "paths": [f"{lab.logs}/*.txt"]}]
    lab.append("a.txt", "1\n")
    lab.append("a.log", "one\n")
    lab.start()
    lab.wait_until(lambda: len(lab.messages) == 2)
    lab.append("a.txt", "2\n")
    lab.append("b.txt", "3\n")
    lab.append("a.log", "two\n")
    lab.stop()
    assert sorted(lab.messages) == ["1", "one", "two"]


def test_a_stop_ships_what_is_pending_at_the_end_of_a_gz(lab: UserLab) -> None:
    """It waited for the file that followed, and nobody writes to that any more."""
    lab.options |= {**MULTILINE, "compression": "auto"}
    lab.append("a.log", "one\ntwo\n")
    lab.start()
    lab.wait_until(lambda: lab.messages == ["one"])
    lab.take_steps()
    lab.kill()
    pack(lab, "a.log.1.gz", b"one\ntwo\n")
    lab.remove("a.log")
    lab.append("a.log", "")
    lab.start()
    lab.stop()
    assert lab.messages == ["one", "two"]
