"""Files that look like copies of others wait until it is known what they are."""

import gzip
import shutil

import pytest

from log_shipper.shipper.inputs.files.lifecycle.copy_detector import (
    COMPARE_AGAIN,
    COMPARED_AT_ONCE,
    GRACE,
    LATE,
    MAX_SUSPECTS,
)
from log_shipper.shipper.options.model import FileIdentityConfig
from tests.builders import multiline
from tests.lab import CHECK_INTERVAL, CLOSE_INACTIVE, Lab

AT_ONCE = 0.0005  # seconds in a step: nothing is due by time


def is_open(lab: Lab, name: str) -> bool:
    return lab.inode(name) in lab.opened_by_agent()


def test_a_copy_of_a_file_that_stays_is_shipped_after_some_seconds_not_at_the_next_scan(lab: Lab) -> None:
    lab.ship("app.log", "one")
    since = lab.clock.monotonic()
    lab.copy("app.log", "app.log.bak")
    lab.wait_until(lambda: len(lab.arrived) == 2, seconds=0.05)
    assert (lab.messages, len(lab.file_ids)) == (["one", "one"], 2)
    assert GRACE <= lab.clock.monotonic() - since < GRACE + LATE


def test_of_many_copies_only_so_many_wait_and_the_others_are_shipped_at_once(lab: Lab) -> None:
    lab.ship("app.log", "one")
    for number in range(3 * MAX_SUSPECTS):
        lab.copy("app.log", f"app.log.{number}")
    lab.wait_until(lambda: len(lab.arrived) > 2 * MAX_SUSPECTS, AT_ONCE)
    for _ in range(20):
        lab.step(AT_ONCE, wait=0.002)
    assert len(lab.arrived) == 1 + 2 * MAX_SUSPECTS


@pytest.mark.parametrize("seconds", [AT_ONCE, CHECK_INTERVAL])
def test_of_a_copy_that_lacks_the_last_lines_nothing_is_shipped_again(lab: Lab, seconds: float) -> None:
    """It was made before they came, and they were read from its original, which is truncated; that is noticed after so
    many seconds."""
    lab.ship("app.log", "one", "two")
    lab.copy("app.log", "app.log.1")
    lab.wait_until(lambda: is_open(lab, "app.log.1"), AT_ONCE)
    lab.append("app.log", "three\n")
    lab.wait_until(lambda: len(lab.arrived) == 3, AT_ONCE)
    lab.truncate("app.log")
    lab.append("app.log", "four\n")
    lab.step(seconds)
    lab.take_steps()
    lab.scan()
    lab.append("app.log.1", "of the copy\n")
    lab.scan()
    assert lab.messages == ["one", "two", "three", "four", "of the copy"]


@pytest.mark.parametrize("is_closed", [False, True])
@pytest.mark.parametrize(
    ("original", "copy"),
    [
        ("app.log", "old/app.log-20261130"),
        ("web/app.log", "web/old/app.log-20261130"),
        ("web/app.log", "old/web/app.log.1"),
        ("web/app.log", "web/2026-11-30/app.log"),
    ],
)
def test_a_copy_in_another_directory_is_known_before_its_original_is_truncated(
    lab: Lab, original: str, copy: str, is_closed: bool
) -> None:
    """With copytruncate and olddir, logrotate takes as long as copying takes."""
    for name in (original, copy, "other/app.log"):
        (lab.logs / name).parent.mkdir(parents=True, exist_ok=True)
    lab.paths = (f"{lab.logs}/**/*.log*",)
    lab.append("other/app.log", "one\n")
    lab.ship(original, "one", "two")
    if is_closed:
        lab.clock.advance(CLOSE_INACTIVE)
        lab.scan()
        assert not is_open(lab, original)
    lab.copy(original, copy)
    for _ in range(5):
        lab.step(seconds=0.1)
    lab.truncate(original)
    lab.append(copy, "three\n")
    lab.scan()
    lab.scan()
    assert sorted(lab.messages) == ["one", "one", "three", "two"]


