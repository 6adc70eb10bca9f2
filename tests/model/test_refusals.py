"""Files that the system refuses to read: each is logged once and tried again, and the others are shipped."""

import errno
import logging
import os
from dataclasses import fields
from typing import Any

import pytest

from log_shipper.registry.state import FileState
from log_shipper.shipper.inputs.files.identity.content import Content
from log_shipper.shipper.inputs.files.reading.factory import Input
from log_shipper.shipper.inputs.files.reading.harvester import Harvester
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
