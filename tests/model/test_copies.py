"""Files that look like copies of others wait until it is known what they are."""

import gzip

import pytest

from log_shipper.shipper.source.lifecycle.copy_detector import (
    COMPARE_AGAIN,
    COMPARED_AT_ONCE,
    GRACE,
    LATE,
    MOST_SUSPECTS,
)
from tests.lab import CLOSE_INACTIVE, Lab

AT_ONCE = 0.0005  # seconds in a step: nothing is due by time


def is_open(lab: Lab, name: str) -> bool:
    return lab.inode(name) in lab.opened_by_agent()


def test_a_copy_of_a_file_that_stays_is_shipped_after_some_seconds_not_at_the_next_scan(lab: Lab) -> None:
    lab.ship("app.log", "one")
    since = lab.clock.monotonic()
    lab.copy("app.log", "app.log.bak")
    lab.until(lambda: len(lab.arrived) == 2, seconds=0.05)
    assert GRACE <= lab.clock.monotonic() - since < GRACE + LATE


def test_of_many_copies_only_so_many_wait_and_the_others_are_shipped_at_once(lab: Lab) -> None:
    lab.ship("app.log", "one")
    for number in range(3 * MOST_SUSPECTS):
        lab.copy("app.log", f"app.log.{number}")
    lab.until(lambda: len(lab.arrived) > 2 * MOST_SUSPECTS, AT_ONCE)
    for _ in range(20):
        lab.step(AT_ONCE, wait=0.002)
    assert len(lab.arrived) == 1 + 2 * MOST_SUSPECTS


def test_of_a_copy_that_lacks_the_last_lines_nothing_is_shipped_again(lab: Lab) -> None:
    """It was made before they came, and they were read from its original."""
    lab.ship("app.log", "one", "two")
    lab.copy("app.log", "app.log.1")
    lab.until(lambda: is_open(lab, "app.log.1"), AT_ONCE)
    lab.append("app.log", "three\n")
    lab.until(lambda: len(lab.arrived) == 3, AT_ONCE)
    lab.truncate("app.log")
    lab.append("app.log", "four\n")
    lab.take_steps()
    lab.scan()
    lab.append("app.log.1", "of the copy\n")
    lab.scan()
    assert lab.messages == ["one", "two", "three", "four", "of the copy"]


def test_a_copy_that_is_empty_at_first_is_one_of_the_file_whose_bytes_it_gets(lab: Lab) -> None:
    lab.append("app.log.1", "old\n")
    lab.ship("app.log", "new")
    lab.until(lambda: len(lab.arrived) == 2)
    lab.append("app.log.2", "")
    lab.until(lambda: is_open(lab, "app.log.2"), AT_ONCE)
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
    lab.until(lambda: len(lab.arrived) == 80)
    since = lab.clock.monotonic()
    lines[70] = lines[70].replace("70x", "70y")
    lab.append("app.log.1", "".join(f"{line}\n" for line in lines))
    lab.until(lambda: len(lab.arrived) == 160, AT_ONCE)
    parts = 80 * width // COMPARED_AT_ONCE
    assert parts * COMPARE_AGAIN <= lab.clock.monotonic() - since < GRACE


@pytest.mark.parametrize("seen", ["beside the file", "when that is gone"])
def test_a_file_is_not_shipped_again_from_its_gz_while_its_last_lines_are_in_flight(lab: Lab, seen: str) -> None:
    """The output is blocked. gzip removes what it has compressed."""
    lab.input["compression"] = "auto"
    lab.append("app.log.1", "one\ntwo\n")
    lab.start()
    lab.destination.holding = True
    lab.until(lambda: lab.destination.in_flight)
    packed = lab.logs.parent / "packed"
    packed.write_bytes(gzip.compress(b"one\ntwo\n"))
    if seen == "beside the file":
        packed.rename(lab.logs / "app.log.1.gz")
        lab.until(lambda: is_open(lab, "app.log.1.gz"), AT_ONCE)
    lab.remove("app.log.1")
    lab.scan(2)
    if packed.exists():
        packed.rename(lab.logs / "app.log.1.gz")
    lab.scan(3)
    lab.destination.holding = False
    lab.scan()
    assert lab.messages == ["one", "two"]


def test_a_file_that_takes_a_name_after_a_closed_one_was_deleted_is_shipped_at_once(lab: Lab) -> None:
    lab.ship("app.log", "one")
    lab.step(CLOSE_INACTIVE + 1)
    lab.until(lambda: not is_open(lab, "app.log"))
    lab.remove("app.log")
    lab.append("app.log.1", "two\n")
    lab.until(lambda: lab.messages == ["one", "two"], AT_ONCE)
