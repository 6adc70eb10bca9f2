"""The life of a log file and of the agent that ships it, as stories."""

import json
import os
from pathlib import Path

import pytest

from log_shipper.registry.load import read
from log_shipper.shipper.options.model import DeleteConfig
from tests.builders import multiline
from tests.lab import CHECK_INTERVAL, CLOSE_INACTIVE, READ_INTERVAL, Lab
from tests.still_lab import StillLab


def test_lines_arrive_as_they_are_written(lab: Lab) -> None:
    lab.ship("a.log", "one", "two")
    lab.append("a.log", "three\nhalf")
    lab.expect_lines("a.log", "one", "two", "three")
    lab.append("a.log", " a line\n")
    lab.expect_lines("a.log", "one", "two", "three", "half a line")


def test_half_a_character_at_the_end_waits_for_the_other_half(lab: Lab) -> None:
    lab.append("a.log", b"one\n\xe2\x82")
    lab.start()
    lab.expect_lines("a.log", "one")
    lab.append("a.log", b"\xac\n")
    lab.expect_lines("a.log", "one", "€")


def test_a_new_file_is_found_while_running(lab: Lab) -> None:
    lab.start()
    lab.append("new.log", "one\n")
    lab.expect_lines("new.log", "one")


def test_after_a_stop_nothing_is_repeated(lab: Lab) -> None:
    lab.ship("a.log", "one")
    lab.append("a.log", "two\n")
    lab.expect_lines("a.log", "one", "two")
    lab.stop()
    lab.append("a.log", "three\n")
    lab.start()
    lab.expect_lines("a.log", "one", "two", "three")
    assert len(lab.records) == 3


def test_a_message_that_a_stop_splits_comes_out_whole(lab: Lab) -> None:
    lab.parsers = (multiline(r"^\s"),)
    lab.append("a.log", "zero\none\n  more\n")
    lab.start()
    lab.wait_until(lambda: lab.records)
    lab.stop()
    assert lab.messages == ["zero"]
    lab.append("a.log", "  and more\nend\n")
    lab.start()
    lab.expect_lines("a.log", "zero", "one\n  more\n  and more", "end")


def test_after_a_kill_what_was_not_acknowledged_comes_again_under_the_same_name(lab: Lab) -> None:
    lab.append("a.log", "one\ntwo\n")
    lab.start()
    lab.destination.holding = True
    lab.wait_until(lambda: lab.destination.in_flight)
    lab.destination.arrive()
    lab.kill()
    lab.start()
    lab.append("a.log", "three\n")
    lab.expect_lines("a.log", "one", "two", "three")
    assert lab.messages == ["one", "two", "one", "two", "three"]
    assert len(lab.file_ids) == 1


def test_what_was_on_the_way_when_it_was_killed_is_sent_again(lab: Lab) -> None:
    lab.append("a.log", "one\n")
    lab.start()
    lab.destination.holding = True
    lab.wait_until(lambda: lab.destination.in_flight)
    lab.kill()
    assert not lab.records
    lab.start()
    lab.expect_lines("a.log", "one")


def test_a_rotated_file_is_read_to_its_end_and_the_new_one_is_another(lab: Lab) -> None:
    lab.ship("a.log", "one")
    lab.append("a.log", "last\n")
    lab.rotate("a.log", to="a.log.1")
    lab.append("a.log", "first\n")
    lab.expect_lines("a.log.1", "one", "last")
    lab.expect_lines("a.log", "first")
    assert len(lab.file_ids) == 2


def test_a_truncated_file_is_a_new_one_from_its_start(lab: Lab) -> None:
    lab.ship("a.log", "one", "two")
    lab.truncate("a.log")
    lab.append("a.log", "new\n")
    lab.expect_lines("a.log", "one", "two", "new")
    assert [event.offset for event in lab.arrived] == [0, 4, 0]
    assert len(lab.file_ids) == 2
    assert lab.running.metrics.files_truncated == 1


def test_a_file_that_was_rewritten_while_the_agent_was_down_is_a_new_one(lab: Lab) -> None:
    lab.ship("a.log", "header", "one")
    lab.stop()
    lab.truncate("a.log")
    lab.append("a.log", "header\ntwo, longer than before\n")
    lab.start()
    lab.expect_lines("a.log", "header", "one", "header", "two, longer than before")
    ended = [state.ended for state in read(lab.data / "registry").values()]
    lab.stop()
    assert len(ended) == 2


def test_a_line_that_is_written_just_before_its_file_is_removed_is_not_lost(lab: Lab) -> None:
    lab.ship("a.log", "one")
    lab.calm_down()
    inode = lab.inode("a.log")
    lab.append("a.log", "last words\n")
    lab.remove("a.log")
    for _ in range(20):
        lab.step(seconds=CHECK_INTERVAL, wait=0.002)
    assert lab.lines(inode) == ["one", "last words"]
    assert lab.running.metrics.bytes_lost == 0
    assert not lab.crawler.running