def test_a_log_in_another_directory_that_begins_as_one_that_is_truncated_is_no_part_of_it(lab: Lab) -> None:
    (lab.logs / "jobs").mkdir()
    lab.paths = (f"{lab.logs}/**/*.log*",)
    lab.ship("app.log", "started")
    lab.append("app.log", "one\n")
    lab.wait_until(lambda: len(lab.arrived) == 2, AT_ONCE)
    lab.append("jobs/app-20261130.log", "started\n")
    for _ in range(5):
        lab.step(seconds=0.1)
    lab.truncate("app.log")
    lab.wait_until(lambda: len(lab.arrived) == 3, seconds=0.5)
    assert lab.messages == ["started", "one", "started"]


def test_a_copy_that_is_empty_at_first_is_one_of_the_file_whose_bytes_it_gets(lab: Lab) -> None:
    lab.append("app.log.1", "old\n")
    lab.ship("app.log", "new")
    lab.wait_until(lambda: len(lab.arrived) == 2)
    lab.append("app.log.2", "")
    lab.wait_until(lambda: is_open(lab, "app.log.2"), AT_ONCE)
    lab.append("app.log.2", "old\n")
    lab.take_steps()
    lab.truncate("app.log.1")
    lab.scan()
    assert sorted(lab.messages) == ["new", "old"]


