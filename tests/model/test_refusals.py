"""Files that the system refuses to read: each is logged once and tried again, and the others are shipped."""

import errno
import logging
import os
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from log_shipper.registry.state import FileState
from log_shipper.shipper.inputs.files.identity.content import Content
from log_shipper.shipper.inputs.files.reading.factory import Input
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
from tests.builders import multiline
from tests.failing_disk import PAGE, FailingDisk
from tests.lab import Lab

MEMORY = "/proc/self/mem"  # a file that can be opened; its first bytes cannot be read


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_file_that_cannot_be_read_is_logged_once_and_the_others_are_shipped(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.scanner["symlinks"] = True
    (lab.logs / "a.log").symlink_to(MEMORY)
    lab.ship("b.log", "one")
    before = len(os.listdir("/proc/self/fd"))
    lab.scan(5)
    problem = "cannot be read: Input/output error"
    assert warnings(caplog) == [f"{lab.logs}/a.log: {problem}"]
    assert lab.crawler.status().problems == {f"{lab.logs}/a.log": problem}
    assert len(os.listdir("/proc/self/fd")) <= before
    (lab.logs / "a.log").unlink()
    lab.append("a.log", "two\n")
    lab.expect_lines("a.log", "two")
    assert lab.crawler.status().problems == {}


class OnBadDisk(Input):
    """Of a.log, what lies before the position cannot be read."""

    def open(self, content: Content, state: FileState, **options: Any) -> Harvester:
        if state.path.endswith("a.log"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().open(content, state, **options)


@pytest.mark.parametrize("is_known", [True, False])
def test_a_file_whose_start_cannot_be_read_is_logged_once_and_tried_again(
    lab: Lab, caplog: pytest.LogCaptureFixture, *, is_known: bool
) -> None:
    lab.append("a.log", "one\n")
    lab.start()
    if is_known:
        lab.expect_lines("a.log", "one")
    lab.stop()
    lab.append("a.log", "two\n")
    lab.append("b.log", "of the other\n")
    lab.start()
    (mended,) = lab.running.reloader.running
    assert isinstance(mended, Input)
    lab.crawler.replace_inputs(
        [OnBadDisk(**{part.name: getattr(mended, part.name) for part in fields(mended) if part.init})]
    )
    lab.expect_lines("b.log", "of the other")
    lab.scan(3)
    assert warnings(caplog) == [f"{lab.logs}/a.log: cannot be read: Input/output error"]
    assert lab.inode("a.log") not in lab.opened_by_agent()
    lab.crawler.replace_inputs([mended])
    lab.expect_lines("a.log", "one", "two")
    assert (len(lab.arrived), lab.crawler.status().problems) == (3, {})


def test_a_read_that_is_refused_is_logged_and_the_next_scan_reads_on_from_there(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.ship("a.log", "one")
    for count in (1, 2):
        (harvester,) = lab.crawler.running.values()
        os.dup2(write_only := os.open(lab.logs / "a.log", os.O_WRONLY), harvester.fd)
        os.close(write_only)
        offset = harvester.offset
        lab.append("a.log", "two\n")
        lab.wait_until(lambda: not lab.crawler.running)
        problem = f"cannot be read at offset {offset}: Bad file descriptor"
        assert lab.crawler.status().problems == {f"{lab.logs}/a.log": problem}
        assert len(warnings(caplog)) == count
        lab.expect_lines("a.log", "one", *["two"] * count)
        assert lab.crawler.status().problems == {}


# Files that are open when their file system fails, as a network file system does whose server is gone.


def take_long(lab: Lab) -> None:
    """As `Lab.scan`, which looks at the files itself."""
    for _ in range(10):
        lab.step(seconds=10, wait=0.002)


def descriptor(lab: Lab, name: str) -> int:
    (fd,) = (file.fd for file in lab.crawler.running.values() if file.state.path == f"{lab.logs}/{name}")
    return fd


def is_read(lab: Lab) -> int:
    lab.expect_lines("a.log", "one")
    return descriptor(lab, "a.log")


def is_in_flight(lab: Lab) -> int:
    lab.destination.holding = True
    lab.append("a.log", "two\n")
    lab.take_steps()
    return descriptor(lab, "a.log")


def is_deleted(lab: Lab) -> int:
    fd = is_in_flight(lab)
    lab.remove("a.log")
    lab.scan(2)
    return fd


def was_truncated(lab: Lab) -> int:
    fd = is_in_flight(lab)
    lab.truncate("a.log")
    return fd


def is_a_suspected_copy(lab: Lab) -> int:
    lab.expect_lines("a.log", "one")
    lab.copy("a.log", "a.log.1")
    lab.wait_until(lambda: lab.crawler.files.suspects)
    (suspect,) = lab.crawler.files.suspects.values()
    return suspect.opened.content.fd


def has_a_suspected_copy(lab: Lab) -> int:
    is_a_suspected_copy(lab)
    return descriptor(lab, "a.log")


STATES = [is_read, is_in_flight, is_deleted, was_truncated, is_a_suspected_copy, has_a_suspected_copy]


@pytest.mark.parametrize("state_of", STATES)
def test_an_open_file_whose_file_system_fails_does_not_stop_the_others(
    lab: Lab, disk: FailingDisk, state_of: Callable[[Lab], int]
) -> None:
    lab.append("a.log", "one\n")
    lab.ship("b.log", "of the other")
    disk.refuse(state_of(lab))
    lab.append("b.log", "another\n")
    take_long(lab)
    lab.crawler.unread({"app"})
    lab.destination.holding = False
    lab.expect_lines("b.log", "of the other", "another")
    take_long(lab)


@pytest.mark.parametrize("state_of", STATES)
def test_such_a_file_does_not_prevent_a_stop(lab: Lab, disk: FailingDisk, state_of: Callable[[Lab], int]) -> None:
    lab.append("a.log", "one\n")
    lab.ship("b.log", "of the other")
    disk.refuse(state_of(lab))
    lab.destination.holding = False
    lab.stop()
    disk.refused.clear()
    lab.append("b.log", "another\n")
    lab.start()
    lab.expect_lines("b.log", "of the other", "another")


def test_a_file_that_cannot_be_looked_at_counts_as_unread(lab: Lab, disk: FailingDisk) -> None:
    lab.ship("a.log", "one")
    lab.scan(1)
    assert lab.crawler.unread({"app"}) == set()
    disk.refuse(descriptor(lab, "a.log"))
    assert lab.crawler.unread({"app"}) == {"app"}


def test_a_suspected_copy_that_cannot_be_looked_at_is_closed_and_reported(
    lab: Lab, disk: FailingDisk, caplog: pytest.LogCaptureFixture
) -> None:
    lab.append("a.log", "one\n")
    lab.start()
    disk.refuse(is_a_suspected_copy(lab))
    lab.wait_until(lambda: not disk.refused, seconds=1.0)
    assert f"{lab.logs}/a.log.1: cannot be read: Input/output error" in warnings(caplog)
    lab.expect_lines("a.log.1", "one")


def test_a_pending_message_that_cannot_be_ended_is_read_again(lab: Lab, disk: FailingDisk) -> None:
    lab.parsers = (multiline(r"^\s"),)
    lab.append("a.log", "one\n")
    lab.ship("b.log", "of the other")
    lab.append("a.log", "two\n")
    lab.take_steps()
    disk.refuse(descriptor(lab, "a.log"))
    lab.wait_until(lambda: not disk.refused, seconds=1.0)
    lab.expect_lines("a.log", "one", "two")


# A page that cannot be read: the kernel returns the bytes before it without an error.

FIRST = "x" * (PAGE - 1)
OTHERS = [str(number) for number in range(PAGE)]


def test_a_file_is_reported_at_a_page_that_cannot_be_read_and_read_on_when_it_can(
    lab: Lab, disk: FailingDisk, caplog: pytest.LogCaptureFixture
) -> None:
    lab.append("a.log", "".join(f"{line}\n" for line in (FIRST, *OTHERS)))
    disk.damage(lab.logs / "a.log", page=1)
    lab.start()
    lab.scan(3)
    problem = f"cannot be read at offset {PAGE}: Input/output error"
    assert lab.crawler.status().problems == {f"{lab.logs}/a.log": problem}
    assert warnings(caplog) == [f"{lab.logs}/a.log: {problem}"]
    lab.expect_lines("a.log", FIRST)
    disk.repair()
    lab.expect_lines("a.log", FIRST, *OTHERS)
    assert (len(lab.arrived), lab.crawler.status().problems) == (1 + len(OTHERS), {})


def test_a_file_is_not_shipped_again_after_a_start_that_could_not_read_a_page_of_it(
    lab: Lab, disk: FailingDisk, caplog: pytest.LogCaptureFixture
) -> None:
    lab.ship("a.log", FIRST, *OTHERS)
    lab.stop()
    lab.append("a.log", "last\n")
    disk.damage(lab.logs / "a.log", page=1)
    lab.start()
    lab.scan(3)
    assert [message.rpartition(": ")[2] for message in warnings(caplog)] == ["Input/output error"]
    disk.repair()
    lab.expect_lines("a.log", FIRST, *OTHERS, "last")
    assert (len(lab.file_ids), len(lab.arrived)) == (1, len(OTHERS) + 2)