def test_what_a_removed_file_kept_of_an_unfinished_line_is_counted_and_logged_as_lost(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.append("a.log", "one\nunfinished")
    lab.start()
    lab.expect_lines("a.log", "one")
    lab.remove("a.log")
    for _ in range(20):
        lab.step(seconds=CHECK_INTERVAL, wait=0.002)
    assert lab.running.metrics.bytes_lost == len("unfinished")
    assert f"{lab.logs}/a.log (file id {lab.arrived[0].file_id}) was removed" in caplog.text
    assert "last 10 bytes, from offset 4," in caplog.text
    assert not lab.crawler.running


def test_new_data_that_comes_while_the_file_is_being_closed_is_read(lab: Lab) -> None:
    lab.ship("a.log", "one")
    lab.calm_down()
    lab.clock.advance(CLOSE_INACTIVE * 2)
    lab.append("a.log", "two\n")
    lab.expect_lines("a.log", "one", "two")


def test_a_message_that_was_ended_by_time_stays_ended_after_a_kill(lab: Lab) -> None:
    lab.parsers = (multiline(r"^\s"),)
    lab.append("a.log", "one\n")
    lab.start()
    lab.destination.holding = True
    lab.wait_until(lambda: lab.destination.in_flight, seconds=1)
    lab.destination.arrive()
    lab.append("a.log", " came too late\nnext\nend\n")
    lab.kill()
    lab.start()
    lab.expect_lines("a.log", "one", " came too late", "next", "end")
    assert lab.messages[:2] == ["one", "one"]


def test_once_sends_the_last_line_without_its_terminator_and_ends_there(lab: Lab) -> None:
    lab.append("a.log", "one\ntwo")
    lab.append("empty.log", "")
    lab.run_once()
    assert lab.messages == ["one", "two"]
    lab.run_once()
    assert len(lab.records) == 2
    lab.append("a.log", " goes on\n")
    lab.run_once()
    assert lab.messages == ["one", "two", " goes on"]


def test_a_rejected_event_goes_to_the_dead_letter_and_the_position_past_it(lab: Lab) -> None:
    lab.refuse = "poison"
    lab.append("a.log", "one\npoison\ntwo\n")
    lab.start()
    lab.expect_lines("a.log", "one", "two")
    lab.stop()
    (letter,) = (json.loads(line) for line in (lab.data / "dead_letter.ndjson").read_text().splitlines())
    assert (letter["message"], letter["offset"]) == ("poison", 4)
    assert [state.position for state in read(lab.data / "registry").values()] == [15]


def test_while_the_destination_is_unreachable_no_more_is_read_than_fits_into_the_queue(lab: Lab) -> None:
    lines = 70_000
    lab.append("a.log", ("x" * 99 + "\n") * lines)
    lab.start()
    lab.destination.holding = True
    for _ in range(50):
        lab.step(READ_INTERVAL, wait=0.001)
    assert 25_000 < lab.running.metrics.events_read < 40_000  # 20 MiB, with what an event takes beside its text
    lab.destination.holding = False
    lab.calm_down()
    assert lab.running.metrics.events_acked == lines


def test_the_registry_knows_the_file_before_its_first_record_arrives(tmp_path: Path) -> None:
    lab = StillLab(tmp_path)
    lab.append("a.log", "one\n")
    lab.start()
    for _ in range(10):
        lab.step_without_saving(3)
    assert lab.records == []
    lab.step()
    lab.step_without_saving()
    (state,) = read(lab.data / "registry").values()
    assert [event.file_id for event in lab.arrived] == [state.id]
    lab.close()


def test_a_line_that_is_written_while_its_file_is_deleted_by_the_agent_is_not_lost(lab: Lab) -> None:
    lab.input = {"delete": DeleteConfig(enabled=True, grace_period=0)}
    lab.append("a.log", "one\n")
    inode = lab.inode("a.log")
    lab.start()
    lab.expect_lines("a.log", "one")
    crawler = lab.crawler

    def write_and_unlink(path: str) -> None:
        with open(path, "a") as file:
            file.write("two\n")
        os.unlink(path)

    crawler._deletions.unlink = write_and_unlink
    lab.wait_until(lambda: lab.lines(inode) == ["one", "two"], seconds=1)
    lab.wait_until(lambda: not crawler.running, seconds=1)
    assert list(lab.logs.iterdir()) == []
    assert len(lab.file_ids) == 1
    assert lab.running.metrics.bytes_lost == 0
