"""Lines for the journal of systemd; a file takes its place, of which $JOURNAL_STREAM has device and inode."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from log_shipper.runtime.logs.journal import StreamHandler, is_journal


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[TextIO]:
    with (tmp_path / "stderr").open("w") as stream:
        yield stream


def environ_of(stream: TextIO) -> dict[str, str]:
    status = os.fstat(stream.fileno())
    return {"JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino}"}


@pytest.mark.parametrize(("level", "number"), [(10, 7), (20, 6), (30, 4), (40, 3), (50, 2)])
def test_each_line_begins_with_its_level(level: int, number: int, stream: TextIO) -> None:
    StreamHandler(stream, environ_of(stream)).emit(logging.LogRecord("x", level, "", 0, "first\nsecond", None, None))
    assert Path(stream.name).read_text() == f"<{number}>first\n<{number}>second\n"


def test_a_stream_that_is_not_the_journal_has_lines_as_they_are(stream: TextIO) -> None:
    StreamHandler(stream, {"JOURNAL_STREAM": "1:2"}).emit(logging.LogRecord("x", 30, "", 0, "first", None, None))
    assert Path(stream.name).read_text() == "first\n"
    assert not is_journal(stream, {})


@pytest.mark.parametrize("program", ["shipper", "spark_sink"])
def test_the_reason_of_a_start_that_fails_is_an_error_in_the_journal(program: str, stream: TextIO) -> None:
    command = [sys.executable, "-m", f"log_shipper.{program}", "run", "-c", f"{stream.name}.yml"]
    done = subprocess.run(command, stderr=stream, env=os.environ | environ_of(stream), check=False)
    assert done.returncode == 1
    assert Path(stream.name).read_text().startswith("<3>")
