"""A file that was deleted while the agent was down cannot be shipped any more; that must be logged and counted."""

import json
import logging

import pytest

from tests.lab import Lab


def test_bytes_of_a_file_that_was_deleted_while_the_agent_was_down_are_logged_and_counted(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.ship("a.log", "one")
    lab.append("a.log", "behind")  # without its end: it is not shipped
    lab.step(seconds=20)
    lab.stop()
    lab.remove("a.log")
    lab.start()
    lab.step()
    assert "a.log" in caplog.text
    assert "from offset 4" in caplog.text
    assert lab.running.metrics.bytes_lost == len("behind")


def test_bytes_of_a_file_that_its_input_names_without_wildcards_are_counted_when_it_was_deleted(lab: Lab) -> None:
    lab.paths = (f"{lab.logs}/a.log",)
    lab.ship("a.log", "one")
    lab.append("a.log", "behind")
    lab.step(seconds=20)
    lab.stop()
    lab.remove("a.log")
    lab.start()
    lab.step()
    assert lab.running.metrics.bytes_lost == len("behind")


def test_a_file_that_was_shipped_to_its_end_is_not_missed(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    lab.ship("a.log", "one")
    lab.stop()
    lab.remove("a.log")
    caplog.clear()
    lab.start()
    lab.step()
    assert "no longer exists" not in caplog.text
    assert lab.running.metrics.bytes_lost == 0


def test_bytes_that_were_not_read_while_the_queue_was_full_are_counted_when_the_file_is_truncated(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.ship("a.log", "one")
    lab.destination.holding = True
    block = "two\n" * 200_000
    while lab.running.pipeline.has_room:
        lab.append("a.log", block)
        lab.step(seconds=0.1)
    read = lab.running.metrics.bytes_read
    lab.append("a.log", block)
    lab.step(seconds=1)
    size = (lab.logs / "a.log").stat().st_size
    lab.truncate("a.log")
    lab.destination.holding = False
    lab.scan()
    assert lab.running.metrics.files_truncated == 1
    assert lab.running.metrics.bytes_lost == size - read
    assert f"up to {size - read} bytes from offset {read} may be lost" in caplog.text


def test_what_a_truncation_takes_while_the_agent_is_behind_is_counted(lab: Lab) -> None:
    lab.ship("a.log", "one")
    lab.append("a.log", "two\n" * 500_000)
    lab.wait_until(lambda: lab.running.metrics.bytes_read > len("one\n"), seconds=0.001)
    size, read = (lab.logs / "a.log").stat().st_size, lab.running.metrics.bytes_read
    lab.truncate("a.log")
    lab.scan()
    assert lab.running.metrics.bytes_lost == size - read > 1_000_000


def test_what_is_cut_off_behind_the_position_is_counted_and_the_file_is_read_on(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.queue_events = 100
    lab.ship("a.log", "one")
    lab.destination.holding = True
    while lab.running.pipeline.has_room:
        lab.append("a.log", "two\n" * 100)
        lab.step(seconds=0.1)
    lab.append("a.log", "three\nfour\n")
    lab.step(seconds=1)
    lab.truncate("a.log", (lab.logs / "a.log").stat().st_size - len("four\n"))
    lab.destination.holding = False
    lab.scan()
    lab.append("a.log", "five\n")
    lab.scan()
    assert lab.messages[-2:] == ["three", "five"]
    assert len(lab.file_ids) == 1
    assert lab.running.metrics.bytes_lost == len("four\n")
    assert lab.crawler.status().bytes_behind == 0
    assert "was truncated to" in caplog.text


def test_what_came_after_a_truncation_is_no_part_of_what_that_took(lab: Lab) -> None:
    lab.queue_events = 100
    lab.ship("a.log", "one")
    lab.destination.holding = True
    while lab.running.pipeline.has_room:
        lab.append("b.log", "two\n" * 100)
        lab.step(seconds=0.1, wait=0.002)  # it grows until its id is saved, too
    lab.append("a.log", "lost\n")
    lab.step(seconds=1)
    lab.truncate("a.log")
    lab.append("a.log", "another line that is longer than all of it before\n")
    lab.step(seconds=1)
    lab.destination.holding = False
    lab.wait_until(lambda: any(message.startswith("another") for message in lab.messages))
    lab.scan()
    assert lab.running.metrics.bytes_lost == len("lost\n")


def test_what_was_written_to_a_truncated_file_is_counted_if_it_is_removed_before_the_next_look(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.ship("a.log", "one", "two")
    (lab.logs / "a.log").write_text("new\n")
    lab.remove("a.log")
    lab.scan()
    assert lab.messages == ["one", "two"]
    assert lab.running.metrics.bytes_lost == len("new\n")
    assert "its new content (4 bytes) may be lost: no path of the inputs leads to it" in caplog.text


def test_what_was_written_to_a_truncated_file_outside_the_paths_is_counted(lab: Lab) -> None:
    lab.ship("a.log", "one", "two")
    lab.rotate("a.log", to="elsewhere")
    lab.step(seconds=1)
    (lab.logs / "elsewhere").write_text("new\n")
    lab.step(seconds=1)
    assert lab.messages == ["one", "two"]
    assert lab.running.metrics.bytes_lost == len("new\n")


@pytest.mark.parametrize("is_running", [True, False])
def test_a_file_of_which_all_was_shipped_is_truncated_without_a_warning(
    lab: Lab, caplog: pytest.LogCaptureFixture, *, is_running: bool
) -> None:
    lab.ship("a.log", "one", "two")
    if not is_running:
        lab.stop()
    (lab.logs / "a.log").write_text("new\n")
    if not is_running:
        lab.start()
    lab.scan()
    assert [json.loads(record)["message"] for record in lab.records] == ["one", "two", "new"]
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert lab.running.metrics.bytes_lost == 0


def test_a_stop_reads_deleted_files_to_their_end(lab: Lab) -> None:
    """Nobody can read them after it; other files are read after the next start."""
    lab.append("b.log", "one of another\n")
    lab.ship("a.log", "one")
    lab.expect_lines("b.log", "one of another")
    lab.append("a.log", "two\n" * 500_000)
    lab.append("b.log", "two of another\n")
    lab.remove("a.log")
    lab.stop()
    messages = [json.loads(record)["message"] for record in lab.records]
    assert messages.count("two") == 500_000
    assert "two of another" not in messages
    assert lab.bytes_lost == 0


def test_what_a_stop_loses_of_deleted_files_is_counted_and_logged_once(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    """The destination takes nothing, the queue is full, and there is no other way to the files than what is open."""
    lab.queue_events = 1
    lab.ship("a.log", "one")
    lab.append("b.log", "of another\n")
    lab.expect_lines("b.log", "of another")
    lab.destination.holding = True
    lab.append("a.log", "two\n")
    lab.take_steps()
    lab.append("a.log", "three\n")
    lab.append("b.log", "more\n")
    lab.take_steps()
    lab.remove("a.log")
    lab.remove("b.log")
    lab.step(wait=0.002)
    lab.read_to_end()
    lab._end()
    lost = [message for message in caplog.messages if "was removed before all of it was acknowledged" in message]
    assert len(lost) == 2
    assert any("a.log" in message and "10 bytes, from offset 4 to 14, are lost" in message for message in lost)
    assert any("b.log" in message and "5 bytes, from offset 11 to 16, are lost" in message for message in lost)
    assert lab.bytes_lost == 15
    caplog.clear()
    lab.start()
    lab.scan()
    assert lab.running.metrics.bytes_lost == 0
    assert "were not shipped" not in caplog.text


@pytest.mark.parametrize("is_cut_off", [False, True])
def test_so_are_those_of_a_file_that_is_not_proven_yet(
    lab: Lab, caplog: pytest.LogCaptureFixture, is_cut_off: bool
) -> None:
    lab.start_with_an_unproven("b.log", "three\n")
    if is_cut_off:
        lab.truncate("b.log", len("one\ntwo\n"))
    lab.remove("b.log")
    lab.running.sources.read_to_end(0.0)  # no time to look again
    lab._end()
    assert lab.bytes_lost == len("three\n")
    assert "b.log" in caplog.text
    lab.start()
    lab.scan()
    assert lab.running.metrics.bytes_lost == 0