@pytest.mark.parametrize("width", [1000, COMPARED_AT_ONCE // 30])
def test_a_file_that_differs_from_another_in_the_middle_is_shipped_at_once(lab: Lab, width: int) -> None:
    """A large one is compared in parts."""
    lines = [f"{number:02}" + "x" * width for number in range(80)]
    lab.append("app.log", "".join(f"{line}\n" for line in lines))
    lab.start()
    lab.wait_until(lambda: len(lab.arrived) == 80)
    since = lab.clock.monotonic()
    lines[70] = lines[70].replace("70x", "70y")
    lab.append("app.log.1", "".join(f"{line}\n" for line in lines))
    lab.wait_until(lambda: len(lab.arrived) == 160, AT_ONCE)
    parts = 80 * width // COMPARED_AT_ONCE
    assert parts * COMPARE_AGAIN <= lab.clock.monotonic() - since < GRACE


@pytest.mark.parametrize("seen", ["beside the file", "when that is gone"])
def test_a_file_is_not_shipped_again_from_its_gz_while_its_last_lines_are_in_flight(lab: Lab, seen: str) -> None:
    """The output is blocked. gzip removes what it has compressed."""
    lab.input["compression"] = "auto"
    lab.append("app.log.1", "one\ntwo\n")
    lab.start()
    lab.destination.holding = True
    lab.wait_until(lambda: lab.destination.in_flight)
    packed = lab.logs.parent / "packed"
    packed.write_bytes(gzip.compress(b"one\ntwo\n"))
    if seen == "beside the file":
        packed.rename(lab.logs / "app.log.1.gz")
        lab.wait_until(lambda: is_open(lab, "app.log.1.gz"), AT_ONCE)
    lab.remove("app.log.1")
    lab.scan(2)
    if packed.exists():
        packed.rename(lab.logs / "app.log.1.gz")
    lab.scan(3)
    assert lab.crawler.next_wake(reading=True) > 0, "it waits without looking all the time"
    lab.destination.holding = False
    lab.scan()
    assert lab.messages == ["one", "two"]


def test_a_file_that_is_moved_to_another_disk_resumes_when_its_last_lines_are_acknowledged(lab: Lab) -> None:
    lab.ship("app.log", "one")
    lab.destination.holding = True
    lab.append("app.log", "two\n")
    lab.wait_until(lambda: lab.destination.in_flight)
    made = lab.logs.parent / "made"
    shutil.copy2(lab.logs / "app.log", made)
    lab.remove("app.log")
    lab.scan(2)
    made.rename(lab.logs / "web.log")
    lab.scan(3)
    lab.destination.holding = False
    lab.scan()
    assert lab.messages == ["one", "two"]


@pytest.mark.parametrize("left", [0, 4])
def test_a_copy_that_is_made_a_second_time_is_no_new_file(lab: Lab, left: int) -> None:
    lab.ship("app.log", "one", "two")
    lab.copy("app.log", "app.log.1")
    lab.wait_until(lambda: is_open(lab, "app.log.1"), AT_ONCE)
    lab.truncate("app.log.1", left)
    lab.step(CHECK_INTERVAL, wait=0.002)
    lab.copytruncate("app.log", "app.log.1")
    lab.append("app.log", "three\n")
    lab.scan()
    assert lab.messages == ["one", "two", "three"]


def test_a_file_that_takes_a_name_after_a_closed_one_was_deleted_is_shipped_at_once(lab: Lab) -> None:
    lab.ship("app.log", "one")
    lab.step(CLOSE_INACTIVE + 1)
    lab.wait_until(lambda: not is_open(lab, "app.log"))
    lab.remove("app.log")
    lab.append("app.log.1", "two\n")
    lab.wait_until(lambda: lab.messages == ["one", "two"], AT_ONCE)


def test_a_closed_file_is_still_known_when_a_copy_of_it_appears(lab: Lab) -> None:
    lab.ship("app.log", "one")
    lab.step(CLOSE_INACTIVE + 1)
    lab.wait_until(lambda: not is_open(lab, "app.log"))
    lab.copy("app.log", "app.log.1")
    lab.wait_until(lambda: is_open(lab, "app.log.1"), AT_ONCE)
    lab.append("app.log", "two\n")
    lab.wait_until(lambda: "two" in lab.messages, AT_ONCE)
    assert lab.messages == ["one", "two"]


def test_a_copy_that_is_deleted_while_it_waits_is_shipped_at_once(lab: Lab) -> None:
    lab.ship("app.log", "header")
    since = lab.clock.monotonic()
    lab.copy("app.log", "app.log.1")
    lab.wait_until(lambda: is_open(lab, "app.log.1"), AT_ONCE)
    lab.remove("app.log.1")
    lab.wait_until(lambda: lab.messages == ["header", "header"], AT_ONCE)
    assert lab.clock.monotonic() - since < GRACE


def test_a_copy_that_waits_at_a_stop_is_closed_and_known_after_the_start(lab: Lab) -> None:
    lab.ship("app.log", "one")
    lab.copy("app.log", "app.log.1")
    lab.wait_until(lambda: is_open(lab, "app.log.1"), AT_ONCE)
    lab.stop()
    assert not is_open(lab, "app.log.1")
    lab.truncate("app.log")
    lab.append("app.log", "two\n")
    lab.start()
    lab.scan()
    assert lab.messages == ["one", "two"]


def test_after_a_machine_stood_still_a_copy_waits_a_little_longer(lab: Lab) -> None:
    """The program that copies stood still as well: it may be about to empty the original."""
    lab.ship("app.log", "one")
    lab.copy("app.log", "app.log.1")
    lab.wait_until(lambda: is_open(lab, "app.log.1"), AT_ONCE)
    lab.step(60)
    for _ in range(10):
        lab.step(LATE / 20, wait=0.002)
    assert lab.messages == ["one"]
    for _ in range(30):
        lab.step(LATE / 20, wait=0.002)
    assert lab.messages == ["one", "one"]


def test_the_original_of_a_copy_is_known_by_whatever_name_it_gets_meanwhile(lab: Lab) -> None:
    lab.ship("app.log", "one")
    lab.copy("app.log", "app.log.1")
    lab.wait_until(lambda: is_open(lab, "app.log.1"), AT_ONCE)
    lab.rotate("app.log", to="moved.log")
    lab.step(GRACE / 2, wait=0.01)
    lab.take_steps()
    lab.append("app.log.1", "")
    lab.truncate("moved.log")
    lab.scan()
    assert lab.messages == ["one"]


def test_a_file_with_two_names_is_no_copy_of_itself(lab: Lab) -> None:
    lab.start()
    lab.take_steps()
    since = lab.clock.monotonic()
    lab.append("app.log.1", "one\n")
    (lab.logs / "app.log").hardlink_to(lab.logs / "app.log.1")
    lab.wait_until(lambda: lab.messages == ["one"], AT_ONCE)
    assert lab.clock.monotonic() - since < GRACE


def test_a_copy_waits_while_the_output_is_blocked_and_its_emptied_original_is_not_read(lab: Lab) -> None:
    lab.queue_events = 10
    lab.ship("app.log", "one")
    lab.append("other.log", "x\n" * 20)
    lab.destination.holding = True
    lab.wait_until(lambda: not lab.running.pipeline.has_room)
    lab.copytruncate("app.log", "app.log.1")
    lab.append("app.log", "two\n")
    lab.scan(3)
    lab.destination.holding = False
    lab.scan()
    assert [message for message in lab.messages if message != "x"] == ["one", "two"]


def test_what_a_truncated_file_has_is_read_as_soon_as_what_it_had_is_acknowledged(lab: Lab) -> None:
    lab.start()
    lab.destination.holding = True
    lab.append("app.log", "one of the old\n")
    lab.wait_until(lambda: lab.running.metrics.events_read, AT_ONCE)
    lab.truncate("app.log")
    lab.append("app.log", "new\n")
    lab.wait_until(lambda: lab.running.metrics.files_truncated, AT_ONCE)
    lab.take_steps(20)
    assert lab.crawler.files.draining
    lab.destination.holding = False
    since = lab.clock.monotonic()
    lab.wait_until(lambda: len(lab.arrived) == 2, AT_ONCE)
    assert lab.clock.monotonic() - since < CHECK_INTERVAL / 10


def test_by_path_a_file_that_is_renamed_and_truncated_before_it_is_read_has_ended_once(lab: Lab) -> None:
    lab.input["file_identity"] = FileIdentityConfig("path")
    lab.ship("app.log", "one", "two")
    lab.rotate("app.log", to="app.log.1")
    lab.truncate("app.log.1")
    lab.append("app.log.1", "new\n")
    lab.step(AT_ONCE)
    lab.scan()
    assert lab.messages == ["one", "two", "new"]
    assert not lab.crawler.files.draining


def test_nor_where_its_original_is_truncated_while_the_output_is_blocked(lab: Lab) -> None:
    lab.queue_events = 3
    lab.ship("app.log", "one", "two")
    lab.copy("app.log", "app.log.1")
    lab.wait_until(lambda: is_open(lab, "app.log.1"), AT_ONCE)
    lab.append("app.log", "three\n")
    lab.wait_until(lambda: len(lab.arrived) == 3, AT_ONCE)
    lab.destination.holding = True
    lab.append("other.log", "".join(f"line {number}\n" for number in range(20)))
    lab.take_steps()
    lab.truncate("app.log")
    lab.append("app.log", "four\n")
    for _ in range(20):
        lab.step(1.0)
    lab.destination.holding = False
    lab.scan()
    messages = [message for message in lab.messages if not message.startswith("line")]
    assert messages == ["one", "two", "three", "four"]


@pytest.mark.parametrize("packed", [False, True], ids=["copy", "gz"])
def test_a_copy_that_was_begun_before_the_start_is_no_new_file(lab: Lab, packed: bool) -> None:
    """The agent starts while logrotate works."""
    lab.input["compression"] = "auto"
    lab.ship("app.log", "one")
    lab.stop()
    if packed:
        lab.rotate("app.log", to="app.log.1")
        (lab.logs / "app.log.1.gz").write_bytes(gzip.compress((lab.logs / "app.log.1").read_bytes()))
        lab.keep(lab.logs / "app.log.1.gz")
    else:
        lab.copy("app.log", "app.log.1")
    lab.start()
    for _ in range(3):
        lab.step(AT_ONCE)
    if packed:
        lab.remove("app.log.1")
    else:
        lab.truncate("app.log")
    lab.append("app.log", "two\n")
    lab.scan()
    assert lab.messages == ["one", "two"]


@pytest.mark.parametrize("encoding", ["utf-16le", "utf-16be"])
def test_a_copy_is_known_whose_original_was_last_read_within_the_end_of_a_line(lab: Lab, encoding: str) -> None:
    lab.parsers = (multiline(r"^\s"),)
    lab.input |= {"encoding": encoding, "harvester_limit": 1}
    text = "one\ntwo\n".encode(encoding.replace("16", "16-"))
    lab.append("app.log", text[:-1])
    lab.start()
    lab.take_steps()
    lab.append("app.log", text[-1:])
    lab.take_steps()
    lab.copytruncate("app.log", "app.log.1")
    lab.scan(5)
    assert sorted(lab.messages) == ["one", "two"]
