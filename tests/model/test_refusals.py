"""Files that the system refuses to read: each is logged once and tried again, and the others are shipped."""

import logging
import os

import pytest

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
        lab.until(lambda: not lab.crawler.running)
        problem = f"cannot be read at offset {offset}: Bad file descriptor"
        assert lab.crawler.status().problems == {f"{lab.logs}/a.log": problem}
        assert len(warnings(caplog)) == count
        lab.expect_lines("a.log", "one", *["two"] * count)
        assert lab.crawler.status().problems == {}
